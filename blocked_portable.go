//go:build !amd64 || purego

package bloom

const useAVX2 = false

// batchChunk is how many hashes a batch handles at once: few enough for their
// blocks to stay cached between touch and use.
const batchChunk = 64

func blockAdd(*uint64, int, uint64) bool            { panic("unreachable") }
func blockContains(*uint64, int, uint64) bool       { panic("unreachable") }
func blocksAdd(*uint64, int, *Hash, int) int        { panic("unreachable") }
func blocksContain(*uint64, int, *Hash, int, *bool) { panic("unreachable") }
