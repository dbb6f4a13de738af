package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

// AddBatch adds hs in order and sets added[i] to what AddHash of hs[i] returns. It panics if
// added is shorter than hs, unless added is nil: nobody wants to know then.
//
// Batches are usually two to three times as fast as single keys, and more in filters larger
// than the processor's cache; see benchmarks/RESULTS.md.
// A garbage collection can begin in the middle of a batch.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	f.use()
	added = memory.Answers("blocked", added, len(hs))
	for i := addMany(&f.filter, false, added, hs); i < len(hs); i++ {
		if i%touchAhead == 0 {
			f.touch(hs[i:])
		}
		added[i] = f.add(hs[i])
	}
}

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	f.use()
	found = memory.Fill("blocked", found, len(hs))
	for i := containsMany(&f.filter, found, hs); i < len(hs); i++ {
		if i%touchAhead == 0 {
			f.touch(hs[i:])
		}
		found[i] = f.contains(hs[i])
	}
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
