//go:build !amd64 || purego || race || msan || asan

package blocked

import "github.com/seed79a3ff49/bloom"

const useAVX2 = false

func filterAdd(b *Filter, key []byte) bool        { return b.add(bloom.Sum(key).H1) }
func filterAddHash(b *Filter, h uint64) bool      { return b.add(h) }
func filterContains(b *Filter, key []byte) bool   { return b.contains(bloom.Sum(key).H1) }
func filterContainsHash(b *Filter, h uint64) bool { return b.contains(h) }

// batchChunk is how many hashes a batch handles at once: few enough for their
// blocks to stay cached between touch and use.
const batchChunk = 64

func blocksAdd(*Filter, *bloom.Hash, int) int        { panic("unreachable") }
func blocksContain(*Filter, *bloom.Hash, int, *bool) { panic("unreachable") }
