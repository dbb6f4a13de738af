//go:build !amd64 || purego || race || msan || asan

package blocked

import "github.com/seed79a3ff49/bloom"

const useAVX2 = false

func filterAdd(f *Filter, key []byte) bool              { return f.add(bloom.Sum(key)) }
func filterAddHash(f *Filter, h bloom.Hash) bool        { return f.add(h) }
func filterContains(f *Filter, key []byte) bool         { return f.contains(bloom.Sum(key)) }
func filterContainsHash(f *Filter, h bloom.Hash) bool   { return f.contains(h) }
func syncContains(f *SyncFilter, key []byte) bool       { return f.contains(bloom.Sum(key)) }
func syncContainsHash(f *SyncFilter, h bloom.Hash) bool { return f.contains(h) }

// batchChunk is how many hashes a batch handles at once: few enough for their
// blocks to stay cached between touch and use.
const batchChunk = 64

func blocksAdd(*Filter, *bloom.Hash, int) int        { panic("unreachable") }
func blocksContain(*Filter, *bloom.Hash, int, *bool) { panic("unreachable") }
