package bloom

import "github.com/seed79a3ff49/bloom/internal/bitwords"

// This is the contract of assembly. Builds without it have asm_portable.go instead.
//
//	assembly                            whether the build has assembly for filters
//	filterAdd, filterAddHash            do what add does, for all filters and keys
//	filterContains, filterContainsHash  do what contains does, for all filters and keys
//	addMany, containsMany, sumMany      do the first part of a batch, and return its length, which
//	                                    may be 0. addMany's shared: others may write too
//
// Assembly loads each word by one instruction, like an atomic load on that processor, so it also
// looks keys up in SyncFilters. Keys do not escape; see bitwords.NoEscape. Assembly cannot be
// interrupted, so it works on a batch in chunks, and a garbage collection waits only for the end of
// a chunk.
//
// Builds with the race detector have assembly for hashing only, and tell the detector what it reads
// and writes; builds with sanitizers have none. These tools thus find, for example, a Filter that
// two goroutines write to without a lock.

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

// ContainsBatch looks hs up; see "Batches" in the package comment.
func (f *Filter) ContainsBatch(found []bool, hs []Hash) {
	found = bitwords.Fill("bloom", found, len(hs))
	for i := containsMany(&f.filter, found, hs); i < len(hs); i++ {
		found[i] = f.ContainsHash(hs[i])
	}
}
