package blocked

import (
	"slices"

	"github.com/seed79a3ff49/bloom"
)

// AddBatch adds hs in order and returns how many of them changed the filter.
//
// Batches of some hundreds of digests take half the time of one by one, with three
// lines two thirds, while the filter is in the processor's cache. In a filter of 13 MB or
// more they take two fifths. Absent keys of several lines gain less, from a tenth to a
// half: one by one stops at the first line that lacks a bit, and a batch reads them all.
// That is with AVX2, and digests that are ready; see [bloom.SumBatch]. A garbage
// collection can begin in the middle of a batch.
func (f *Filter) AddBatch(hs []bloom.Hash) (added int) {
	if f.lines == 0 && len(hs) > 0 {
		panic(errZero)
	}
	return filterAddBatch(f, hs)
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it. It allocates
// only if dst lacks room. It pays as [Filter.AddBatch] does.
func (f *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	n := len(dst)
	dst = slices.Grow(dst, len(hs))[:n+len(hs)]
	if f.lines == 0 {
		clear(dst[n:])
		return dst
	}
	filterContainsBatch(f, dst[n:], hs)
	return dst
}

// touchAhead is how many digests' blocks the portable batches touch before they use
// them: few enough to stay in the cache meanwhile.
const touchAhead = 64

// addBatch is AddBatch in Go.
func (f *Filter) addBatch(hs []bloom.Hash) (added int) {
	for ; len(hs) > 0; hs = hs[min(len(hs), touchAhead):] {
		ahead := hs[:min(len(hs), touchAhead)]
		f.touch(ahead)
		for _, h := range ahead {
			if f.add(h) {
				added++
			}
		}
	}
	return added
}

// containsBatch is ContainsBatch in Go, of as many digests as dst is long.
func (f *Filter) containsBatch(dst []bool, hs []bloom.Hash) {
	for i, h := range hs {
		if i%touchAhead == 0 {
			f.touch(hs[i:min(len(hs), i+touchAhead)])
		}
		dst[i] = f.contains(h)
	}
}

// touch reads a word of each block of hs. Nothing waits for these reads, so
// their cache misses overlap, which those of a loop full of arithmetic hardly
// do. It is not inlined because then the reads, whose values nobody uses, would
// go.
//
//go:noinline
func (f *Filter) touch(hs []bloom.Hash) (sum uint64) {
	for i := range hs {
		values := spread(hs[i])
		for l := range f.lines {
			sum += f.words[block(&values, l, len(f.words))]
		}
	}
	return sum
}
