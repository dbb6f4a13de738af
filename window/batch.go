package window

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

const (
	// chunk is the number of keys for which lanes are read ahead at a time.
	chunk = 64
	// shortBatch is the smallest number of keys for which reading ahead pays off.
	shortBatch = 2
	// farLanes is the smallest number of lanes for which reading ahead pays off. That many lanes
	// usually do not fit in a core's own caches.
	farLanes = 1 << 19
)

// If i is a multiple of chunk and reading ahead pays off, ahead reads lanes of the keys in
// hs[i:i+chunk] into the cache. The processor also reads ahead, but not past a lock, and not as
// many lanes in parallel as memory can deliver.
func (s *state) ahead(hs []bloom.Hash, i int, lookUp bool) {
	if i%chunk != 0 || len(s.array) < farLanes { // speed
		return
	}
	hs = hs[i:min(i+chunk, len(hs))] // speed
	if len(hs) < shortBatch {        // speed
		return
	}
	k := s.k
	// For most absent keys, contains stops after half of the lanes.
	if lookUp && k > 12 { // speed
		k /= 2 // speed
	}
	for _, h := range hs {
		s.touch(h, k) // speed
	}
}

// touch reads the first k lanes of h, or k+1 if k is odd, into the cache.
func (s *state) touch(h bloom.Hash, k int) {
	page, x, step := s.locate(h)
	lanes := s.lanesOf(page)
	for ; k > 0; k -= 2 {
		var a, b uint32
		a, b, x = twoPositions(x, step, s.lanes) // speed
		atomic.LoadUint64(&lanes[a])             // speed
		atomic.LoadUint64(&lanes[b])             // speed
	}
}

// AddBatch adds hs; see "Batches" in package bloom. Each key counts as added at a time during the
// call, usually when it begins.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	asked := added != nil
	if asked {
		added = bitwords.Fill("window", added, len(hs))
	}
	if len(hs) == 0 {
		return
	}
	if f.zero() {
		panic(errZero)
	}
	now := f.time(false)
	for i, h := range hs {
		f.ahead(hs, i, false) // speed
		isNew := f.addAt(h, now)
		if asked {
			added[i] = isNew
		}
	}
}

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("window", found, len(hs))
	if len(hs) == 0 {
		return
	}
	if f.zero() {
		clear(found)
		return
	}
	f.time(true)
	for i, h := range hs {
		f.ahead(hs, i, true) // speed
		found[i] = f.contains(h)
	}
}
