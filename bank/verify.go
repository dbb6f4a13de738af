package bank

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// maxVerified is the largest number of words in a segment for which verify checks the bits.
const maxVerified = 1 << 12

// verify checks that the segments have room for the members and, if the last segment is small, that
// no bit is set after the last member. The caller must hold s.mu.
func (s *state) verify() {
	n, segments := s.current()
	room := 0
	for _, seg := range segments {
		room += min(64*seg.stride, segmentMembers)
		words := seg.grid.words(s.bits())
		invariants.Require(len(seg.words) == words, "bank: a segment of %d words", len(seg.words))
	}
	invariants.Require(n <= room, "bank: %d members, room for %d", n, room)
	invariants.Require(len(s.names) <= n, "bank: %d members, %d names", n, len(s.names))
	last := n / segmentMembers
	if last == len(segments) || len(segments[last].words) > maxVerified {
		return
	}
	seg := &segments[last]
	for r := range s.bits() {
		for i := n % segmentMembers; i < 64*seg.stride; i++ {
			invariants.Require(!seg.get(r, i), "bank: member %d of %d has bit %d", i, n, r)
		}
	}
}

// The caller of verifyMember must hold s.mu.
func (s *state) verifyMember(i int, isSet func(r uint64) bool) {
	seg, j := s.member(i)
	for r := range s.bits() {
		invariants.Require(seg.get(r, j) == isSet(r), "bank: bit %d of member %d", r, i)
	}
	s.verify()
}

// The caller of verifyAdded must hold s.mu.
func (s *state) verifyAdded(seg *segment, j int, h bloom.Hash) {
	invariants.Require(s.contains(seg, j, h), "bank: %v is not found after its addition", h)
}

func (s *state) verifyWider(w, old *segment) {
	for r := range s.bits() {
		for i := range w.stride {
			want := uint64(0)
			if i < old.stride {
				want = old.word(r, i)
			}
			invariants.Require(w.word(r, i) == want, "bank: row %d changes with its segment", r)
		}
	}
	ones := bitwords.OnesCount(old.words)
	invariants.Require(bitwords.OnesCount(w.words) == ones, "bank: bits between rows")
}
