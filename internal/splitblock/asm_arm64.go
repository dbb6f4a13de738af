//go:build !purego && !race && !msan && !asan

package splitblock

import (
	"unsafe"

	"github.com/seed79a3ff49/bloom"
)

// Every arm64 processor has the vectors that assembly needs. They have no product of 64-bit
// lanes, so hashing is Go.
const accelerated = true

// AddKey is Add of a key's digest.
func (b *Blocks) AddKey(key []byte) bool { return b.Add(bloom.Sum(key)) }

// AddKeyShared is AddShared of a key's digest.
func (b *Blocks) AddKeyShared(key []byte) bool { return b.AddShared(bloom.Sum(key)) }

// ContainsKey is Contains of a key's digest.
func (b *Blocks) ContainsKey(key []byte) bool { return b.Contains(bloom.Sum(key)) }

// ContainsKeyShared is ContainsShared of a key's digest.
func (b *Blocks) ContainsKeyShared(key []byte) bool { return b.ContainsShared(bloom.Sum(key)) }

// syncAddBlocks is addBlocks while others write.
func syncAddBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool) {
	containBlocks(b, hs, count, further, dst)
	answers := unsafe.Slice(dst, count)
	for i, h := range unsafe.Slice(hs, count) {
		answers[i] = !answers[i] && b.add(h, shared)
	}
}
