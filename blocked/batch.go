package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// AddBatch adds hs; see "Batches" in package bloom.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	f.b.AddBatch(splitblock.None, bitwords.Fill("blocked", added, len(hs)), hs)
}

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	f.b.ContainsBatch(splitblock.None, bitwords.Fill("blocked", found, len(hs)), hs)
}
