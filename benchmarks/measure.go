package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// The operations. An operation is also an index of a result's times.
const (
	add = iota
	present
	absent
	remove
	ops
)

var nan = math.NaN()

// filter is one filter of one library. Its functions loop over the keys themselves, because calls
// through an interface would slow the fast libraries most.
type filter struct {
	bits   uint64
	reset  func()
	add    func(keys)
	count  func(keys) int // returns how many keys the filter contains; nil if only add counts
	remove func(keys)     // nil if keys cannot be removed
	static bool           // the filter is filled when it is made, and keys are not added
}

type row struct {
	name, note string
	make       func(n int, p float64) filter
}

// workload is one table: the work of its rows.
type workload struct {
	title string
	text  string // what a reader should know of the table
	kind  kind
	n     int     // the number of keys
	p     float64 // the rate of the filters; some libraries take none
	quick bool    // -quick measures this table, too
	rows  []row
	// processes are programs that are measured in turn with the rows; see process.go.
	processes []process
	// reference is the row that the others are divided by; "" is bits-and-blooms.
	reference string
	// lookups is how many present keys are looked up together, and how many absent ones; 0 means
	// the usual number.
	lookups int
	// order is the order of look-ups, half of them of present keys. If it is nil, present and
	// absent keys are timed separately.
	order *order
}

const (
	// absentKeys is the number of keys that were never added. False positives are counted over
	// all of them.
	absentKeys = 1_000_000
	// leastChunk is the least number of keys that are added in a turn, if there are that many.
	leastChunk = 1_000_000
	// mostWindow is the most keys that are looked up together.
	mostWindow = 100_000
)

// leastTime is the least time of an operation in all turns together. In a turn it is repeated, and
// the median is taken, because a host may disturb its machines for a millisecond or so.
var leastTime = 400 * time.Millisecond

// plan says which keys the repetitions of an operation have.
type plan struct {
	all    keys          // the keys to add, followed by those to look up
	n      int           // the number of keys to add
	absent int           // the number of the others
	window int           // the number of keys that are looked up together
	chunks int           // the number of turns that fill a filter
	turn   time.Duration // the least time of a turn
}

func (w workload) plan(rounds int) plan {
	window := min(w.n, mostWindow)
	if w.lookups > 0 {
		window = w.lookups
	}
	p := plan{
		n: w.n, window: window,
		absent: max(window, absentKeys),
		chunks: min(max(w.n/leastChunk, 1), rounds),
		turn:   leastTime / time.Duration(rounds),
	}
	if w.lookups > 0 { // a look-up takes long, and false positives are not counted
		p.absent = min(absentKeys, rounds*window)
	}
	p.all = w.kind.make(0, w.n)
	others := w.kind.make(absentIDs, p.absent)
	if w.order != nil {
		others = w.order.keys(w.kind, w.n, p.absent)
	}
	p.all.buf = append(p.all.buf, others.buf...)
	return p
}

// keys returns the place of the keys of the i-th repetition of an operation. Look-ups go through
// all keys, or processors would learn to predict the answers.
func (p plan) keys(op, i int) (from, n int) {
	switch op {
	case add, remove:
		i %= p.chunks
		from = i * p.n / p.chunks
		return from, (i+1)*p.n/p.chunks - from
	case absent:
		return p.n + i%(p.absent/p.window)*p.window, p.window
	}
	return i % (p.n / p.window) * p.window, p.window
}

// contestant is a row that is being measured. do does an operation on n keys. It returns the time
// in nanoseconds, or NaN if the row lacks the operation, and the number of keys found.
type contestant struct {
	*result
	empty func()
	do    func(op, from, n int) (ns float64, found int)
}

// result is the result of a row in one table.
type result struct {
	name, note string
	bitsPerKey float64
	done       [ops]int // how often an operation was repeated
	falses     int      // the number of false positives among the absent keys
	absent     int
	times      [ops][]float64 // nanoseconds a key in each turn; empty without the operation
	err        error          // the error of a process that failed
}

// local returns a contestant of this process.
func (r row) local(w workload, p plan) contestant {
	f := r.make(w.n, w.p)
	c := contestant{result: &result{name: r.name, note: r.note}, empty: f.reset}
	c.bitsPerKey = float64(f.bits) / float64(w.n)
	if f.static {
		c.empty = func() {}
	}
	c.do = func(op, from, n int) (ns float64, found int) {
		switch {
		case op == add && f.static, op == remove && f.remove == nil,
			(op == present || op == absent) && f.count == nil:
			return nan, 0
		}
		ks := p.all.part(from, n)
		start := time.Now()
		switch op {
		case add:
			f.add(ks)
		case remove:
			f.remove(ks)
		default:
			found = f.count(ks)
		}
		return float64(time.Since(start)), found
	}
	return c
}

