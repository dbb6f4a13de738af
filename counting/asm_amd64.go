//go:build !purego && !race && !msan && !asan

package counting

import "golang.org/x/sys/cpu"

var useAVX2 = cpu.X86.HasAVX2

// bitsAtOnce is how many words of bits are made without interruption, in some 30
// microseconds if their pages are fresh.
const bitsAtOnce = 4 << 10

// manyToBits sets as many words of dst as it likes to, from the first on, to the bits of
// their counters, and returns how many.
func manyToBits(dst, counters []uint64) (n int) {
	if !useAVX2 {
		return 0
	}
	all := len(dst) &^ 3
	for n < all {
		n += chunkToBits(dst[n:min(all, n+bitsAtOnce)], counters[n*perBits:])
	}
	return n
}

// A call of a Go function that is not inlined can be interrupted. A loop with nothing but
// assembly in it cannot.
//
//go:noinline
func chunkToBits(dst, counters []uint64) int {
	fourToBits(&dst[0], &counters[0], len(dst)/4)
	return len(dst)
}

// fourToBits makes four words of bits of sixteen words of counters, so many times, and
// at least once.
//
//go:noescape
func fourToBits(dst, counters *uint64, times int)
