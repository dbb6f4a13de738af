package main

import (
	"runtime"
	"runtime/debug"
	"time"
)

// compareLarge measures libraries at so many keys of 8
// bytes that adding all of them again in every round would take too long. The keys are
// made a part at a time, and added to every filter in turn. Each part is a round.
func compareLarge(n int, p float64, libraries []library) table {
	const looks = 10 // rounds of look-ups
	chunk, window := min(n/10, 1_000_000), min(n/50, 1_000_000)
	debug.FreeOSMemory() // of the table before
	k := kinds[0]
	ks := k.make(0, chunk)
	t := table{n: n, p: p, kind: k}
	var filters []filter
	for _, lib := range libraries {
		f := lib.make(n, p)
		f.reset() // touches the memory
		filters = append(filters, f)
		t.results = append(t.results, &result{name: lib.name, bitsPerKey: float64(f.bits) / float64(n), rate: nan, allocs: [2]float64{nan, nan}})
	}
	found := make([]int, len(filters))
	round := func(op, first, turn int, ks keys) {
		k.fill(ks, uint64(first))
		runtime.GC()
		for i := range filters {
			i = (i + turn) % len(filters)
			f, ns := filters[i], nan
			start := time.Now()
			if op == add {
				f.add(ks)
				ns = float64(time.Since(start)) / float64(ks.len())
			} else if f.count != nil {
				found[i] += f.count(ks)
				ns = float64(time.Since(start)) / float64(ks.len())
			}
			t.results[i].record(op, ns)
		}
	}
	for turn := range n / chunk {
		round(add, turn*chunk, turn, ks)
		if n >= 1e8 && turn%10 == 0 {
			progress("%d %% added", turn*chunk/(n/100))
		}
	}
	for i := range looks {
		round(present, i*(n/looks), i, ks.part(0, window))
	}
	for i, f := range filters {
		if f.bits > 0 && f.count != nil && found[i] != looks*window {
			panic(libraries[i].name + " did not find keys that were added")
		}
	}
	clear(found)
	for i := range looks {
		round(absent, absentIDs+i*window, i, ks.part(0, window))
	}
	for i, r := range t.results {
		if probes := looks * window; filters[i].count != nil {
			r.rate, r.probes = float64(found[i])/float64(probes), probes
		}
	}
	return t
}
