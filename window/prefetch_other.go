//go:build !amd64 || purego

package window

import "github.com/seed79a3ff49/bloom"

// findKeys sets blocks and positions to those of hs. Memory is read when it is needed.
func findKeys(s *state, hs []bloom.Hash, firsts int, blocks []uint64, positions []uint32) {
	width := s.words() * 64
	for i, h := range hs {
		block, x, step := s.find(h)
		blocks[i] = block
		for j := 0; j < s.k; j += 2 {
			var p, q uint64
			p, q, x, step = next(x, step, width)
			positions[0], positions[1] = uint32(p), uint32(q)
			positions = positions[2:]
		}
	}
}

// The others do nothing.

func prefetch(words *uint64, x, step, size uint64, pairs int) {}
func fetch(words []uint64, positions []uint32)                {}
