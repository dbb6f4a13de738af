package main

import (
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
)

// memory holds the lines that dedupe has seen.
type memory struct {
	f      hashFilter
	counts bool              // f counts keys, so each must be added only once
	create func() hashFilter // makes the final f when the first lines arrive; nil if f is final
	added  []bool            // a buffer for the answers of AddBatch
}

func memoryOf(f hashFilter) *memory {
	return &memory{f: f, counts: kindOfFilter(f).counts}
}

func (m *memory) ready() {
	if m.create == nil {
		return
	}
	f := m.create()
	info := m.f.Info()
	f.UpdateInfo(func(i *bloom.Info) {
		i.Hash = info.Hash
		i.Meta = info.Meta
	})
	m.f = f
	m.create = nil
}

// addBatch adds hs and appends to dst the indexes of the digests that were new. Of equal digests in
// hs, only the first can be new, unless f forgets.
func (m *memory) addBatch(dst []int, hs []bloom.Hash) []int {
	m.ready()
	if !m.counts {
		m.added = answers(m.added, len(hs))
		m.f.AddBatch(m.added, hs)
		return indexesOf(dst, m.added, true)
	}
	for i, h := range hs {
		if !m.f.ContainsHash(h) {
			m.f.AddBatch(nil, hs[i:i+1])
			dst = append(dst, i)
		}
	}
	return dst
}

// The room of a new filter, in lines, if the number of lines is unknown.
const (
	maxRoom   = 20_000_000 // the largest room for a file; about 90 MB at the default rate
	pipeRoom  = 1 << 22    // the room for a pipe
	savedRoom = 1 << 17    // the room for a pipe if the filter is saved; keeps the file small
)

// newGrower returns a memory for an unknown number of lines. estimate returns how many lines will
// probably arrive, or 0 if it cannot tell. With room for all of them, the filter has a single
// layer, which is fastest. A filter that is saved gets room for at most half of them.
func newGrower(p float64, saved bool, estimate func() uint64) (*memory, error) {
	f, err := growing.New(0, p)
	if err != nil {
		return nil, err
	}
	m := memoryOf(f)
	m.create = func() hashFilter {
		room := min(estimate(), maxRoom)
		switch {
		case room == 0 && saved:
			room = savedRoom
		case room == 0:
			room = pipeRoom
		case saved:
			room /= 2
		}
		return bloom.Must(growing.New(room, p)) // growing.New has accepted p above
	}
	return m, nil
}

type arrivals struct {
	total int64         // the number of bytes in the input, or 0 if unknown
	read  *atomic.Int64 // the number of bytes read from the input, before decompression
	used  int64         // the number of bytes in the lines so far, after decompression
	lines uint64        // the number of lines so far, in all shards
	shard shard         // the shard that this run handles
}

// left estimates how many more lines of the shard will arrive, at least 1. It returns 0 if it
// cannot tell.
func (a *arrivals) left() uint64 {
	read := min(a.read.Load(), a.used)
	if a.total == 0 || read == 0 {
		return 0
	}
	linesPerByte := float64(a.lines) / float64(read)
	return 1 + a.shard.share(uint64(linesPerByte*float64(max(0, a.total-read))))
}

// indexesOf appends i to dst for each bits[i] that equals value. The loop has no branch on an
// element, because processors would often mispredict it.
func indexesOf(dst []int, bits []bool, value bool) []int {
	n := len(dst)
	dst = slices.Grow(dst, len(bits))[:n+len(bits)]
	for i, ok := range bits {
		dst[n] = i
		one := 0
		if ok == value {
			one = 1
		}
		n += one
	}
	return dst[:n]
}

func trues(answers []bool) (n int) {
	for _, ok := range answers {
		if ok {
			n++
		}
	}
	return n
}
