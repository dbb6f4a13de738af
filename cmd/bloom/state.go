package main

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
)

// state is the file that remembers from run to run what was written. Without a path nothing
// is saved.
type state struct {
	path  string
	every time.Duration
	saved time.Time     // when it last was what it should be
	took  time.Duration // saving it
	lines uint64        // lines of this run that are to be written and that it lacks
}

// due reports whether to save. At most a twentieth of the time is spent on it.
func (s *state) due() bool {
	return s.lines > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save saves what was seen, once all of it that is in a file is on the disk. Otherwise lines
// that a power cut took from the file would be in the state, and no run would write them.
func (s *state) save(seen *memory, out *output) error {
	if s.path == "" {
		return nil
	}
	start := time.Now()
	if err := out.sync(); err != nil {
		return err
	}
	if err := out.describe(seen.f); err != nil {
		return err
	}
	if err := seen.f.SaveFile(s.path); err != nil {
		return err
	}
	s.lines, s.saved, s.took = 0, time.Now(), time.Since(start)
	return nil
}

// memory is what dedupe has seen.
type memory struct {
	f     hashed
	once  *counting.Filter // f, if it counts how often a key comes
	begin func() hashed    // makes f, once some input came
	added []bool
}

func memoryOf(f hashed) *memory {
	once, _ := f.(*counting.Filter)
	return &memory{f: f, once: once}
}

// add adds hs and appends to dst the numbers of those that were new. Of equal ones the first is new.
func (m *memory) add(dst []int, hs []bloom.Hash) []int {
	if m.begin != nil {
		f, info := m.begin(), m.f.Info()
		made := f.Info()
		made.Hash, made.Comment = info.Hash, info.Comment
		f.SetInfo(made)
		m.f, m.begin = f, nil
	}
	if m.once == nil {
		m.added = answers(m.added, len(hs))
		m.f.AddBatch(m.added, hs)
		return where(dst, m.added, true)
	}
	for i, h := range hs {
		if !m.once.ContainsHash(h) && m.once.AddHash(h) {
			dst = append(dst, i)
		}
	}
	return dst
}

// A filter of nobody knows how many lines has room for at most mostRoom at first, 90 MB: little
// enough to be in vain, where all lines are the same. Lines from a pipe get pipeRoom, or savedRoom
// where the filter is saved: in a file, room is never in vain for free.
const (
	mostRoom  = 20_000_000
	pipeRoom  = 1 << 22
	savedRoom = 1 << 17
)

// newGrower returns a memory of nobody knows how many lines. Its filter has room for those that are
// to come, where the size of the input says how many. So it is one layer of package growing, which is
// as fast as a filter of a known size.
func newGrower(p float64, saved bool, left func() uint64) (*memory, error) {
	f, err := growing.New(0, p)
	if err != nil {
		return nil, err
	}
	m := memoryOf(f)
	m.begin = func() hashed {
		room := min(left(), mostRoom)
		switch {
		case room == 0 && saved:
			room = savedRoom
		case room == 0:
			room = pipeRoom
		case saved:
			room /= 2
		}
		return bloom.Must(growing.New(room, p)) // whose p was checked
	}
	return m, nil
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
