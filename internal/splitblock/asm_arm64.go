//go:build !purego && !race && !msan && !asan

package splitblock

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom"
)

// Every arm64 processor has the vector instructions that assembly needs. None of these multiplies
// 64-bit lanes, so keys are hashed in Go.
const accelerated = true

// leastBatch returns the length of the shortest batch that assembly processes faster than single
// calls.
func leastBatch(lines int) int { return 4 * lines }

// syncAddBlocks is like addBlocks, but other goroutines may write to b at the same time.
func syncAddBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool) {
	containBlocks(b, hs, count, further, dst)
	answers := unsafe.Slice(dst, count)
	for i, h := range unsafe.Slice(hs, count) {
		answers[i] = !answers[i] && b.addInGo(h, Writers)
	}
}

func (b *Blocks) addAbsent(h bloom.Hash) bool { return b.addInGo(h, Writers) }
