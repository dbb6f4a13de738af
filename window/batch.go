package window

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

const (
	chunk = 64 // the most keys of a batch whose memory is read before the first of them is done
	// farLanes is from how many lanes on that pays: such filters are in no cache near the processor.
	farLanes = 1 << 19
)

// ahead has the lanes of keys read before the first of them is done, so that they are near then. The
// processor reads ahead by itself, but not past a lock, and not as many as the memory can bring.
func (s *state) ahead(hs []bloom.Hash, i int, lookUp bool) {
	if s == nil || i%chunk != 0 || len(s.array) < farLanes {
		return
	}
	k := s.k
	if lookUp {
		k /= 2 // by which most absent keys are known to be absent
	}
	for _, h := range hs[i:min(i+chunk, len(hs))] {
		s.touch(h, k)
	}
}

// touch reads lanes of h.
func (s *state) touch(h bloom.Hash, k int) {
	page, x, step := s.locate(h)
	lanes := s.lanesOf(page)
	for ; k > 0; k -= 2 {
		var a, b uint32
		a, b, x = next(x, step, s.lanes)
		atomic.LoadUint64(&lanes[a])
		atomic.LoadUint64(&lanes[b])
	}
}

// AddBatch adds hs in order and sets added[i] to what AddHash of hs[i] returns. A nil added
// discards the results. AddBatch panics if another added is shorter than hs. It is faster than
// AddHash one by one if the filter is larger than the processor's caches.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("window", added, len(hs))
	for i, h := range hs {
		f.ahead(hs, i, false)
		added[i] = f.AddHash(h)
	}
}

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs. It is faster than ContainsHash one by one where AddBatch is faster than AddHash.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("window", found, len(hs))
	for i, h := range hs {
		f.ahead(hs, i, true)
		found[i] = f.ContainsHash(h)
	}
}
