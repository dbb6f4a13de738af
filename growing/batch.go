package growing

import (
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// AddBatch adds hs; see "Batches" in package bloom. Batches of a thousand keys or more are the
// fastest.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if f.zero() && len(hs) > 0 {
		panic(errZeroAdd)
	}
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("growing", added, len(hs))
	if f.isShort(len(hs)) { // speed
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

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("growing", found, len(hs))
	if f.zero() {
		clear(found)
		return
	}
	if f.isShort(len(hs)) { // speed
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
	// Sorting pays off for batches of at least shortBatch digests if layers are large, and of at
	// least shortInCache digests if layers fit in the processor's cache.
	shortBatch, shortInCache = limits.ShortBatch, limits.ShortInCache
	// Layers are assumed to fit in the cache if a shard's newest layer has at most cachedBits bits.
	cachedBits = 1 << 20
)

// isShort reports whether n digests are too few to be worth sorting.
func (s *state) isShort(n int) bool {
	if n < shortBatch || n >= shortInCache {
		return n < shortBatch
	}
	list := s.shards[0].list() // shard sizes differ by at most a factor of about 2
	return list[len(list)-1].bits() <= cachedBits
}

// A batch sorts digests by shard, so that the cache misses of look-ups in a layer overlap.
type batch struct {
	hs     [batchSize]bloom.Hash
	places [batchSize]uint16  // places[i] is the index of hs[i] before sorting
	ends   [shards + 1]uint16 // hs[ends[i]:ends[i+1]] are the digests of shard i
	there  [batchSize]bool    // the results from one layer
	shards [batchSize]uint8   // the shard of each digest, before sorting
}

// batches holds unused batches, because a new one needs 80 KB.
var batches = sync.Pool{New: func() any { return new(batch) }}

// sort is stable. hs must have at most batchSize digests.
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

func (b *batch) shard(i int) ([]bloom.Hash, []uint16) {
	return b.hs[b.ends[i]:b.ends[i+1]], b.places[b.ends[i]:b.ends[i+1]]
}

// absent returns the digests in hs that no layer in list contains, and their indexes before
// sorting. It reuses the memory of hs and places. Most layers lack even the first line of a key, so
// absent looks up first lines, and other lines only if it found the first. If there is only one
// layer, it looks up all lines at once.
func (b *batch) absent(hs []bloom.Hash, places []uint16, list []*layer) ([]bloom.Hash, []uint16) {
	for l := len(list) - 1; l >= 0 && len(hs) > 0; l-- {
		left := 0
		there := b.there[:len(hs)]
		blocks := &list[l].first
		if len(list) == 1 { // speed
			blocks = &list[l].blocks // speed
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

// addShard adds the batch's digests for s. It looks a new key up in the newest layer only once,
// while it adds the key, unless another goroutine holds the lock.
func (b *batch) addShard(s *shard, added []bool) {
	hs, places := b.shard(s.number)
	for {
		list := s.layers.Load()
		last := len(*list) - 1
		older, newest := (*list)[:last], (*list)[last:]
		hs, places = b.absent(hs, places, older)
		if !s.mu.TryLock() {
			// Another goroutine holds the lock. Before waiting, drop the keys that are present.
			hs, places = b.absent(hs, places, newest) // speed
			s.mu.Lock()
		}
		if len(hs) == 0 {
			s.mu.Unlock()
			return
		}
		if s.layers.Load() != list { // the list changed before the lock was taken
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
