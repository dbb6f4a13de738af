//go:build !amd64 || purego

package bloom

const useAVX2 = false

// batchChunk is how many hashes a batch handles at once: few enough for their
// blocks to stay cached between touch and use.
const batchChunk = 64

func blockAdd(*BlockedFilter, uint64) bool            { panic("unreachable") }
func blockContains(*BlockedFilter, uint64) bool       { panic("unreachable") }
func blocksAdd(*BlockedFilter, *Hash, int) int        { panic("unreachable") }
func blocksContain(*BlockedFilter, *Hash, int, *bool) { panic("unreachable") }