// turn repeats an operation for p.turn and records the median of the times of a key. A filter that
// takes many turns to fill gets one chunk in each.
func (c contestant) turn(p plan, op int) {
	var times []float64
	for total := 0.0; total <= float64(p.turn); {
		ns, n := c.once(p, op)
		if math.IsNaN(ns) {
			return
		}
		times = append(times, ns/float64(n))
		total += ns
		if p.chunks > 1 && (op == add || op == remove) {
			break
		}
	}
	c.times[op] = append(c.times[op], quartiles(times)[1])
}

// once does an operation on the n keys that are next. Before the first keys are added, the filter
// is emptied, which touches its memory; before the first keys are removed, it is filled. Neither is
// timed.
func (c contestant) once(p plan, op int) (ns float64, n int) {
	from, n := p.keys(op, c.done[op])
	c.done[op]++
	if from == 0 && (op == add || op == remove) {
		c.empty()
	}
	if from == 0 && op == remove {
		c.do(add, 0, p.n)
	}
	ns, found := c.do(op, from, n)
	if op == present && c.bitsPerKey > 0 && found < n && !math.IsNaN(ns) {
		panic(fmt.Sprintf("%s: found %d of %d keys that were added", c.name, found, n))
	}
	return ns, n
}

// contestants take turns: one each in every round, in an order that changes from round to round.
type contestants struct {
	all    []contestant
	random *rand.Rand
}

func (cs contestants) round(turn func(c contestant)) {
	runtime.GC() // the only collections are here
	for _, i := range cs.random.Perm(len(cs.all)) {
		turn(cs.all[i])
	}
}

// that keeps only the contestants that have the given operation.
func (cs contestants) that(have int) contestants {
	cs.all = slices.DeleteFunc(slices.Clone(cs.all), func(c contestant) bool {
		ns, _ := c.do(have, 0, 0)
		return math.IsNaN(ns)
	})
	return cs
}

// turns returns the number of turns, at least rounds, that fill the filters a whole number of
// times.
func (p plan) turns(rounds int) int { return (rounds + p.chunks - 1) / p.chunks * p.chunks }

// measure measures all rows of w: they fill their filters, then look keys up, and then remove them.
func (w workload) measure(rounds int) (results []*result) {
	debug.FreeOSMemory() // frees the filters of the table before
	p := w.plan(rounds)
	cs := contestants{random: rand.New(rand.NewPCG(1, 1))}
	for _, row := range w.rows {
		cs.all = append(cs.all, row.local(w, p))
	}
	for _, peer := range startAll(w, p) {
		defer peer.stop()
		cs.all = append(cs.all, peer.contestant())
	}
	for range p.turns(rounds) {
		cs.round(func(c contestant) { c.turn(p, add) })
	}
	for _, c := range cs.all {
		c.result.absent = p.absent
		_, c.falses = c.do(absent, p.n, p.absent)
		results = append(results, c.result)
	}
	for range rounds {
		cs.round(func(c contestant) {
			if w.order == nil {
				c.turn(p, present)
			}
			c.turn(p, absent)
		})
	}
	removers := cs.that(remove)
	for range p.turns(rounds) {
		removers.round(func(c contestant) { c.turn(p, remove) })
	}
	for _, c := range removers.all {
		if _, left := c.do(present, 0, p.window); left > p.window/10 {
			panic(fmt.Sprintf("%s: %d of %d keys are found that were removed", c.name, left, p.window))
		}
	}
	return results
}

// quartiles returns the quartiles of values, of which the second is the median, or NaNs if there
// are none.
func quartiles(values []float64) (q [3]float64) {
	if len(values) == 0 {
		return [3]float64{nan, nan, nan}
	}
	sorted := slices.Sorted(slices.Values(values))
	for i := range q {
		at := float64(len(sorted)-1) * float64(i+1) / 4
		low := int(at)
		high := min(low+1, len(sorted)-1)
		q[i] = sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
	}
	return q
}

func (r *result) median(op int) float64 { return quartiles(r.times[op])[1] }

// ratio divides the time of an operation in each round by that of other in the same round, and
// returns the median. If the machine's speed drifts, it affects both.
func (r *result) ratio(other *result, op int) float64 {
	if len(r.times[op]) != len(other.times[op]) {
		return nan
	}
	var ratios []float64
	for i, ns := range r.times[op] {
		ratios = append(ratios, ns/other.times[op][i])
	}
	return quartiles(ratios)[1]
}

// disturbed reports whether the quartiles of an operation are more than a quarter apart.
func (r *result) disturbed() bool {
	for _, times := range r.times {
		if q := quartiles(times); q[2] > 1.25*q[0] {
			return true
		}
	}
	return false
}
