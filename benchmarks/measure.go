package main

import (
	"fmt"
	"math"
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
	remove
	ops
)

// sample is the nanoseconds a key of each operation, NaN for one that a row does not have.
type sample [ops]float64

var nan = math.NaN()

// filter is one filter of one library. Its functions loop over the keys themselves, so that
// each calls its library directly, not through an interface that would cost the fast ones most.
type filter struct {
	bits   uint64
	reset  func()
	add    func(keys)
	count  func(keys) int // how many of the keys it contains
	remove func(keys)     // nil if it cannot
	static bool           // filled when it is made; keys are not added
}

// row is a library in the tables.
type row struct {
	name, note string
	make       func(n int, p float64) filter
}

// workload is one table: what its rows are asked to do.
type workload struct {
	title string
	kind  kind
	n     int     // keys
	p     float64 // the rate asked of every filter that takes one
	quick bool    // whether it is one of those that -quick measures
	rows  []row
	// processes are programs that are measured beside the rows; see process.go.
	processes []process
	lookups   int    // of present and of absent keys, in a timing
	order     *order // of look-ups, half of which are of present keys; nil for a time of each half
}

const (
	// absentKeys is how many keys there are that were never added. False positives are
	// counted over all of them.
	absentKeys = 1_000_000
	// leastKeys is how many keys a timing covers at least, in several passes if the filter
	// holds fewer.
	leastKeys = 100_000
)

// run is what a timing of a workload covers.
type run struct {
	n, passes, window int
	added, absent     keys
	ordered           bool // absent are keys in an order, and nothing else is timed
}

func (w workload) run() run {
	window := min(w.n, absentKeys)
	if w.lookups > 0 {
		window = w.lookups
	}
	passes := max(1, leastKeys/w.n)
	r := run{n: w.n, passes: passes, window: window, added: w.kind.make(0, w.n)}
	absent := max(window, min(absentKeys, 1000*window))
	if w.order != nil {
		r.absent = w.order.keys(w.kind, w.n, absent)
		r.ordered = true
	} else {
		r.absent = w.kind.make(absentIDs, absent)
	}
	return r
}

// part returns the keys that a pass of a round looks up: others each time, as far as there are,
// for no processor to learn the answers by heart.
func (r run) part(op, round, pass int) keys {
	all := r.added
	if op == absent {
		all = r.absent
	}
	return all.part((round*r.passes+pass)%(all.len()/r.window)*r.window, r.window)
}

// measure times each operation of f.
func (f filter) measure(r run, round int) (s sample) {
	s = sample{nan, nan, nan, nan}
	measure := func(op, each int, prepare func(), do func(pass int)) {
		var total time.Duration
		for pass := range r.passes {
			prepare()
			start := time.Now()
			do(pass)
			total += time.Since(start)
		}
		s[op] = float64(total) / float64(r.passes*each)
	}
	if r.ordered {
		measure(absent, r.window, func() {}, func(pass int) { f.count(r.part(absent, round, pass)) })
		return s
	}
	if !f.static {
		measure(add, r.n, f.reset, func(int) { f.add(r.added) })
	}
	if f.count == nil {
		return s
	}
	found := 0
	for _, op := range []int{present, absent} {
		measure(op, r.window, func() {}, func(pass int) { found += f.count(r.part(op, round, pass)) })
		if f.bits > 0 && found < r.passes*r.window {
			panic(fmt.Sprintf("found %d of %d keys that were added", found, r.passes*r.window))
		}
	}
	if f.remove != nil {
		measure(remove, r.n, func() { f.reset(); f.add(r.added) }, func(int) { f.remove(r.added) })
		if left := f.count(r.part(present, round, 0)); left > r.window/10 {
			panic(fmt.Sprintf("%d of %d keys are found that were removed", left, r.window))
		}
	}
	return s
}

// result is what is known of a row in one table.
type result struct {
	name, note string
	bitsPerKey float64
	falses     int // of the absent keys
	absent     int
	times      [ops][]float64 // of each round
	err        error          // why a process failed, if it did
}

func (r *result) record(s sample) {
	for op, ns := range s {
		r.times[op] = append(r.times[op], ns)
	}
}

// least returns the least time of an operation, or NaN.
func (r *result) least(op int) float64 {
	if len(r.times[op]) == 0 {
		return nan
	}
	return slices.Min(r.times[op]) // NaN if one is
}

// measure measures all rows of w. In each round every row does all operations in a turn. Each round
// begins with another row, so that no row always follows the same neighbour.
func (w workload) measure(q *quiet, rounds int) (results []*result) {
	debug.FreeOSMemory() // of the table before
	r := w.run()
	var measures []func(round int) sample
	for _, row := range w.rows {
		f := row.make(w.n, w.p)
		res := &result{name: row.name, note: row.note, bitsPerKey: float64(f.bits) / float64(w.n), absent: r.absent.len()}
		if !f.static {
			f.add(r.added) // for the first time, which touches its memory
		}
		if f.count != nil {
			res.falses = f.count(r.absent)
		}
		results = append(results, res)
		measures = append(measures, func(round int) sample { return f.measure(r, round) })
	}
	for _, p := range startAll(w, r) {
		defer p.stop()
		results = append(results, p.result)
		measures = append(measures, p.measure)
	}
	for round := range rounds {
		runtime.GC() // which happens only here
		for i := range measures {
			number := (i + round) % len(measures)
			res := results[number]
			s := q.turn(func() sample { return measures[number](round) })
			if res.err == nil {
				res.record(s)
			}
		}
	}
	return results
}

// measureTwice measures w, and again if more than one row in ten has a star. It returns the better
// results, and whether it measured twice.
func (w workload) measureTwice(q *quiet, rounds int) (results []*result, twice bool) {
	results = w.measure(q, rounds)
	if 10*stars(results) <= len(results) {
		return results, false
	}
	if again := w.measure(q, rounds); stars(again) < stars(results) {
		results = again
	}
	return results, true
}

// stars returns how many rows have a time whose median is far above the least.
func stars(results []*result) (n int) {
	for _, r := range results {
		if r.spread() > starSpread {
			n++
		}
	}
	return n
}

// starSpread is the spread from which on a row has a star.
const starSpread = 1.25

// spread returns how far the median of an operation lies above its least time, for the operation
// where that is most: 1.1 says that half of the times are up to 10 % above the least.
func (r *result) spread() float64 {
	most := 1.0
	for op := range ops {
		if least := r.least(op); !math.IsNaN(least) {
			most = max(most, median(slices.Clone(r.times[op]))/least)
		}
	}
	return most
}
