//go:build !purego && !race && !msan && !asan

package counting

import "golang.org/x/sys/cpu"

var useAVX2 = cpu.X86.HasAVX2

// bitsAtOnce is how many words of bits are made without interruption. That takes some tens of
// microseconds if the system has yet to provide their pages.
const bitsAtOnce = 4 << 10

// manyToBits sets the first words of dst, a multiple of four, to the bits of their counters, and
// returns how many it set. The caller does the others.
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

// fourToBits makes four words of bits of sixteen words of counters. It does so the given number of
// times, which is at least one.
//
//go:noescape
func fourToBits(dst, counters *uint64, times int)
