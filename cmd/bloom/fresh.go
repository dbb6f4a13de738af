package main

import (
	"slices"

	"github.com/seed79a3ff49/bloom"
)

// fresh adds keys and tells which of them were new.
type fresh struct {
	has  []bool
	hs   []bloom.Hash       // those that are new
	slot [freshSlots]uint16 // a hash table of hs: their numbers, plus 1
}

const (
	freshChunk = 512  // keys whose part of a filter fits in a core's cache
	freshSlots = 4096 // so many that two keys seldom want the same one
)

// add adds hs to f and appends the numbers of those that were new to dst. Of equal keys in
// hs the first is new.
//
// f tells which keys of a chunk it had before. Which of the others are equal, a small table
// tells. So f is asked in two batches, which are faster than one key at a time.
func (a *fresh) add(dst []int, f batcher, hs []bloom.Hash) []int {
	for from := 0; from < len(hs); from += freshChunk {
		chunk := hs[from:min(len(hs), from+freshChunk)]
		a.has = f.ContainsBatch(a.has[:0], chunk)
		n := len(dst)
		dst = where(dst, a.has, false)
		dst = dst[:n+a.first(dst[n:], chunk)]
		f.AddBatch(nil, a.hs)
		for i := range dst[n:] {
			dst[n+i] += from
		}
	}
	return dst
}

// first gathers the hashes with these numbers, each once. It moves the numbers of the
// gathered ones to the start of is and returns how many there are.
func (a *fresh) first(is []int, hs []bloom.Hash) int {
	clear(a.slot[:])
	a.hs = a.hs[:0]
next:
	for _, i := range is {
		h := hs[i]
		h1, _ := h.Words()
		slot := h1 % freshSlots
		for a.slot[slot] != 0 {
			if a.hs[a.slot[slot]-1] == h {
				continue next
			}
			slot = (slot + 1) % freshSlots
		}
		is[len(a.hs)] = i
		a.hs = append(a.hs, h)
		a.slot[slot] = uint16(len(a.hs))
	}
	return len(a.hs)
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
