//go:build !purego

package bloom

import "golang.org/x/sys/cpu"

// The assembly gives the same bits as the portable methods add and contains.
// words points to the first of n blocks; n is positive. It tells nothing of h or
// hs to the garbage collector, which need not know: nothing is retained.
var useAVX2 = cpu.X86.HasAVX2

//go:noescape
func blockAdd(words *uint64, n int, h uint64) bool

//go:noescape
func blockContains(words *uint64, n int, h uint64) bool

// batchChunk is how many hashes a batch hands to assembly at once: it cannot be
// preempted, and should return within some microseconds.
const batchChunk = 1024

// blocksAdd adds the H1 of count hashes, count > 0, and returns how many changed
// a block.
//
//go:noescape
func blocksAdd(words *uint64, n int, hs *Hash, count int) int

// blocksContain sets count elements of dst, count > 0.
//
//go:noescape
func blocksContain(words *uint64, n int, hs *Hash, count int, dst *bool)
