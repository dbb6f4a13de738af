//go:build !purego && !race && !msan && !asan

package bloom

//lint:file-ignore U1000 Assembly jumps to the portable forms.

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// useAVX2 reports a processor with AVX2 and BMI2. Where it is false, or a
// function below is given what it does not do (keys longer than directLen, filters
// of Mitz32 or of one word or none), the function goes on in its portable form. That
// lets no key escape either; see memory.NoEscape.
//
// A call goes into assembly first, and assembly jumps to Go where it must. Go could
// decide first, as hash/crc32 does, but then each call would be two: Go already calls
// assembly through a stub that it makes itself. A look-up in a small filter takes only a few
// times as long as a call.
//
// Race detectors and sanitizers do not see what assembly reads and writes. With
// them all code is portable, so that they find, say, a Filter that is written to
// without a lock.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// assembly reports whether there is assembly. It looks keys up in a SyncFilter as in a Filter:
// it reads each word at once, as an atomic load does on this processor, and Go's portable code
// does too.
const assembly = true

//go:noescape
func filterAdd(f *filter, key []byte) bool

//go:noescape
func filterAddHash(f *filter, h Hash) bool

//go:noescape
func filterContains(f *filter, key []byte) bool

//go:noescape
func filterContainsHash(f *filter, h Hash) bool

// chunk is how many keys assembly is given at once. It cannot be stopped, for the
// garbage collector or for another goroutine, before it returns. Go checks as a function
// begins whether it should stop, unless it needs little of the stack and calls no other.
// So the functions that call such assembly for a chunk are not inlined.
const chunk = 64

// useAVX512 reports the parts of AVX-512 that hashing several keys at once needs: lanes
// of 64 bits that are multiplied and rotated, and loads of some bytes of a vector.
var useAVX512 = useAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW

// The functions for batches do as many keys as they like to, from the first on, and return
// how many.

// sumMany hashes integers by eights, and all other keys.
func sumMany[K []byte | string | uint64](dst []Hash, keys []K) (done int) {
	size, all := unsafe.Sizeof(keys[0]), len(keys)
	if size == 8 {
		all &^= 7
	}
	for useAVX2 && done < all {
		done += sumChunk(&dst[done], unsafe.Pointer(&keys[done]), min(chunk, all-done), size)
	}
	return done
}

// sumChunk is sumMany of up to count keys, which are integers of eight bytes, or strings or
// slices with headers of size bytes.
//
//go:noinline
func sumChunk(dst *Hash, keys unsafe.Pointer, count int, size uintptr) int {
	switch key := (*string)(keys); { // a slice begins like a string
	case size == 8 && useAVX512:
		sumUint64s512(dst, keys, count/8)
		return count
	case size == 8:
		sumUint64s(dst, keys, count/8)
		return count
	case len(*key) > directLen:
		*dst = SumString(*key)
		return 1
	case useAVX512 && count >= 4:
		if n := sumKeys512(dst, keys, count/4, size); n > 0 {
			return n
		}
		count = 4 // one of them is long
	}
	return sumKeys(dst, keys, count, size)
}

// sumKeys hashes count strings or slices, count > 0, with headers of size bytes. It returns
// how many it did: it stops at a key longer than directLen.
//
//go:noescape
func sumKeys(dst *Hash, keys unsafe.Pointer, count int, size uintptr) int

// sumKeys512 is sumKeys of so many times four keys, fours > 0, with AVX-512.
//
//go:noescape
func sumKeys512(dst *Hash, keys unsafe.Pointer, fours int, size uintptr) int

// sumUint64s hashes so many times eight integers, eights > 0.
//
//go:noescape
func sumUint64s(dst *Hash, keys unsafe.Pointer, eights int)

// sumUint64s512 is sumUint64s with AVX-512.
//
//go:noescape
func sumUint64s512(dst *Hash, keys unsafe.Pointer, eights int)

func filterAddPortable(f *filter, key []byte) bool {
	if h := Sum(key); inAssembly(f) {
		return filterAddHash(f, h)
	} else {
		return f.add(h)
	}
}

func filterContainsPortable(f *filter, key []byte) bool {
	if h := Sum(key); inAssembly(f) {
		return filterContainsHash(f, h)
	} else {
		return f.contains(h)
	}
}

func filterAddHashPortable(f *filter, h Hash) bool      { return f.add(h) }
func filterContainsHashPortable(f *filter, h Hash) bool { return f.contains(h) }

// inAssembly reports whether assembly is for f.
func inAssembly(f *filter) bool {
	return useAVX2 && f.strategy == Mitz64 && f.k > 0 && len(f.bits.words) >= 2
}

const (
	// fetchWords is the least number of words for which it pays to fetch them ahead of
	// their use. Smaller filters are in a cache that is near enough.
	fetchWords = 4 << 20 / 8
	// firstBits is how many bits of a key a look-up fetches at first. Most absent keys end
	// within them.
	firstBits = 4
	// slots is how many bits of four keys assembly has room for.
	slots = 256
)

// addMany is AddBatch, and that of a SyncFilter if shared.
func addMany(f *filter, shared bool, dst []bool, hs []Hash) (done int) {
	if shared && f.k > 64 {
		return 0
	}
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		if fetch := f.fetch(f.k); shared {
			syncAddFours(f, &hs[done], n/4, fetch, &dst[done])
		} else {
			filterAddFours(f, &hs[done], n/4, fetch, &dst[done])
		}
		done += n
	}
	return done
}

func containsMany(f *filter, dst []bool, hs []Hash) (done int) {
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		containsChunk(f, dst[done:], hs[done:done+n])
		done += n
	}
	return done
}

//go:noinline
func containsChunk(f *filter, dst []bool, hs []Hash) {
	if fetch := f.fetch(min(f.k, firstBits)); fetch > 0 {
		filterContainsFetched(f, &hs[0], len(hs)/4, fetch, &dst[0])
	} else {
		filterContainsFours(f, &hs[0], len(hs)/4, &dst[0])
	}
}

// next returns how many digests assembly does at once, a multiple of four.
func (f *filter) next(hs []Hash) int {
	if !inAssembly(f) {
		return 0
	}
	return min(chunk, 4*(slots/f.k), len(hs)&^3)
}

// fetch returns bits, or 0 where it does not pay to fetch bits ahead of their use.
func (f *filter) fetch(bits int) int {
	if len(f.bits.words) < fetchWords {
		return 0
	}
	return bits
}

// The following are for a filter that is inAssembly, and so many times four digests,
// fours > 0. fours*K is at most slots.

// filterAddFours sets dst to whether each changed the filter. It fetches so many bits of
// each before it uses them.
//
//go:noescape
func filterAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// syncAddFours is filterAddFours while others write, for K of at most 64. It does not count
// bits.
//
//go:noescape
func syncAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)

// filterContainsFours sets dst to whether the filter has each.
//
//go:noescape
func filterContainsFours(f *filter, hs *Hash, fours int, dst *bool)

// filterContainsFetched is filterContainsFours that fetches so many bits of each at first,
// fetch > 0, and the others of those that have them.
//
//go:noescape
func filterContainsFetched(f *filter, hs *Hash, fours, fetch int, dst *bool)
