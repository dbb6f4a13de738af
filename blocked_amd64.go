//go:build !purego

package bloom

import "golang.org/x/sys/cpu"

// The assembly gives the same bits as the portable methods add and contains. Its
// filter must not be zero.
var useAVX2 = cpu.X86.HasAVX2

//go:noescape
func blockAdd(b *BlockedFilter, h uint64) bool

//go:noescape
func blockContains(b *BlockedFilter, h uint64) bool

// batchChunk is how many hashes a batch hands to assembly at once: it cannot be
// preempted, and should return within some microseconds.
const batchChunk = 1024

// blocksAdd adds the H1 of count hashes, count > 0, and returns how many changed
// a block.
//
//go:noescape
func blocksAdd(b *BlockedFilter, hs *Hash, count int) int

// blocksContain sets count elements of dst, count > 0.
//
//go:noescape
func blocksContain(b *BlockedFilter, hs *Hash, count int, dst *bool)
