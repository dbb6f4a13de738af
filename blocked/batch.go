package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

// AddBatch adds hs in order. For each it appends to dst what AddHash would return. It
// returns the extended slice and allocates only if dst lacks room.
//
// Batches are usually two to three times as fast as single keys, and more in filters larger
// than the processor's cache; see benchmarks/RESULTS.md.
// A garbage collection can begin in the middle of a batch.
func (f *Filter) AddBatch(dst []bool, hs []bloom.Hash) []bool {
	f.use()
	dst, more := memory.Extend(dst, len(hs))
	for i := addMany(&f.filter, false, more, hs); i < len(hs); i++ {
		if i%touchAhead == 0 {
			f.touch(hs[i:])
		}
		more[i] = f.add(hs[i])
	}
	return dst
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns the extended slice.
// It allocates only if dst lacks room.
func (f *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	f.use()
	dst, more := memory.Extend(dst, len(hs))
	for i := containsMany(&f.filter, more, hs); i < len(hs); i++ {
		if i%touchAhead == 0 {
			f.touch(hs[i:])
		}
		more[i] = f.contains(hs[i])
	}
	return dst
}

// touchAhead is how many digests' blocks the portable batches touch before they use
// them: few enough to stay in the cache meanwhile.
const touchAhead = 64

// touch reads a word of each block of the first touchAhead digests. Nothing waits for these
// reads, so their cache misses overlap, which those of a loop full of arithmetic hardly
// do. A SyncFilter's words are read so only where there is assembly; see there. It is not
// inlined because then the reads, whose values nobody uses, would go.
//
//go:noinline
func (f *filter) touch(hs []bloom.Hash) (sum uint64) {
	for _, h := range hs[:min(len(hs), touchAhead)] {
		values := spread(h)
		for l := range f.lines {
			sum += f.words[block(&values, l, len(f.words))]
		}
	}
	return sum
}
