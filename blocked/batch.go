package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// AddBatch adds hs in order and sets added[i] to what AddHash(hs[i]) returns. It panics if added is
// shorter than hs. A nil added discards the results.
//
// [bloom.Filter.AddBatch] says when batches are faster.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	f.b.AddBatch(splitblock.None, bitwords.Fill("blocked", added, len(hs)), hs)
}

// ContainsBatch sets found[i] to ContainsHash(hs[i]). It panics if found is shorter than hs.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	f.b.ContainsBatch(splitblock.None, bitwords.Fill("blocked", found, len(hs)), hs)
}
