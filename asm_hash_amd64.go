//go:build !purego && !msan && !asan

package bloom

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// chunk is the largest number of keys in one call into assembly, which the scheduler cannot
// interrupt. The scheduler can interrupt a call of a Go function, so containsChunk and sumChunk are
// not inlined.
const chunk = 64

// useAVX512 reports whether the processor has the instructions that multiply and rotate 64-bit
// lanes, and masked loads of bytes.
var useAVX512 = useAVX2 &&
	cpu.X86.HasAVX512F &&
	cpu.X86.HasAVX512DQ &&
	cpu.X86.HasAVX512VL &&
	cpu.X86.HasAVX512BW

// useWide reports whether 512-bit vectors are faster than 256-bit ones. They are faster on Ice
// Lake, Zen 4 and later processors, which have VBMI2. Older processors lower their clock rate for
// long vectors.
var useWide = useAVX512 && cpu.X86.HasAVX512VBMI2

func sumMany[K []byte | string | uint64](dst []Hash, keys []K) (done int) {
	if len(keys) < 4 || !useAVX2 {
		return 0
	}
	size, all := unsafe.Sizeof(keys[0]), len(keys)
	if size == 8 { // integers: assembly hashes 8 or 16 at a time
		all &^= 7
	}
	for done < all {
		done += sumChunk(&dst[done], unsafe.Pointer(&keys[done]), min(chunk, all-done), size)
	}
	return done
}

// sumChunk hashes up to count keys, and returns how many it hashed. The keys are integers if size
// is 8. Otherwise they are strings or slices, with headers of that size.
//
//go:noinline
func sumChunk(dst *Hash, keys unsafe.Pointer, count int, size uintptr) int {
	if bitwords.Race {
		tell(dst, keys, count, size)
	}
	switch {
	case size == 8 && useWide && count >= 16:
		sumUint64sWide(dst, keys, count/16)
		return count &^ 15
	case size == 8 && useAVX512:
		sumUint64s512(dst, keys, count/8)
		return count
	case size == 8:
		sumUint64s(dst, keys, count/8)
		return count
	}
	key := (*string)(keys) // the header of a slice begins like that of a string
	if len(*key) > directLen {
		*dst = SumString(*key)
		return 1
	}
	if useWide && count >= 8 { // speed
		if n := sumAlike(dst, keys, count/8, size); n > 0 {
			return n
		}
	}
	if useAVX512 && (count >= 16 || count >= 4 && len(*key) >= 16) { // speed
		if n := sumKeys512(dst, keys, count/4, size); n > 0 {
			return n
		}
		// One of the next four keys is longer than directLen.
		count = 4 // speed
	}
	return sumKeys(dst, keys, count, size)
}

func tell(dst *Hash, keys unsafe.Pointer, count int, size uintptr) {
	bitwords.RaceWrite(unsafe.Pointer(dst), count*int(unsafe.Sizeof(*dst)))
	bitwords.RaceRead(keys, count*int(size))
	for i := range count {
		if size != 8 {
			key := (*string)(unsafe.Add(keys, uintptr(i)*size))
			bitwords.RaceRead(unsafe.Pointer(unsafe.StringData(*key)), len(*key))
		}
	}
}

// sumKeys hashes up to count strings or slices, and returns how many it hashed. It stops at a key
// longer than directLen. size is the size of a header, and count must be positive.
//
//go:noescape
func sumKeys(dst *Hash, keys unsafe.Pointer, count int, size uintptr) int

// sumKeys512 is like sumKeys, but uses AVX-512, and hashes up to 4*fours keys. fours must be
// positive. It stops before a group of four with a key longer than directLen.
//
//go:noescape
func sumKeys512(dst *Hash, keys unsafe.Pointer, fours int, size uintptr) int

// sumAlike is like sumKeys512, but uses 512-bit vectors, and hashes up to 8*eights keys. eights
// must be positive. It stops before a group of eight unless all eight have the same length, from 16
// to directLen bytes.
//
//go:noescape
func sumAlike(dst *Hash, keys unsafe.Pointer, eights int, size uintptr) int

// The functions below hash 8*eights or 16*sixteens integers. eights and sixteens must be positive.

//go:noescape
func sumUint64s(dst *Hash, keys unsafe.Pointer, eights int)

//go:noescape
func sumUint64s512(dst *Hash, keys unsafe.Pointer, eights int)

//go:noescape
func sumUint64sWide(dst *Hash, keys unsafe.Pointer, sixteens int)
