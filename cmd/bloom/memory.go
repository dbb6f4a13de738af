package main

import (
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
)

// memory is the lines that dedupe has seen.
type memory struct {
	f      hashFilter
	once   *counting.Filter  // f, if it counts how often a key comes
	create func() hashFilter // makes f when the first lines come; nil if f is made
	added  []bool
}

func memoryOf(f hashFilter) *memory {
	once, _ := f.(*counting.Filter)
	return &memory{f: f, once: once}
}

// add adds hs and appends to dst the numbers of those that were new. Of equal ones the first is
// new.
func (m *memory) add(dst []int, hs []bloom.Hash) []int {
	if m.create != nil {
		f := m.create()
		info := f.Info()
		info.Hash = m.f.Info().Hash
		info.Comment = m.f.Info().Comment
		f.SetInfo(info)
		m.f = f
		m.create = nil
	}
	if m.once == nil {
		m.added = answers(m.added, len(hs))
		m.f.AddBatch(m.added, hs)
		return indexesOf(dst, m.added, true)
	}
	for i, h := range hs {
		if !m.once.ContainsHash(h) && m.once.AddHash(h) {
			dst = append(dst, i)
		}
	}
	return dst
}

// Room for lines whose number is unknown.
const (
	mostRoom  = 20_000_000 // at first, for a file: 90 MB, which are in vain if all lines are equal
	pipeRoom  = 1 << 22    // for a pipe
	savedRoom = 1 << 17    // for a pipe, if the filter is saved: unused room takes disk
)

// newGrower returns a memory for an unknown number of lines. left estimates how many are to come,
// or returns 0. The filter has room for them at first. So it is one layer of package growing, which
// is as fast as a filter of a known size. A filter that is saved gets half the room.
func newGrower(p float64, saved bool, left func() uint64) (*memory, error) {
	f, err := growing.New(0, p)
	if err != nil {
		return nil, err
	}
	m := memoryOf(f)
	m.create = func() hashFilter {
		room := min(left(), mostRoom)
		switch {
		case room == 0 && saved:
			room = savedRoom
		case room == 0:
			room = pipeRoom
		case saved:
			room /= 2
		}
		return bloom.Must(growing.New(room, p)) // p was good above
	}
	return m, nil
}

// arrivals is how much of the input came.
type arrivals struct {
	total int64         // bytes of input, or 0 if unknown
	read  *atomic.Int64 // bytes of them that were read
	used  int64         // bytes of lines that were looked up, decompressed
	lines uint64        // lines that were looked up
	part  shard         // the lines that belong to this run
}

// left estimates how many lines are to come. It returns at least 1, or 0 if it cannot tell.
func (a *arrivals) left() uint64 {
	read := min(a.read.Load(), a.used)
	if a.total == 0 || read == 0 {
		return 0
	}
	linesPerByte := float64(a.lines) / float64(read)
	return 1 + a.part.part(uint64(linesPerByte*float64(max(0, a.total-read))))
}

// indexesOf appends to dst the indexes of those elements of has that equal value. The loop has no
// branch on an element, because a processor would often predict it wrongly.
func indexesOf(dst []int, has []bool, value bool) []int {
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
