//go:build !amd64 || purego || race || msan || asan

package bloom

const useAVX2 = false

func filterAdd(f *Filter, key []byte) bool                { return f.add(Sum(key)) }
func filterAddHash(f *Filter, h Hash) bool                { return f.add(h) }
func filterContains(f *Filter, key []byte) bool           { return f.contains(Sum(key)) }
func filterContainsHash(f *Filter, h Hash) bool           { return f.contains(h) }
func syncContains(f *SyncFilter, key []byte) bool         { return f.contains(Sum(key)) }
func syncContainsHash(f *SyncFilter, h Hash) bool         { return f.contains(h) }
func blockedAdd(b *BlockedFilter, key []byte) bool        { return b.add(Sum(key).H1) }
func blockedAddHash(b *BlockedFilter, h uint64) bool      { return b.add(h) }
func blockedContains(b *BlockedFilter, key []byte) bool   { return b.contains(Sum(key).H1) }
func blockedContainsHash(b *BlockedFilter, h uint64) bool { return b.contains(h) }

// batchChunk is how many hashes a batch handles at once: few enough for their
// blocks to stay cached between touch and use.
const batchChunk = 64

func blocksAdd(*BlockedFilter, *Hash, int) int        { panic("unreachable") }
func blocksContain(*BlockedFilter, *Hash, int, *bool) { panic("unreachable") }
