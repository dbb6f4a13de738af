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

//go:noescape
func filterAdd(f *Filter, key []byte) bool

//go:noescape
func filterAddHash(f *Filter, h Hash) bool

//go:noescape
func filterContains(f *Filter, key []byte) bool

//go:noescape
func filterContainsHash(f *Filter, h Hash) bool

// chunk is how many keys assembly is given at once. It cannot be stopped, for the
// garbage collector or for another goroutine, before it returns. Go checks as a function
// begins whether it should stop, unless it needs little of the stack and calls no other.
// So the functions that call such assembly for a chunk are not inlined.
const chunk = 64

// useAVX512 reports the parts of AVX-512 that hashing several keys at once needs: lanes
// of 64 bits that are multiplied and rotated, and loads of some bytes of a vector.
var useAVX512 = useAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512BW

// The functions for batches, here and below, do as many keys as they like to, from the
// first on, and return how many.

// sumMany hashes keys.
func sumMany(dst []Hash, keys [][]byte) (done int) {
	for useAVX2 && done < len(keys) {
		n := sumSlicesChunk(dst[done:], keys[done:min(len(keys), done+chunk)])
		if n == 0 {
			dst[done], n = Sum(keys[done]), 1
		}
		done += n
	}
	return done
}

//go:noinline
func sumSlicesChunk(dst []Hash, keys [][]byte) int {
	count := len(keys)
	if useAVX512 && count >= 4 {
		if n := sumSlices512(&dst[0], &keys[0], count/4); n > 0 {
			return n
		}
		count = 4 // one of them is long
	}
	return sumSlices(&dst[0], &keys[0], count)
}

// sumManyStrings is sumMany of strings.
func sumManyStrings(dst []Hash, keys []string) (done int) {
	for useAVX2 && done < len(keys) {
		n := sumStringsChunk(dst[done:], keys[done:min(len(keys), done+chunk)])
		if n == 0 {
			dst[done], n = SumString(keys[done]), 1
		}
		done += n
	}
	return done
}

//go:noinline
func sumStringsChunk(dst []Hash, keys []string) int {
	count := len(keys)
	if useAVX512 && count >= 4 {
		if n := sumStrings512(&dst[0], &keys[0], count/4); n > 0 {
			return n
		}
		count = 4 // one of them is long
	}
	return sumStrings(&dst[0], &keys[0], count)
}

// sumManyUint64s is sumMany of integers.
func sumManyUint64s(dst []Hash, keys []uint64) (done int) {
	for useAVX2 && len(keys)-done >= 8 {
		done += sumUint64Chunk(dst[done:], keys[done:min(len(keys), done+chunk)])
	}
	return done
}

//go:noinline
func sumUint64Chunk(dst []Hash, keys []uint64) int {
	eights := len(keys) / 8
	if useAVX512 {
		sumUint64s512(&dst[0], &keys[0], eights)
	} else {
		sumUint64s(&dst[0], &keys[0], eights)
	}
	return eights * 8
}

// sumSlices hashes count keys, count > 0, and returns how many it did: it stops at
// a key longer than directLen.
//
//go:noescape
func sumSlices(dst *Hash, keys *[]byte, count int) int

// sumStrings is sumSlices of strings.
//
//go:noescape
func sumStrings(dst *Hash, keys *string, count int) int

// sumUint64s hashes so many times eight keys, eights > 0.
//
//go:noescape
func sumUint64s(dst *Hash, keys *uint64, eights int)

// The same with AVX-512. Slices and strings are hashed four at a time, fours > 0.

//go:noescape
func sumSlices512(dst *Hash, keys *[]byte, fours int) int

//go:noescape
func sumStrings512(dst *Hash, keys *string, fours int) int

//go:noescape
func sumUint64s512(dst *Hash, keys *uint64, eights int)

func filterAddPortable(f *Filter, key []byte) bool {
	if h := Sum(key); inAssembly(f) {
		return filterAddHash(f, h)
	} else {
		return f.add(h)
	}
}

func filterContainsPortable(f *Filter, key []byte) bool {
	if h := Sum(key); inAssembly(f) {
		return filterContainsHash(f, h)
	} else {
		return f.contains(h)
	}
}

func filterAddHashPortable(f *Filter, h Hash) bool      { return f.add(h) }
func filterContainsHashPortable(f *Filter, h Hash) bool { return f.contains(h) }

// A SyncFilter is looked up like a Filter. Assembly reads each word at once, as an
// atomic load does on this processor, and Go's portable code does too.

// plain returns s as a Filter. The two have the same fields.
func (s *SyncFilter) plain() *Filter { return (*Filter)(unsafe.Pointer(s)) }

func syncContains(s *SyncFilter, key []byte) bool { return filterContains(s.plain(), key) }
func syncContainsHash(s *SyncFilter, h Hash) bool { return filterContainsHash(s.plain(), h) }
func syncContainsMany(s *SyncFilter, dst []bool, hs []Hash) int {
	return containsMany(s.plain(), dst, hs)
}

// inAssembly reports whether assembly is for f.
func inAssembly(f *Filter) bool {
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

func addMany(f *Filter, dst []bool, hs []Hash) (done int) {
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		filterAddFours(f, &hs[done], n/4, f.fetch(f.k), &dst[done])
		done += n
	}
	return done
}

func syncAddMany(s *SyncFilter, dst []bool, hs []Hash) (done int) {
	f := s.plain()
	if f.k > 64 {
		return 0
	}
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		syncAddFours(f, &hs[done], n/4, f.fetch(f.k), &dst[done])
		done += n
	}
	return done
}

func containsMany(f *Filter, dst []bool, hs []Hash) (done int) {
	for n := f.next(hs); n > 0; n = f.next(hs[done:]) {
		containsChunk(f, dst[done:], hs[done:done+n])
		done += n
	}
	return done
}

//go:noinline
func containsChunk(f *Filter, dst []bool, hs []Hash) {
	if fetch := f.fetch(min(f.k, firstBits)); fetch > 0 {
		filterContainsFetched(f, &hs[0], len(hs)/4, fetch, &dst[0])
	} else {
		filterContainsFours(f, &hs[0], len(hs)/4, &dst[0])
	}
}

// next returns how many digests assembly does at once, a multiple of four.
func (f *Filter) next(hs []Hash) int {
	if !inAssembly(f) {
		return 0
	}
	return min(chunk, 4*(slots/f.k), len(hs)&^3)
}

// fetch returns bits, or 0 where it does not pay to fetch bits ahead of their use.
func (f *Filter) fetch(bits int) int {
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
func filterAddFours(f *Filter, hs *Hash, fours, fetch int, dst *bool)

// syncAddFours is filterAddFours while others write, for K of at most 64. It does not count
// bits.
//
//go:noescape
func syncAddFours(f *Filter, hs *Hash, fours, fetch int, dst *bool)

// filterContainsFours sets dst to whether the filter has each.
//
//go:noescape
func filterContainsFours(f *Filter, hs *Hash, fours int, dst *bool)

// filterContainsFetched is filterContainsFours that fetches so many bits of each at first,
// fetch > 0, and the others of those that have them.
//
//go:noescape
func filterContainsFetched(f *Filter, hs *Hash, fours, fetch int, dst *bool)
