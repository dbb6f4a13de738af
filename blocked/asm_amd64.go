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

// filterFind returns the digest of key, and what filterContains does.
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

// A SyncFilter is read as a Filter. Assembly loads a block at once. This processor does
// that in aligned pieces of 8 bytes at least, and its atomic loads of words are plain
// ones.

func syncContains(s *SyncFilter, key []byte) bool       { return filterContains(&s.filter, key) }
func syncContainsHash(s *SyncFilter, h bloom.Hash) bool { return filterContainsHash(&s.filter, h) }

func syncFind(s *SyncFilter, key []byte) (h bloom.Hash, found bool) {
	return filterFind(&s.filter, key)
}

func syncContainsBatch(s *SyncFilter, dst []bool, hs []bloom.Hash) {
	filterContainsBatch(&s.filter, dst, hs)
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

func filterAddBatch(f *filter, dst []bool, hs []bloom.Hash) {
	if f.fast == 0 {
		f.addBatch(dst, hs)
		return
	}
	fetch := f.startFetching(hs)
	for len(hs) > 0 {
		n := min(len(hs), batchChunk)
		addChunk(f, dst, hs, n, fetch)
		dst, hs = dst[n:], hs[n:]
	}
}

func syncAddBatch(s *SyncFilter, dst []bool, hs []bloom.Hash) {
	if s.fast == 0 {
		s.addBatch(dst, hs)
		return
	}
	fetch := s.startFetching(hs)
	for len(hs) > 0 {
		n := min(len(hs), batchChunk)
		syncAddChunk(&s.filter, dst, hs, n, fetch)
		dst, hs = dst[n:], hs[n:]
	}
}

func filterContainsBatch(f *filter, dst []bool, hs []bloom.Hash) {
	if f.fast == 0 {
		f.containsBatch(dst, hs)
		return
	}
	fetch := f.startFetching(hs)
	for len(hs) > 0 {
		n := min(len(hs), batchChunk)
		containsChunk(f, dst, hs, n, fetch)
		dst, hs = dst[n:], hs[n:]
	}
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

// further returns for how many of the first n digests there is one fetchAhead digests
// later.
func further(hs []bloom.Hash, n int, fetch bool) int {
	if !fetch {
		return 0
	}
	return max(0, min(n, len(hs)-fetchAhead))
}

// A call of a Go function that is not inlined can be interrupted. A loop with nothing but
// assembly in it cannot.

//go:noinline
func addChunk(f *filter, dst []bool, hs []bloom.Hash, n int, fetch bool) {
	addBlocks(f, &hs[0], n, further(hs, n, fetch), &dst[0])
}

//go:noinline
func syncAddChunk(f *filter, dst []bool, hs []bloom.Hash, n int, fetch bool) {
	syncAddBlocks(f, &hs[0], n, further(hs, n, fetch), &dst[0])
}

//go:noinline
func containsChunk(f *filter, dst []bool, hs []bloom.Hash, n int, fetch bool) {
	containBlocks(f, &hs[0], n, further(hs, n, fetch), &dst[0])
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
