//go:build !purego && !race && !msan && !asan

package blocked

//lint:file-ignore U1000 Assembly jumps to the portable forms.

import (
	"golang.org/x/sys/cpu"

	"github.com/seed79a3ff49/bloom"
)

// useAVX2 reports a processor with AVX2 and BMI2. Where it is false, or a function
// below is given what it does not do (a key longer than directLen, a filter that is zero
// or has more than narrowBlocks), the function goes on in its portable form.
//
// As in package bloom, and for the reason given there at useAVX2, a call goes into
// assembly first, and assembly jumps to Go where it must.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// assembly reports whether there is assembly. It looks keys up in a SyncFilter as in a Filter:
// it loads a block at once. This processor does that in aligned pieces of 8 bytes at least,
// and its atomic loads of words are plain ones.
const assembly = true

// directLen is the longest key that assembly hashes, in bytes.
const directLen = 128

//go:noescape
func filterAdd(f *filter, key []byte) bool

//go:noescape
func filterAddHash(f *filter, h bloom.Hash) bool

//go:noescape
func filterContains(f *filter, key []byte) bool

//go:noescape
func filterContainsHash(f *filter, h bloom.Hash) bool

// filterFind returns the digest of key, and what filterContains does. In portable builds found
// is false: they leave looking to SyncFilter.add, which does so anyway.
//
//go:noescape
func filterFind(f *filter, key []byte) (h bloom.Hash, found bool)

func filterAddPortable(f *filter, key []byte) bool            { return filterAddHash(f, bloom.Sum(key)) }
func filterAddHashPortable(f *filter, h bloom.Hash) bool      { return f.add(h) }
func filterContainsPortable(f *filter, key []byte) bool       { return filterContainsHash(f, bloom.Sum(key)) }
func filterContainsHashPortable(f *filter, h bloom.Hash) bool { return f.contains(h) }

func filterFindPortable(f *filter, key []byte) (h bloom.Hash, found bool) {
	h = bloom.Sum(key)
	return h, filterContainsHash(f, h)
}

const (
	// fetchAhead is how many digests ahead of its use a block is fetched, so that many
	// cache misses overlap. Filters of less than fetchWords are in a cache that is
	// near enough.
	fetchAhead = 128
	fetchWords = 1 << 20 / 8

	// batchChunk is how many digests assembly does at once. Nothing interrupts it. So
	// a garbage collection waits for the end of a chunk, and for each of its blocks a
	// page may have to be made.
	batchChunk = 64
)

// The functions for batches do as many digests as they like to, from the first on, and
// return how many.

// addMany is AddBatch, and that of a SyncFilter if shared.
func addMany(f *filter, shared bool, dst []bool, hs []bloom.Hash) (done int) {
	if f.fast == 0 {
		return 0
	}
	fetch := f.startFetching(hs)
	for done < len(hs) {
		done += addChunk(f, shared, dst[done:], hs[done:], fetch)
	}
	return done
}

func containsMany(f *filter, dst []bool, hs []bloom.Hash) (done int) {
	if f.fast == 0 {
		return 0
	}
	fetch := f.startFetching(hs)
	for done < len(hs) {
		done += containsChunk(f, dst[done:], hs[done:], fetch)
	}
	return done
}

// startFetching fetches the blocks of the first digests, if f is so large that fetching
// pays. It reports whether it is.
func (f *filter) startFetching(hs []bloom.Hash) bool {
	if len(f.words) < fetchWords || len(hs) == 0 {
		return false
	}
	fetchBlocks(f, &hs[0], min(len(hs), fetchAhead))
	return true
}

// next returns how many of hs assembly does at once, and for how many of them there is one
// fetchAhead digests later.
func next(hs []bloom.Hash, fetch bool) (n, further int) {
	n = min(len(hs), batchChunk)
	if fetch {
		further = max(0, min(n, len(hs)-fetchAhead))
	}
	return n, further
}

// A call of a Go function that is not inlined can be interrupted. A loop with nothing but
// assembly in it cannot.

//go:noinline
func addChunk(f *filter, shared bool, dst []bool, hs []bloom.Hash, fetch bool) int {
	n, further := next(hs, fetch)
	if shared {
		syncAddBlocks(f, &hs[0], n, further, &dst[0])
	} else {
		addBlocks(f, &hs[0], n, further, &dst[0])
	}
	return n
}

//go:noinline
func containsChunk(f *filter, dst []bool, hs []bloom.Hash, fetch bool) int {
	n, further := next(hs, fetch)
	containBlocks(f, &hs[0], n, further, &dst[0])
	return n
}

// The following take count digests, count > 0, for a filter that fast says they are
// for.

// fetchBlocks fetches the blocks of digests.
//
//go:noescape
func fetchBlocks(f *filter, hs *bloom.Hash, count int)

// addBlocks adds digests and sets count elements of dst to whether each changed the
// filter. It fetches the blocks of so many further digests, which begin fetchAhead after
// the first.
//
//go:noescape
func addBlocks(f *filter, hs *bloom.Hash, count, further int, dst *bool)

// syncAddBlocks is addBlocks while others write.
//
//go:noescape
func syncAddBlocks(f *filter, hs *bloom.Hash, count, further int, dst *bool)

// containBlocks sets count elements of dst. It fetches as addBlocks does.
//
//go:noescape
func containBlocks(f *filter, hs *bloom.Hash, count, further int, dst *bool)
