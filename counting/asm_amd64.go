//go:build !purego && !race && !msan && !asan

package counting

import "golang.org/x/sys/cpu"

var useAVX2 = cpu.X86.HasAVX2

// bitsAtOnce is the largest number of words that one call of fourToBits sets. The scheduler cannot
// interrupt the call, which takes tens of microseconds if the system must first provide the pages.
const bitsAtOnce = 4 << 10

// manyToBits is like counters.toBits, but sets only dst[:n]. n is a multiple of 4.
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

// chunkToBits is not inlined: the scheduler can interrupt Go code when it calls a Go function, but
// hardly ever in a loop that calls only assembly.
//
//go:noinline
func chunkToBits(dst, counters []uint64) int {
	fourToBits(&dst[0], &counters[0], len(dst)/4)
	return len(dst)
}

// fourToBits sets the first 4*times words of dst to the bits of the first 16*times words of
// counters. times must be at least 1.
//
//go:noescape
func fourToBits(dst, counters *uint64, times int)
