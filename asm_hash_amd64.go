//go:build !purego && !msan && !asan

package bloom

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

// useAVX2 reports a processor with AVX2 and BMI2.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// chunk is how many keys assembly is given at once. It cannot be stopped, for the
// garbage collector or for another goroutine, before it returns. Go checks as a function
// begins whether it should stop, unless it needs little of the stack and calls no other.
// So the functions that call such assembly for a chunk are not inlined.
const chunk = 64

// useAVX512 reports the parts of AVX-512 that hashing several keys at once needs: lanes
// of 64 bits that are multiplied and rotated, and loads of some bytes of a vector.
var useAVX512 = useAVX2 &&
	cpu.X86.HasAVX512F &&
	cpu.X86.HasAVX512DQ &&
	cpu.X86.HasAVX512VL &&
	cpu.X86.HasAVX512BW

// useWide reports a processor that hashes faster in vectors of 512 bits than of 256: Intel's from
// Ice Lake on, and AMD's from Zen 4 on. VBMI2 came with them. Intel's before them lower their clock
// for long vectors.
var useWide = useAVX512 && cpu.X86.HasAVX512VBMI2

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
	if key := (*string)(keys); len(*key) > directLen { // a slice begins like a string
		*dst = SumString(*key)
		return 1
	}
	if useWide && count >= 8 {
		if n := sumAlike(dst, keys, count/8, size); n > 0 {
			return n
		}
	}
	if useAVX512 && count >= 4 {
		if n := sumKeys512(dst, keys, count/4, size); n > 0 {
			return n
		}
		count = 4 // sumKeys512 stopped: one of the next four keys is longer than directLen
	}
	return sumKeys(dst, keys, count, size)
}

// tell tells the race detector what sumChunk reads and writes.
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

// sumKeys hashes count strings or slices, count > 0, with headers of size bytes. It returns
// how many it did: it stops at a key longer than directLen.
//
//go:noescape
func sumKeys(dst *Hash, keys unsafe.Pointer, count int, size uintptr) int

// sumKeys512 is sumKeys of fours times four keys, fours > 0, with AVX-512.
//
//go:noescape
func sumKeys512(dst *Hash, keys unsafe.Pointer, fours int, size uintptr) int

// sumAlike is sumKeys512 of eights times eight keys, eights > 0, in vectors of 512 bits. It stops
// at eight keys that are not of one length, of 16 bytes at least.
//
//go:noescape
func sumAlike(dst *Hash, keys unsafe.Pointer, eights int, size uintptr) int

// sumUint64s hashes eights times eight integers, eights > 0.
//
//go:noescape
func sumUint64s(dst *Hash, keys unsafe.Pointer, eights int)

// sumUint64s512 is sumUint64s with AVX-512.
//
//go:noescape
func sumUint64s512(dst *Hash, keys unsafe.Pointer, eights int)

// sumUint64sWide hashes sixteens times sixteen integers, sixteens > 0, in vectors of 512 bits.
//
//go:noescape
func sumUint64sWide(dst *Hash, keys unsafe.Pointer, sixteens int)
