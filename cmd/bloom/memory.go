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
	// filter returns what to save.
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
	m.added = answers(m.added, len(hs))
	m.f.AddBatch(m.added, hs)
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

// grower is a memory of nobody knows how many lines. Its filter has room for those that are
// to come, where the size of the input says how many. So it is one layer of package growing,
// which is as fast as a filter of a known size.
type grower struct {
	plain
	p     float64
	left  func() uint64 // as that of arrivals
	begun bool
	saved bool

	early  []bloom.Hash // the digests of all lines in the filter, while it is made anew
	enough int          // with so many of them it is made anew, until it is 0
}

// A filter has room for at most mostRoom lines at first, 90 MB: little enough to be in vain,
// where all lines are the same.
const mostRoom = 20_000_000

// A filter of lines from a pipe is made anew when leastEarly lines came, for pipeRoom of them.
// If it is saved it is to be no larger than its lines need: it is made anew for four times as
// many each time, and with mostEarly for the last time. Until then each line takes 16 bytes
// more.
const (
	leastEarly = 1 << 14
	mostEarly  = 1 << 20
	pipeRoom   = 1 << 22
)

func newGrower(p float64, saved bool, left func() uint64) (*grower, error) {
	f, err := growing.New(0, p)
	if err != nil {
		return nil, err
	}
	return &grower{plain: plain{f: f}, p: p, saved: saved, left: left}, nil
}

func (g *grower) add(dst []int, hs []bloom.Hash) []int {
	if !g.begun {
		g.begin()
	}
	n := len(dst)
	dst = g.plain.add(dst, hs)
	if g.enough > 0 {
		for _, i := range dst[n:] {
			g.early = append(g.early, hs[i])
		}
		g.learn()
	}
	return dst
}

// begin makes the first filter, once some input came.
func (g *grower) begin() {
	g.begun = true
	left := g.left()
	switch {
	case left == 0:
		g.enough = leastEarly
	case g.saved: // in a file, room is never in vain for free
		g.anew(min(left/2, mostRoom))
	default:
		g.anew(min(left, mostRoom))
	}
}

// learn makes the filter anew if enough lines came.
func (g *grower) learn() {
	if len(g.early) < g.enough {
		return
	}
	if g.enough *= 4; !g.saved {
		g.enough = pipeRoom
	}
	g.anew(uint64(g.enough))
	if g.enough > mostEarly {
		g.enough, g.early = 0, nil
		runtime.GC() // else the next layers would get other memory than theirs
		return
	}
	g.early = slices.Grow(g.early, g.enough+g.enough/16-len(g.early)) // for a batch more than enough
}

// anew makes the filter anew, for n lines.
func (g *grower) anew(n uint64) {
	f := bloom.Must(growing.New(n, g.p)) // whose p was checked
	info, old := f.Info(), g.f.Info()
	info.Hash, info.Comment = old.Hash, old.Comment
	f.SetInfo(info)
	f.AddBatch(nil, g.early)
	g.f = f
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

// trues returns how many elements of has are true.
func trues(has []bool) (n int) {
	for _, ok := range has {
		if ok {
			n++
		}
	}
	return n
}
