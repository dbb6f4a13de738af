package growing

import (
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// AddBatch adds hs; see "Batches" in package bloom. A batch is as fast as single calls or faster,
// and fastest from a thousand keys on.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if f.zero() && len(hs) > 0 {
		panic(errZeroAdd)
	}
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("growing", added, len(hs))
	if f.isShort(len(hs)) {
		for i, h := range hs {
			added[i] = f.AddHash(h)
		}
		return
	}
	clear(added)
	b := batches.Get().(*batch)
	defer batches.Put(b)
	for len(hs) > 0 {
		n := min(len(hs), batchSize)
		b.sort(hs[:n])
		for i := range f.shards {
			b.addShard(&f.shards[i], added)
		}
		hs, added = hs[n:], added[n:]
	}
}

// ContainsBatch looks hs up; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("growing", found, len(hs))
	if f.zero() {
		clear(found)
		return
	}
	if f.isShort(len(hs)) {
		for i, h := range hs {
			found[i] = f.ContainsHash(h)
		}
		return
	}
	b := batches.Get().(*batch)
	defer batches.Put(b)
	for len(hs) > 0 {
		n := min(len(hs), batchSize)
		b.sort(hs[:n])
		for i := range n {
			found[i] = true
		}
		for i := range f.shards {
			hs, places := b.shard(i)
			_, places = b.absent(hs, places, f.shards[i].list())
			for _, j := range places {
				found[j] = false
			}
		}
		hs, found = hs[n:], found[n:]
	}
}

const (
	// batchSize is the largest number of digests that are sorted together.
	batchSize = 4096
	// shortBatch is the smallest length of a batch for which sorting pays if layers are large, and
	// shortInCache if they fit into the processor's cache.
	shortBatch, shortInCache = limits.ShortBatch, limits.ShortInCache
	// cachedBits is the number of bits of a shard's newest layer up to which layers fit there.
	cachedBits = 1 << 20
)

// isShort reports whether n single calls are faster than sorting n digests.
func (s *state) isShort(n int) bool {
	if n < shortBatch || n >= shortInCache {
		return n < shortBatch
	}
	list := s.shards[0].list() // all shards are about as large
	return list[len(list)-1].bits() <= cachedBits
}

// batch sorts digests by their shards. Each layer then looks up all its digests together, so that
// their cache misses overlap.
type batch struct {
	hs     [batchSize]bloom.Hash
	places [batchSize]uint16  // places[i] is the place of hs[i] before sorting
	ends   [shards + 1]uint16 // the digests of shard i are hs[ends[i]:ends[i+1]]
	there  [batchSize]bool    // the answers of one layer
	shards [batchSize]uint8   // the shard of each digest, before sorting
}

// batches has batches for reuse: a batch is too large for a goroutine's stack.
var batches = sync.Pool{New: func() any { return new(batch) }}

// sort sorts at most batchSize digests, stably.
func (b *batch) sort(hs []bloom.Hash) {
	var starts [shards]uint16
	for i, h := range hs {
		b.shards[i] = uint8(pick(h) >> shardShift)
		starts[b.shards[i]%shards]++
	}
	sum := uint16(0)
	for i, n := range starts {
		starts[i] = sum
		sum += n
		b.ends[i+1] = sum
	}
	for i, h := range hs {
		start := &starts[b.shards[i]%shards]
		b.hs[*start] = h
		b.places[*start] = uint16(i)
		*start++
	}
}

// shard returns the digests of shard i, and their places before sorting.
func (b *batch) shard(i int) ([]bloom.Hash, []uint16) {
	return b.hs[b.ends[i]:b.ends[i+1]], b.places[b.ends[i]:b.ends[i+1]]
}

// absent returns the digests of hs that no layer of list contains, and their places before sorting.
// Most layers lack a given key, and most of them lack even its first line. Therefore absent looks
// up the first lines of all keys in a layer, and the other lines only of keys whose first line is
// there. In a single layer it looks up all lines together.
func (b *batch) absent(hs []bloom.Hash, places []uint16, list []*layer) ([]bloom.Hash, []uint16) {
	for l := len(list) - 1; l >= 0 && len(hs) > 0; l-- {
		left := 0
		there := b.there[:len(hs)]
		blocks := &list[l].first
		if len(list) == 1 {
			blocks = &list[l].blocks
		}
		blocks.ContainsBatch(splitblock.Writers, there, hs)
		for j, ok := range there {
			if ok && blocks.Lines < list[l].blocks.Lines {
				ok = list[l].blocks.ContainsShared(hs[j])
			}
			hs[left] = hs[j]
			places[left] = places[j]
			if !ok {
				left++
			}
		}
		hs, places = hs[:left], places[:left]
	}
	return hs, places
}

// addShard adds the batch's digests that belong to s. If no other goroutine adds to s, a new key is
// located in the newest layer only once.
func (b *batch) addShard(s *shard, added []bool) {
	hs, places := b.shard(s.number)
	for {
		list := s.layers.Load()
		last := len(*list) - 1
		older, newest := (*list)[:last], (*list)[last:]
		hs, places = b.absent(hs, places, older)
		if !s.mu.TryLock() {
			// Another goroutine is adding. Before waiting, leave out the keys that are there
			// already.
			hs, places = b.absent(hs, places, newest)
			s.mu.Lock()
		}
		if len(hs) == 0 {
			s.mu.Unlock()
			return
		}
		if s.layers.Load() != list { // a layer began before the lock was taken
			s.mu.Unlock()
			continue
		}
		l := newest[0]
		n := 0
		room := min(uint64(len(hs)), max(l.capacity, l.count+1)-l.count)
		isNew := b.there[:room]
		l.blocks.AddBatch(splitblock.Readers, isNew, hs[:room])
		for j, isNew := range isNew {
			added[places[j]] = isNew
			if isNew {
				n++
			}
		}
		s.added(l, uint64(n))
		s.mu.Unlock()
		hs, places = hs[room:], places[room:]
	}
}
