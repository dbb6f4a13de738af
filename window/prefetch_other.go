//go:build !amd64 || purego

package window

import "github.com/seed79a3ff49/bloom"

func (s *state) find(h bloom.Hash, positions []uint32) (page uint64) { return s.locate(h, positions) }

// findKeys sets pages and positions to those of hs. Memory is read when it is needed.
func findKeys(s *state, hs []bloom.Hash, firsts int, pages []uint64, positions []uint32) {
	for i, h := range hs {
		pages[i] = s.locate(h, positions[i*s.k:][:s.k])
	}
}

// fetch does nothing.
func fetch(lanes []uint64, positions []uint32) {}
