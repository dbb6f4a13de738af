package growing

import (
	"slices"

	"github.com/seed79a3ff49/bloom"
)

// AddBatch adds hs and appends to dst for each whether it changed the filter. The filter
// and the result are those of calls of [Filter.AddHash], one for each digest in order. It
// returns the extended slice and allocates only if dst lacks room, or a layer begins.
//
// Many goroutines may add, one by one or in batches, and look keys up at once. A key of
// hs is found by every look-up that begins after AddBatch has returned. One that begins
// before may find it or not.
func (f *Filter) AddBatch(dst []bool, hs []bloom.Hash) []bool {
	if f.zero() && len(hs) > 0 {
		panic(errZeroAdd)
	}
	n := len(dst)
	dst = slices.Grow(dst, len(hs))[:n+len(hs)]
	added := dst[n:]
	clear(added)
	var b batch
	for len(hs) > 0 {
		n := min(len(hs), batchSize)
		b.sort(hs[:n])
		for i := range f.shards {
			s := &f.shards[i]
			list := s.layers.Load()
			group, at := b.absent(i, *list)
			for j, h := range group {
				if s.layers.Load() == list {
					added[at[j]] = f.add(h, s, *list)
				} else { // a layer began, and the one before may have h meanwhile
					added[at[j]] = f.AddHash(h)
				}
			}
		}
		hs, added = hs[n:], added[n:]
	}
	return dst
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it. It allocates
// only if dst lacks room. A digest that another
// goroutine adds meanwhile may be found or not.
func (f *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	n := len(dst)
	dst = slices.Grow(dst, len(hs))[:n+len(hs)]
	found := dst[n:]
	if f.zero() {
		clear(found)
		return dst
	}
	var b batch
	for len(hs) > 0 {
		n := min(len(hs), batchSize)
		b.sort(hs[:n])
		for i := range n {
			found[i] = true
		}
		for i := range f.shards {
			_, at := b.absent(i, *f.shards[i].layers.Load())
			for _, j := range at {
				found[j] = false
			}
		}
		hs, found = hs[n:], found[n:]
	}
	return dst
}

// batchSize is how many digests are sorted at once.
const batchSize = 1024

// batch sorts digests by their shards. Then each layer gets all digests that it is asked
// for at once, and their cache misses overlap.
type batch struct {
	hs    [batchSize]bloom.Hash
	at    [batchSize]uint16  // where hs[i] was
	ends  [shards + 1]uint16 // of each shard's digests in hs
	there [batchSize]bool    // for absent
	shard [batchSize]uint8
}

// sort sorts hs, at most batchSize digests. Those of one shard stay in order.
func (b *batch) sort(hs []bloom.Hash) {
	var next [shards]uint16
	for i, h := range hs {
		b.shard[i] = uint8(pick(h) >> shardShift)
		next[b.shard[i]%shards]++
	}
	sum := uint16(0)
	for i, n := range next {
		next[i] = sum
		sum += n
		b.ends[i+1] = sum
	}
	for i, h := range hs {
		to := &next[b.shard[i]%shards]
		b.hs[*to], b.at[*to] = h, uint16(i)
		*to++
	}
}

// absent returns those digests of shard i that no layer of list contains, and where they
// were.
func (b *batch) absent(i int, list []*layer) ([]bloom.Hash, []uint16) {
	hs, at := b.hs[b.ends[i]:b.ends[i+1]], b.at[b.ends[i]:b.ends[i+1]]
	for l := len(list) - 1; l >= 0 && len(hs) > 0; l-- {
		there := list[l].filter.ContainsBatch(b.there[:0], hs)
		left := 0
		for j, ok := range there {
			hs[left], at[left] = hs[j], at[j]
			if !ok {
				left++
			}
		}
		hs, at = hs[:left], at[:left]
	}
	return hs, at
}
