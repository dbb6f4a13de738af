package bloom

import "github.com/seed79a3ff49/bloom/internal/bitwords"

// The contract of assembly, where there is any; other builds have asm_portable.go.
//
//	assembly                  whether there is any. A look-up in it loads each word at once, as
//	                          atomic loads do on its processor: a SyncFilter uses it, too
//	filterAdd, filterAddHash, do what add and contains do, for all filters and keys
//	filterContains,
//	filterContainsHash
//	addMany, containsMany,    do as many of a batch as they like to, from the first on, and return
//	sumMany                   how many; addMany may be told that others write
//
// No key escapes; see bitwords.NoEscape. A batch is given to assembly in chunks: nothing interrupts
// it, and a garbage collection waits for the end of a chunk. With the race detector only hashing
// is in assembly, and the detector is told what that reads. With sanitizers nothing is. So these
// tools find, for example, a Filter that is written to without a lock.

// AddBatch adds hs in order and sets added[i] to what AddHash of hs[i] returns. It panics if
// added is shorter than hs. A nil added discards the results.
//
// Batches are usually 1.5 to 2 times as fast as single keys, and more in filters larger than
// the processor's cache; see benchmarks/RESULTS.md. [SumBatch], [SumStringBatch] and
// [SumUint64Batch] hash batches.
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

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs.
func (f *Filter) ContainsBatch(found []bool, hs []Hash) {
	found = bitwords.Fill("bloom", found, len(hs))
	for i := containsMany(&f.filter, found, hs); i < len(hs); i++ {
		found[i] = f.ContainsHash(hs[i])
	}
}
