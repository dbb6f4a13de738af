//go:build !purego

package window

import "github.com/seed79a3ff49/bloom"

// find is locate. In a large filter, it asks for the memory of the positions.
func (s *state) find(h bloom.Hash, positions []uint32) (page uint64) {
	if !s.far() {
		return s.locate(h, positions)
	}
	findPositions(&h, 1, &s.parts[0], &s.array[0], s.pages, s.lanes, s.k, 0, &page, &positions[0])
	return page
}

// findKeys sets pages and positions to those of hs, one or more. It asks for the
// memory of the first so many positions of each, at least two.
func findKeys(s *state, hs []bloom.Hash, firsts int, pages []uint64, positions []uint32) {
	findPositions(&hs[0], len(hs), &s.parts[0], &s.array[0], s.pages, s.lanes, firsts, s.k-firsts, &pages[0], &positions[0])
}

// fetch asks for the memory of positions in a page.
func fetch(lanes []uint64, positions []uint32) {
	if len(positions) > 0 {
		fetchLanes(&lanes[0], &positions[0], len(positions))
	}
}

//go:noescape
func findPositions(hs *bloom.Hash, count int, parts *page, array *uint64, pageCount, lanes uint64, firsts, others int, pages *uint64, positions *uint32)

//go:noescape
func fetchLanes(lanes *uint64, positions *uint32, count int)
