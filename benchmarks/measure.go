package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// The operations, as indexes of a sample.
const (
	add = iota
	present
	absent
	ops
)

var opNames = [ops]string{"add", "present", "absent"}

// sample is the nanoseconds per key of each operation, NaN for one that a row
// does not have.
type sample [ops]float64

// result is what is known of a row in one table.
type result struct {
	name       string
	bitsPerKey float64
	rate       float64        // measured false-positive rate, NaN if unknown
	probes     int            // how many keys it was counted over
	allocs     [2]float64     // per key added, per key looked up; NaN if unknown
	times      [ops][]float64 // of each round
	err        error          // why a foreign program failed, if it did
}

func (r *result) least(op int) float64 { return quantile(r.times[op], 0) }

// quantile interpolates nothing: it returns an element of v.
func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[int(q*float64(len(v)-1)+0.5)]
}

const (
	// absentKeys is how many keys that were never added there are. False
	// positives are counted over all of them, and over ten times as many where
	// these would hold too few.
	absentKeys = 1_000_000
	// minKeys is how many keys a timing of the record covers at least, in
	// several passes if the filter holds fewer.
	minKeys = 100_000
	// maxLookups is how many of the added keys one pass looks up at most.
	maxLookups = 1_000_000
)

// workload is the keys of one table, and how they are cut up.
type workload struct {
	p                 float64 // the rate asked of every filter that takes one
	n, passes, window int
	added, absent     keys
}

func newWorkload(k kind, n int, p float64, least int) workload {
	return workload{
		p: p, n: n, passes: max(1, least/n), window: min(n, maxLookups),
		added: k.make(0, n), absent: k.make(absentIDs, absentKeys),
	}
}

// lookups returns the keys that a pass of a round looks up: others each time,
// as far as there are, for no processor to learn the answers by heart.
func (w workload) lookups(op, round, pass int) keys {
	all := w.added
	if op == absent {
		all = w.absent
	}
	i := (round*w.passes + pass) % (all.len() / w.window)
	return all.part(i*w.window, w.window)
}

// measure times each operation of f once, passes times over.
func (f filter) measure(w workload, round int) (s sample) {
	var total time.Duration
	for range w.passes {
		f.reset()
		start := time.Now()
		f.add(w.added)
		total += time.Since(start)
	}
	s[add] = float64(total) / float64(w.passes*w.n)
	for _, op := range []int{present, absent} {
		if f.count == nil {
			s[op] = nan
			continue
		}
		total, found := time.Duration(0), 0
		for pass := range w.passes {
			ks := w.lookups(op, round, pass)
			start := time.Now()
			found += f.count(ks)
			total += time.Since(start)
		}
		s[op] = float64(total) / float64(w.passes*w.window)
		if f.bits > 0 && op == present && found != w.passes*w.window {
			panic(fmt.Sprintf("found %d of %d keys that were added", found, w.passes*w.window))
		}
	}
	return s
}

// describe fills f for the first time, which touches its memory, and finds
// what does not change from round to round.
func (f filter) describe(name string, w workload) *result {
	r := &result{name: name, bitsPerKey: float64(f.bits) / float64(w.n), rate: nan, allocs: [2]float64{nan, nan}}
	r.allocs[0] = mallocs(func() { f.add(w.added) }) / float64(w.n)
	if f.count != nil {
		found := 0
		r.allocs[1] = mallocs(func() { found = f.count(w.absent) }) / float64(w.absent.len())
		r.rate, r.probes = float64(found)/float64(w.absent.len()), w.absent.len()
	}
	return r
}

func mallocs(do func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// limits bound a table. There are at most so many rounds, and seven where more of them take
// longer than budget. A timing covers at least so many keys.
type limits struct {
	rounds int
	budget time.Duration
	keys   int
}

// fewest is the least number of rounds.
const fewest = 7

// compare measures libraries at n keys of a kind.
func compare(k kind, n int, p float64, libraries []library, foreign []foreign, lim limits) table {
	debug.FreeOSMemory() // of the table before
	w := newWorkload(k, n, p, lim.keys)
	filters := make([]filter, len(libraries))
	results := make([]*result, 0, len(libraries)+len(foreign))
	for i, lib := range libraries {
		filters[i] = lib.make(n, p)
		results = append(results, filters[i].describe(lib.name, w))
	}
	if p*absentKeys < enough {
		countMore(k, filters, results)
	}
	peers := startAll(foreign, w)
	for _, p := range peers {
		defer p.stop()
		results = append(results, p.result)
	}

	start := time.Now()
	for round := range lim.rounds {
		if round >= fewest && time.Since(start) > lim.budget {
			break
		}
		runtime.GC()
		// Each round begins elsewhere, so that nobody always follows the same
		// neighbour.
		for i := range libraries {
			i = (i + round) % len(libraries)
			for op, ns := range filters[i].measure(w, round) {
				results[i].record(op, ns)
			}
		}
		for _, p := range peers {
			p.measure(round)
		}
	}
	return table{n, p, k, results}
}

// enough is how many false positives there must be to know a rate.
const enough = 10

// countMore counts false positives over ten times as many keys.
func countMore(k kind, filters []filter, results []*result) {
	const times = 10
	ks := k.make(0, absentKeys)
	found := make([]int, len(filters))
	for chunk := range times {
		k.fill(ks, uint64(absentIDs+chunk*absentKeys))
		for i, f := range filters {
			if f.count != nil {
				found[i] += f.count(ks)
			}
		}
	}
	for i, f := range filters {
		if f.count != nil {
			results[i].rate, results[i].probes = float64(found[i])/(times*absentKeys), times*absentKeys
		}
	}
}

func (r *result) record(op int, ns float64) { r.times[op] = append(r.times[op], ns) }
