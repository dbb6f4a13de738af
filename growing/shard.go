package growing

import (
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// shard is a list of layers. New keys go to the newest layer. A new layer is appended to a copy of
// the list, so look-ups need no lock.
type shard struct {
	layers  atomic.Pointer[[]*layer] // oldest first
	_       [56]byte                 // keeps look-ups off the cache line of the lock
	mu      sync.Mutex               // held while a key or a layer is added
	pending chan *layer              // yields the next layer; nil unless a layer is being made
	rates   *rates                   // of all shards
	number  int                      // the shard's number, from 0
	_       [32]byte
}

// layer is one filter of a shard.
type layer struct {
	blocks   splitblock.Blocks
	first    splitblock.Blocks // the same blocks, for look-ups of only the first line of a key
	info     form.Info         // the Info of a decoded layer; other layers have none
	capacity uint64            // the largest number of keys with which the layer keeps its rate
	soon     uint64            // the number of keys at which the making of the next layer begins
	_        [64]byte          // keeps look-ups off the cache line of count
	count    uint64            // the number of keys that were new; guarded by the shard's mu
}

// newLayer returns layer i with m bits, rounded up to whole blocks.
func newLayer(r *rates, i int, m uint64) *layer {
	blocks := m/splitblock.Bits + min(m%splitblock.Bits, 1)
	b := splitblock.New(min(blocks, splitblock.Max), r.sizing(i).lines)
	bitwords.Clear(b.Words) // makes the system provide all pages now, and not when keys come
	return layerOf(r, i, b)
}

// layerOf returns layer i with the blocks b, and does not count their keys. A decoded layer may
// have a number of lines that New would not choose. Its capacity is then 0, and the next layer
// begins after at most one new key.
func layerOf(r *rates, i int, b splitblock.Blocks) *layer {
	l := &layer{blocks: b, first: b.First()}
	s := r.sizing(i)
	if b.Lines == s.lines {
		l.capacity = uint64(float64(l.bits()) / s.bits)
	}
	l.capacity = min(l.capacity, limits.LayerKeys)
	l.soon = l.capacity - l.capacity/limits.LayerLead
	return l
}

func (l *layer) bits() uint64 { return uint64(len(l.blocks.Words)) * 64 }

func (s *shard) list() []*layer { return *s.layers.Load() }

func (s *shard) set(list ...*layer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layers.Store(&list)
	s.pending = nil
}

func contains(list []*layer, h bloom.Hash) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].blocks.ContainsShared(h) {
			return true
		}
	}
	return false
}

// addHash adds h and reports whether it was new.
func (s *shard) addHash(h bloom.Hash) bool {
	list := s.layers.Load()
	if contains(*list, h) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.layers.Load()
	if now != list && contains(*now, h) { // a layer began before the lock was taken
		return false
	}
	newest := (*now)[len(*now)-1]
	if !newest.blocks.AddBesideReaders(h) { // h was added before the lock was taken
		return false
	}
	s.added(newest, 1)
	return true
}

// added counts n new keys of the newest layer, and begins the next layer in time. The caller has
// locked s.mu. A shard of maxLayers layers, which only a crafted file has, stops growing.
func (s *shard) added(newest *layer, n uint64) {
	newest.count += n
	if newest.count < newest.soon {
		return
	}
	list := s.list()
	number := len(list)
	if number == maxLayers {
		return
	}
	if s.pending == nil {
		pending, m := make(chan *layer, 1), s.rates.following(s.number, list)
		go func() { pending <- newLayer(s.rates, number, m) }()
		s.pending = pending
	}
	if newest.count >= newest.capacity {
		list = append(list[:number:number], <-s.pending)
		s.layers.Store(&list)
		s.pending = nil
	}
}

// keys estimates the number of distinct keys that were added. A new key is added to layer i only if
// no earlier layer reports it as present. A full layer reports it with a probability equal to the
// layer's rate. So keys divides the count of layer i by the probability that no earlier layer
// reports a new key.
func (s *shard) keys() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, unknown := 0.0, 1.0
	for i, l := range s.list() {
		n += float64(l.count) / unknown
		unknown *= 1 - s.rates.rate(i)
	}
	return n
}
