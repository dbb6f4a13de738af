//go:build !purego

package window

import "github.com/seed79a3ff49/bloom"

// prefetch asks for the words of pairs of positions made from x and step, in a block of size
// bits.
//
//go:noescape
func prefetch(words *uint64, x, step, size uint64, pairs int)

// findKeys sets blocks and positions to those of hs, one or more. It asks for the
// memory of the first so many positions of each, at least two.
func findKeys(s *state, hs []bloom.Hash, firsts int, blocks []uint64, positions []uint32) {
	findPositions(&hs[0], len(hs), &s.blocks[0], &s.array[0], s.blockCount, s.words(), firsts, s.k-firsts, &blocks[0], &positions[0])
}

// fetch asks for the memory of positions in a block.
func fetch(words []uint64, positions []uint32) {
	if len(positions) > 0 {
		fetchWords(&words[0], &positions[0], len(positions))
	}
}

//go:noescape
func findPositions(hs *bloom.Hash, count int, states *block, array *uint64, blockCount, words uint64, firsts, others int, blocks *uint64, positions *uint32)

//go:noescape
func fetchWords(words *uint64, positions *uint32, count int)
