package bloom

import "github.com/seed79a3ff49/bloom/internal/bitwords"

// This is the contract of the assembly. Builds without assembly have asm_portable.go and
// asm_hash_portable.go instead.
//
//	assembly                            whether the build has assembly for filters
//	filterAdd, filterAddHash            like addInGo, for all filters and keys
//	filterContains, filterContainsHash  like contains, for all filters and keys
//	addMany, containsMany, sumMany      process the first part of a batch and return its length,
//	                                    which may be 0. If shared is true, other
//	                                    goroutines may write to f
//
// Assembly loads each word with a single instruction, which is an atomic load on amd64, so it also
// looks keys up in SyncFilters. Keys do not escape; see bitwords.NoEscape. Assembly cannot be
// interrupted, so it processes a batch in chunks, and a garbage collection waits only for the end
// of a chunk.
//
// Builds with the race detector have assembly only for hashing, and tell the detector what it reads
// and writes. Builds with sanitizers have none.

// AddBatch adds hs; see "Batches" in the package comment.
func (f *Filter) AddBatch(added []bool, hs []Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("bloom", added, len(hs))
	for i := addMany(&f.filter, false, added, hs); i < len(hs); i++ {
		added[i] = f.AddHash(hs[i])
	}
}

// ContainsBatch looks up hs; see "Batches" in the package comment.
func (f *Filter) ContainsBatch(found []bool, hs []Hash) {
	found = bitwords.Fill("bloom", found, len(hs))
	for i := containsMany(&f.filter, found, hs); i < len(hs); i++ {
		found[i] = f.ContainsHash(hs[i])
	}
}
