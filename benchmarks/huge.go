package main

import (
	"runtime/debug"
	"time"
)

// compareHuge measures so many keys of 8 bytes that they would not fit in memory
// beside the filters: a million at a time is generated, and added to every
// filter in turn. Each million is a round.
func compareHuge(n int) table {
	const (
		chunk = 1_000_000
		looks = 25 // chunks looked up, present and absent
	)
	debug.FreeOSMemory() // of the table before
	k := kinds[0]
	ks := k.make(0, chunk)
	t := table{n: n, kind: k}
	var filters []filter
	for _, lib := range libraries {
		if lib.big {
			f := lib.make(n)
			filters = append(filters, f)
			t.results = append(t.results, &result{name: lib.name, bitsPerKey: float64(f.bits) / float64(n), rate: nan, allocs: [2]float64{nan, nan}})
		}
	}
	found := make([]int, len(filters))
	round := func(op, first int) {
		k.fill(ks, uint64(first))
		base := 0.0
		for i, f := range filters {
			start := time.Now()
			if op == add {
				f.add(ks)
			} else {
				found[i] += f.count(ks)
			}
			ns := float64(time.Since(start)) / chunk
			if i == 0 {
				t.results[i].record(op, ns)
				base = ns
			} else {
				t.results[i].record(op, ns-base)
			}
		}
	}
	for first := 0; first < n; first += chunk {
		round(add, first)
		if first%(n/10) == 0 {
			progress("%d %% added", first/(n/100))
		}
	}
	for i := range looks {
		round(present, i*(n/looks))
	}
	clear(found)
	for i := range looks {
		round(absent, absentIDs+i*chunk)
	}
	for i, r := range t.results {
		r.rate = float64(found[i]) / (looks * chunk)
	}
	return t
}
