package window

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// verify checks the live planes that are about to be published. The caller must hold the lock.
func (r *ring) verify(live run) {
	invariants.Require(live.len() <= planes, "window: %d planes live", live.len())
	if live.len() == 0 {
		invariants.Require(!live.isOpen(), "window: no plane is open")
		return
	}
	newest := live.newest()
	full := r.full&columns(newest, 1) != 0
	invariants.Require(!full || !live.isOpen(), "window: full plane %d is open", newest)
	for plane := live.oldest(); plane != newest; plane++ {
		end, following := r.stampOf(plane).Load(), r.stampOf(plane+1).Load()
		invariants.Require(end <= following, "window: plane %d ends after the next one", plane)
	}
}

// verifyAdded checks that a locked page has the key in the plane with the given bit.
func (s *state) verifyAdded(page, x, step, bit uint64, live run) {
	p, lanes := &s.table[page], s.lanesOf(page)
	invariants.Require(p.clean.Load() >= live.newest(), "window: a key is in an unclean plane")
	invariants.Require(p.pending < s.feed, "window: %d keys of page %d wait", p.pending, page)
	for i := s.k; i > 0; i -= 2 {
		var a, b uint32
		a, b, x = twoPositions(x, step, s.lanes)
		there := atomic.LoadUint64(&lanes[a]) & atomic.LoadUint64(&lanes[b]) & bit
		invariants.Require(there != 0, "window: a key is not in its plane")
	}
}

// verifyClear checks that a locked page has no bits in the planes first to first+n-1.
func (s *state) verifyClear(page, first, n uint64) {
	invariants.Require(n <= planes, "window: %d planes are cleared", n)
	for i, lane := range s.lanesOf(page) {
		invariants.Require(lane&columns(first, n) == 0, "window: lane %d has bits of planes to come", i)
	}
}
