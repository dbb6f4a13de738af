package main

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
)

// memory is what dedupe has seen.
type memory interface {
	// add adds hs and appends to dst the numbers of those that were new. Of equal ones the
	// first is new.
	add(dst []int, hs []bloom.Hash) []int
	// filter returns what to save, or nil if there is no such thing.
	filter() filter
}

// memoryOf returns a memory that is f.
func memoryOf(f filter) memory {
	if f, ok := f.(*counting.Filter); ok {
		return once{f}
	}
	return &plain{f: f}
}

// plain is a memory of one filter.
type plain struct {
	f     filter
	added []bool
}

func (m *plain) filter() filter { return m.f }

func (m *plain) add(dst []int, hs []bloom.Hash) []int {
	m.added = addAll(m.f, m.added[:0], hs)
	return where(dst, m.added, true)
}

// once is a memory that counts a line once, however often it comes.
type once struct{ f *counting.Filter }

func (m once) filter() filter { return m.f }

func (m once) add(dst []int, hs []bloom.Hash) []int {
	for i, h := range hs {
		if !m.f.ContainsHash(h) && m.f.AddHash(h) {
			dst = append(dst, i)
		}
	}
	return dst
}

// learner is a memory of nobody knows how many lines that can be saved. A growing filter that
// has room from the start is faster. So it is made anew, now and then until the lines are
// many, with room for four times those that came so far, or for half of those to come where
// that is known.
type learner struct {
	plain
	p      float64
	left   func() uint64 // as that of arrivals
	early  []bloom.Hash  // the digests of all lines in the filter
	enough int           // with so many of them it is made anew, until it is 0
}

// With leastEarly lines the filter is made anew for the first time, and with mostEarly for
// the last time. Until then each line takes 16 bytes more.
const (
	leastEarly = 1 << 14
	mostEarly  = 1 << 20
)

func newLearner(p float64, left func() uint64) (*learner, error) {
	f, err := growing.New(0, p)
	if err != nil {
		return nil, err
	}
	f.SetInfo(bloom.Info{P: p})
	return &learner{plain: plain{f: f}, p: p, left: left, enough: leastEarly}, nil
}

func (l *learner) add(dst []int, hs []bloom.Hash) []int {
	if l.enough == 0 {
		return l.plain.add(dst, hs)
	}
	if left := l.left(); left > 0 {
		l.enough = 0
		l.anew(min(left/2, mostRoom)) // as layers do
	}
	n := len(dst)
	dst = l.plain.add(dst, hs)
	if l.enough > 0 {
		for _, i := range dst[n:] {
			l.early = append(l.early, hs[i])
		}
		l.learn()
	}
	return dst
}

// learn makes the filter anew if enough lines came.
func (l *learner) learn() {
	if len(l.early) < l.enough {
		return
	}
	l.enough *= 4
	l.anew(uint64(l.enough))
	if l.enough > mostEarly {
		l.enough, l.early = 0, nil
		runtime.GC() // else the next layers would get other memory than theirs
		return
	}
	l.early = slices.Grow(l.early, l.enough+l.enough/16-len(l.early)) // for a batch more than enough
}

// anew makes the filter anew, for n lines.
func (l *learner) anew(n uint64) {
	f := bloom.Must(growing.New(n, l.p)) // whose p was checked
	if old, ok := l.f.(informed); ok {
		any(f).(informed).SetInfo(old.Info())
	}
	f.AddBatch(nil, l.early)
	l.f = f
}

// arrivals is how much of the input came.
type arrivals struct {
	total int64         // bytes of input, if known
	read  *atomic.Int64 // of them, which may be ahead of what is in use
	used  int64         // bytes in use, decompressed
	lines uint64        // in use
	part  shard         // to which only a part of the lines belongs
}

func (a *arrivals) add(b *lines.Batch) {
	a.used += int64(len(b.Data))
	a.lines += uint64(len(b.Ends))
}

// left estimates how many lines are still to come, at least 1. It returns 0 where nobody
// knows.
func (a *arrivals) left() uint64 {
	read := min(a.read.Load(), a.used)
	if a.total == 0 || read == 0 {
		return 0
	}
	return 1 + a.part.part(uint64(float64(a.lines)/float64(read)*float64(max(0, a.total-read))))
}

// where appends to dst the numbers of the elements of has that are value. It has no
// branch that a processor could guess wrong.
func where(dst []int, has []bool, value bool) []int {
	n := len(dst)
	dst = slices.Grow(dst, len(has))[:n+len(has)]
	for i, ok := range has {
		dst[n] = i
		one := 0
		if ok == value {
			one = 1
		}
		n += one
	}
	return dst[:n]
}
