package window

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

const (
	// chunk is how many keys of a batch have their lanes read before the first key is done.
	chunk = 64
	// farLanes is the least number of lanes for which that pays. Such filters do not fit the caches
	// near the processor.
	farLanes = 1 << 19
)

// ahead reads the lanes of a chunk of keys from the i-th on, if a chunk begins there. They are in
// the cache when the keys are done. The processor reads ahead by itself, but not past a lock, and
// fewer lanes at once than the memory can deliver.
func (s *state) ahead(hs []bloom.Hash, i int, lookUp bool) {
	if s == nil || i%chunk != 0 || len(s.array) < farLanes {
		return
	}
	k := s.k
	if lookUp {
		k /= 2 // ContainsHash stops there for most absent keys
	}
	for _, h := range hs[i:min(i+chunk, len(hs))] {
		s.touch(h, k)
	}
}

// touch reads the first k lanes of h, for the cache.
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
