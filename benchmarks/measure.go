package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// The operations are indexes of result.times. ops is the number of operations.
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
	bits    uint64
	reset   func()
	prepare func(keys) // makes the digests of keys, untimed; nil if none are needed
	add     func(keys)
	fill    func(keys)     // adds keys the fastest way, untimed; if it is nil, add is used
	count   func(keys) int // returns how many of the keys the filter contains
	remove  func(keys)     // nil if keys cannot be removed
	static  bool           // the filter is filled when it is made, and keys are not added
	whole   bool           // add builds the filter from all keys
}

type row struct {
	name, note string
	make       func(n int, p float64) filter
}

// workload is a table to measure.
type workload struct {
	title string
	text  string // printed before the table
	kind  kind
	n     int     // the number of keys
	p     float64 // the rate of the filters; some libraries ignore it
	quick bool    // whether -quick measures this table
	rows  []row
	// processes are programs that are measured in turn with the rows; see process.go.
	processes []process
	// reference names the row that the other rows are compared with; "" means bits-and-blooms.
	reference string
	turn      int // the number of keys in a turn; 0 means turnKeys
	// orders lists orders of look-ups. Each has a table of its own, measured with the same filters.
	orders []*order
	// order is nil, unless the table is for one of orders. Such a table mixes look-ups of present
	// and absent keys, and other tables time them separately.
	order *order
}

const (
	// turnKeys is the usual number of keys in a turn. A turn of 0.05 to 1 ms is shorter than the
	// time that a scheduler gives a thread, so on a busy machine most turns are not interrupted.
	turnKeys = 8192
	// absentKeys is the number of absent keys that a table looks up. False positives are counted
	// over nearly all of them.
	absentKeys = 1_000_000
	// parts is the largest number of parts of a fill. Each part has its own times, because an
	// addition to a full filter may cost more than one to an empty filter.
	parts = 10
)

// plan says which keys each turn of an operation uses.
type plan struct {
	all    keys // the keys to add, followed by the keys to look up
	n      int  // the number of keys to add
	others int  // the index of the first key for the operation absent
	turn   int  // the number of keys in most turns
	chunks int  // the number of chunks in a fill; the last keys of a chunk are a turn
}

// plan returns the plan of w. The number of rounds limits the number of chunks, so if n is large,
// turns measure only a sample of the additions.
func (w workload) plan(rounds int) plan {
	p := plan{n: w.n, turn: min(cmp.Or(w.turn, turnKeys), w.n), others: w.n}
	p.chunks = min((p.n+p.turn-1)/p.turn, max(rounds, parts))
	p.all = w.kind.make(0, w.n)
	p.all.buf = append(p.all.buf, w.kind.make(absentIDs, absentKeys).buf...)
	for _, o := range w.orders {
		p.all.buf = append(p.all.buf, o.keys(w.kind, w.n, absentKeys).buf...)
	}
	return p
}

// chunk returns the range of the keys in the i-th chunk, counted over all fills or all removals.
func (p plan) chunk(i int) (first, n int) {
	i %= p.chunks
	first = i * p.n / p.chunks
	return first, (i+1)*p.n/p.chunks - first
}

// keys returns the range of the keys in the i-th turn of an operation. Each turn of look-ups uses
// the next keys: with the same keys, processors would learn to predict the answers.
func (p plan) keys(op, i int) (first, n int) {
	switch op {
	case add, remove:
		first, n = p.chunk(i)
		turn := min(n, p.turn)
		return first + n - turn, turn
	case absent:
		return p.others + i%(absentKeys/p.turn)*p.turn, p.turn
	}
	return i % (p.n / p.turn) * p.turn, p.turn
}

// warm returns the index of the first of n other keys: the keys just before key first or, if there
// are too few, the keys after key first+n-1. They are looked up before a turn is timed, because the
// previous row has used the cache and the branch predictors.
func warm(first, n int) int {
	if first >= n {
		return first - n
	}
	return first + n
}

