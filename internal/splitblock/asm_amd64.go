//go:build !purego && !race && !msan && !asan

package splitblock

//lint:file-ignore U1000 Assembly jumps to the portable forms.

import (
	"golang.org/x/sys/cpu"

	"github.com/seed79a3ff49/bloom"
)

var accelerated = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// directLen is the length in bytes of the longest key that assembly hashes.
const directLen = 128

// AddKey is like Add, but takes a key and hashes it.
func (b *Blocks) AddKey(key []byte) bool { return addKey(b, key) }

// AddKeyShared is like AddShared, but takes a key and hashes it.
func (b *Blocks) AddKeyShared(key []byte) bool {
	h, found := findKey(b, key)
	return !found && b.addAbsent(h)
}

// addAbsent is like AddShared, for a key that was absent just before.
func (b *Blocks) addAbsent(h bloom.Hash) bool {
	if b.fast == 0 {
		return b.addInGo(h, Writers)
	}
	var added bool
	syncAddBlocks(b, &h, 1, 0, &added)
	return added
}

// ContainsKey is like Contains, but takes a key and hashes it.
func (b *Blocks) ContainsKey(key []byte) bool { return containsKey(b, key) }

// ContainsKeyShared is like ContainsShared, but takes a key and hashes it.
func (b *Blocks) ContainsKeyShared(key []byte) bool { return containsKey(b, key) }

//go:noescape
func addKey(b *Blocks, key []byte) bool

//go:noescape
func containsKey(b *Blocks, key []byte) bool

//go:noescape
func findKey(b *Blocks, key []byte) (h bloom.Hash, found bool)

func addKeyPortable(b *Blocks, key []byte) bool      { return addHash(b, bloom.Sum(key)) }
func containsKeyPortable(b *Blocks, key []byte) bool { return containsHash(b, bloom.Sum(key)) }

func findKeyPortable(b *Blocks, key []byte) (h bloom.Hash, found bool) {
	h = bloom.Sum(key)
	return h, containsHash(b, h)
}

// leastBatch returns the length of the shortest batch that assembly processes faster than single
// calls.
func leastBatch(lines int) int { return min(lines, 2) + 1 }

// syncAddBlocks is like addBlocks, but other goroutines may write to b at the same time.
//
//go:noescape
func syncAddBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
