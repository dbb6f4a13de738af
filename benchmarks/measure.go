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

// sample has the nanoseconds a key of each operation. It has NaN for an operation that a row lacks.
type sample [ops]float64

var nan = math.NaN()

// filter is one filter of one library. Its functions loop over the keys themselves, so each of them
// calls its library directly. Calls through an interface would slow the fast libraries most.
type filter struct {
	bits   uint64
	reset  func()
	add    func(keys)
	count  func(keys) int // returns how many of the keys the filter contains
	remove func(keys)     // nil if keys cannot be removed
	static bool           // the filter is filled when it is made, and keys are not added
}

// row is a library in the tables.
type row struct {
	name, note string
	make       func(n int, p float64) filter
}

// workload is one table: the work of its rows.
type workload struct {
	title string
	kind  kind
	n     int     // the number of keys
	p     float64 // the rate of the filters; some libraries take none
	quick bool    // -quick measures this table, too
	rows  []row
	// processes are programs that are measured in turn with the rows; see process.go.
	processes []process
	// lookups is the number of present keys in a timing, and of absent keys; 0 is the usual number.
	lookups int
	// order is the order of look-ups, half of them of present keys. If it is nil, present and
	// absent keys are timed separately.
	order *order
}

const (
	// absentKeys is the number of keys that were never added. False positives are counted over
	// all of them.
	absentKeys = 1_000_000
	// leastKeys is the lowest number of keys in a timing. If the filter has fewer keys, a timing
	// has several passes over them.
	leastKeys = 100_000
)

// run describes the timings of a workload. A timing has passes, and a pass looks up window keys.
type run struct {
	n, passes, window int
	added, absent     keys
	ordered           bool // absent has the keys of an order, and only their look-up is timed
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

// part returns the keys that a pass of a round looks up. Each pass has other keys, as long as there
// are enough. Otherwise processors would learn to predict the answers.
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
	nothing := func() {}
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
		measure(absent, r.window, nothing, func(pass int) { f.count(r.part(absent, round, pass)) })
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
		measure(op, r.window, nothing, func(pass int) { found += f.count(r.part(op, round, pass)) })
		if f.bits > 0 && found < r.passes*r.window {
			panic(fmt.Sprintf("found %d of %d keys that were added", found, r.passes*r.window))
		}
	}
	if f.remove != nil {
		fill := func() { f.reset(); f.add(r.added) }
		measure(remove, r.n, fill, func(int) { f.remove(r.added) })
		if left := f.count(r.part(present, round, 0)); left > r.window/10 {
			panic(fmt.Sprintf("%d of %d keys are found that were removed", left, r.window))
		}
	}
	return s
}

// result is the result of a row in one table.
type result struct {
	name, note string
	bitsPerKey float64
	falses     int            // the number of false positives among the absent keys
	absent     int            // the number of absent keys
	times      [ops][]float64 // the times of each operation, one for each round
	err        error          // the error of a process that failed
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
	return slices.Min(r.times[op]) // NaN if one of the times is NaN
}

// measure measures all rows of w. In each round every row has a turn, in which it does all
// operations. Each round begins with another row.
func (w workload) measure(q *quiet, rounds int) (results []*result) {
	debug.FreeOSMemory() // frees the filters of the table before
	r := w.run()
	var measures []func(round int) sample
	for _, row := range w.rows {
		f := row.make(w.n, w.p)
		res := &result{
			name: row.name, note: row.note,
			bitsPerKey: float64(f.bits) / float64(w.n), absent: r.absent.len(),
		}
		if !f.static {
			f.add(r.added) // The first additions touch the filter's memory, and are not measured.
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
		runtime.GC() // the only collection
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

// starSpread is the largest spread of a row without a star.
const starSpread = 1.25

// spread returns the median of the times of an operation divided by the least time. It takes the
// operation for which this is largest. At 1.1, half of the times are up to 10 % above the least
// time.
func (r *result) spread() float64 {
	most := 1.0
	for op := range ops {
		if least := r.least(op); !math.IsNaN(least) {
			most = max(most, median(slices.Clone(r.times[op]))/least)
		}
	}
	return most
}