// contestant is a row or a process that is being measured. operate does an operation on n keys,
// after an untimed look-up of n others. It returns the time in nanoseconds and the number of keys
// found. The time is NaN if the row lacks the operation, or if its process failed. fill adds or
// removes n keys, untimed.
type contestant struct {
	*result
	empty   func()
	fill    func(op, first, n int)
	operate func(op, first, n int) (ns float64, found int)
	whole   bool // one turn adds all keys
}

type result struct {
	name, note string
	bitsPerKey float64
	done       [ops]int // the number of turns
	falses     int      // the number of false positives among the absent keys
	absent     int
	times      [ops][parts][]float64 // nanoseconds per key in each turn; look-ups have one part
	err        error                 // the error of a process that failed
}

// local returns a contestant that runs in this process.
func (r row) local(w workload, p plan) contestant {
	f := r.make(w.n, w.p)
	c := contestant{
		result: &result{name: r.name, note: r.note},
		empty:  f.reset,
		whole:  f.whole,
	}
	c.bitsPerKey = float64(f.bits) / float64(w.n)
	if f.static {
		c.empty = func() {}
	}
	prepare := f.prepare
	if prepare == nil {
		prepare = func(keys) {}
	}
	c.operate = func(op, first, n int) (ns float64, found int) {
		if op == add && f.static || op == remove && f.remove == nil {
			return nan, 0
		}
		others := p.all.slice(warm(first, n), n)
		prepare(others)
		f.count(others)
		ks := p.all.slice(first, n)
		prepare(ks)
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
	c.fill = func(op, first, n int) {
		ks := p.all.slice(first, n)
		ks.scratch = slices.Clone(ks.scratch) // rows are filled in parallel
		prepare(ks)
		switch {
		case f.static:
		case op == remove:
			f.remove(ks)
		case f.fill != nil:
			f.fill(ks)
		default:
			f.add(ks)
		}
	}
	return c
}

// begin does the untimed work before a turn. It empties the filter at the start of a fill, and
// refills it at the start of each removal but the first. Then it adds or removes the first keys of
// the chunk, up to the turn.
func (c contestant) begin(p plan, op int) {
	first, n := p.chunk(c.done[op])
	if first == 0 && (op == add || c.done[remove] > 0) {
		c.empty()
	}
	if first == 0 && op == remove && c.done[remove] > 0 {
		c.fill(add, 0, p.n)
	}
	if n > p.turn && !c.whole {
		c.fill(op, first, n-p.turn)
	}
}

func (c contestant) turn(p plan, op int) {
	i := c.done[op]
	c.done[op]++
	first, n := p.keys(op, i)
	part := 0
	if op == add || op == remove {
		part = i % p.chunks * min(parts, p.chunks) / p.chunks
	}
	if op == add && c.whole {
		if i%p.chunks > 0 {
			return
		}
		first, n = 0, p.n
	}
	ns, found := c.operate(op, first, n)
	if math.IsNaN(ns) {
		return
	}
	if op == present && c.bitsPerKey > 0 && found < n {
		panic(fmt.Sprintf("%s: found %d of %d keys that were added", c.name, found, n))
	}
	c.times[op][part] = append(c.times[op][part], ns/float64(n))
}

// contestants take turns, in a new random order for each operation of a round.
type contestants struct {
	all    []contestant
	random *rand.Rand
}

func (cs contestants) rounds(n int, p plan, operations ...int) {
	for round := range n {
		if round%roundsPerCollection == 0 {
			runtime.GC() // while nothing is timed
		}
		for _, op := range operations {
			cs.begin(p, op)
			for _, i := range cs.random.Perm(len(cs.all)) {
				cs.all[i].turn(p, op)
			}
		}
	}
}

func (cs contestants) begin(p plan, op int) {
	if op != add && op != remove {
		return
	}
	var wait sync.WaitGroup
	free := make(chan bool, runtime.GOMAXPROCS(0))
	for _, c := range cs.all {
		free <- true
		wait.Add(1)
		go func() {
			defer wait.Done()
			c.begin(p, op)
			<-free
		}()
	}
	wait.Wait()
}

const roundsPerCollection = 100

// having returns the contestants that have operation op.
func (cs contestants) having(op int) contestants {
	cs.all = slices.DeleteFunc(slices.Clone(cs.all), func(c contestant) bool {
		ns, _ := c.operate(op, 0, 0)
		return math.IsNaN(ns)
	})
	return cs
}

// fills raises rounds to a multiple of p.chunks, so that the last fill is complete.
func (p plan) fills(rounds int) int { return (rounds + p.chunks - 1) / p.chunks * p.chunks }

// measure measures the rows and processes of w. It returns their table, followed by a table for
// each of w.orders.
func (w workload) measure(rounds int) (tables []table) {
	debug.FreeOSMemory() // frees the filters of the previous table
	p := w.plan(rounds)
	cs := contestants{random: rand.New(rand.NewPCG(1, 1))}
	for _, row := range w.rows {
		cs.all = append(cs.all, row.local(w, p))
	}
	for _, peer := range startAll(w, p) {
		defer peer.stop()
		cs.all = append(cs.all, peer.contestant())
	}
	cs.rounds(p.fills(rounds), p, add)
	if w.falses() {
		for _, c := range cs.all {
			c.countFalses(p)
		}
	}
	cs.rounds(rounds, p, present, absent)
	removers := cs.having(remove)
	removers.rounds(p.fills(rounds), p, remove)
	for _, c := range removers.all {
		if _, left := c.operate(present, 0, p.turn); left > p.turn/10 {
			panic(fmt.Sprintf("%s: %d of %d keys are found that were removed", c.name, left, p.turn))
		}
	}
	tables = append(tables, cs.table(w))
	for _, w.order = range w.orders {
		p.others += absentKeys
		cs.rounds(rounds, p, absent)
		tables = append(tables, cs.table(w))
	}
	return tables
}

// table returns a table of w with the results so far, and begins new results.
func (cs contestants) table(w workload) table {
	w.rows, w.processes = nil, nil // the report does not need them
	t := table{workload: w}
	for _, c := range cs.all {
		done := *c.result
		t.results = append(t.results, &done)
		*c.result = result{name: done.name, note: done.note, bitsPerKey: done.bitsPerKey, err: done.err}
	}
	return t
}

func (c contestant) countFalses(p plan) {
	for i := range absentKeys / p.turn {
		first, n := p.keys(absent, i)
		_, found := c.operate(absent, first, n)
		c.falses += found
		c.absent += n
	}
}

// falses reports whether w counts false positives. At least ten must be expected, and a look-up
// must ask a single filter.
func (w workload) falses() bool {
	return w.p*absentKeys >= 10 && (w.turn == 0 || w.turn > turnKeys)
}

// percentile returns a percentile of values: the tenth if share is 0.1. It returns NaN if there are
// no values.
func percentile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return nan
	}
	sorted := slices.Sorted(slices.Values(values))
	place := float64(len(sorted)-1) * share
	low := int(place)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (place-float64(low))*(sorted[high]-sorted[low])
}

// time returns a percentile of the times of an operation. For additions and removals, it returns
// the mean over the parts. It returns NaN if there are no times.
func (r *result) time(op int, share float64) float64 {
	sum, n := 0.0, 0
	for _, times := range r.times[op] {
		if len(times) > 0 {
			sum += percentile(times, share)
			n++
		}
	}
	return sum / float64(n)
}

// The percentiles that a table shows.
const (
	tenth = 0.1
	half  = 0.5
)

// ratio divides r's time of an operation by base's, both at the tenth percentile.
func (r *result) ratio(base *result, op int) float64 {
	return r.time(op, tenth) / base.time(op, tenth)
}
