package growing

import (
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// shard is a list of layers. Layers are only ever appended, to a copy of the list, and
// new keys go to the newest. Look-ups take no lock.
type shard struct {
	layers atomic.Pointer[[]*layer] // oldest first
	_      [56]byte                 // keeps look-ups off the cache line of the lock
	mu     sync.Mutex               // held while a key or a layer is added
	next   chan *layer              // yields the next layer; nil until it is being made
	_      [48]byte
}

// layer is one filter of a shard.
type layer struct {
	blocks   splitblock.Blocks
	first    splitblock.Blocks // the same blocks, asked for the first line of a key alone
	info     form.Info         // of a decoded layer; a layer of New has none
	capacity uint64            // the most keys with which the layer keeps its rate
	soon     uint64            // the number of keys at which the next layer begins to be made
	_        [64]byte          // keeps look-ups off the cache line of count
	count    uint64            // keys that were new; guarded by the shard's mu
}

// lead says when the next layer begins to be made: when 1/lead of a layer's capacity is left.
const lead = 32

// newLayer returns layer i with m bits, rounded up to blocks.
func newLayer(r *rates, i int, m uint64) *layer {
	blocks := m/splitblock.Bits + min(m%splitblock.Bits, 1)
	b := splitblock.New(min(blocks, splitblock.Max), r.sizing(i).lines)
	bitwords.Clear(b.Words) // has the system provide all pages now, not when keys come
	return layerOf(r, i, b)
}

// layerOf returns layer i of blocks that may hold keys, but does not count them. A decoded layer of
// another number of lines than New's takes one new key at most.
func layerOf(r *rates, i int, b splitblock.Blocks) *layer {
	l := &layer{blocks: b, first: b.First()}
	s := r.sizing(i)
	if b.Lines == s.lines {
		l.capacity = uint64(float64(l.bits()) / s.bits)
	}
	l.soon = l.capacity - l.capacity/lead
	return l
}

// bits returns the size of a layer.
func (l *layer) bits() uint64 { return uint64(len(l.blocks.Words)) * 64 }

// list returns the layers, oldest first.
func (s *shard) list() []*layer { return *s.layers.Load() }

// set makes list the layers.
func (s *shard) set(list ...*layer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.layers.Store(&list)
	s.next = nil
}

// contains reports whether one of list contains h.
func contains(list []*layer, h bloom.Hash) bool {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].blocks.ContainsShared(h) {
			return true
		}
	}
	return false
}

// add adds h to shard i, which is s, and reports whether it was new.
func (s *shard) add(r *rates, i int, h bloom.Hash) bool {
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
	if !newest.blocks.AddAlone(h) { // h was added before the lock was taken
		return false
	}
	s.added(r, i, newest, 1)
	return true
}

// added counts n new keys of the newest layer, and begins the next layer in time. s.mu is
// held. Only a crafted file has maxLayers layers. Such a filter stops growing.
func (s *shard) added(r *rates, i int, newest *layer, n uint64) {
	newest.count += n
	if newest.count < newest.soon {
		return
	}
	list := s.list()
	number := len(list)
	if number == maxLayers {
		return
	}
	if s.next == nil {
		next, m := make(chan *layer, 1), r.next(i, list)
		go func() { next <- newLayer(r, number, m) }()
		s.next = next
	}
	if newest.count >= newest.capacity {
		list = append(list[:number:number], <-s.next)
		s.layers.Store(&list)
		s.next = nil
	}
}

// keys estimates the number of distinct keys that were added. A key comes to layer i only if no
// layer before it took the key for seen. Full layers do that with a probability that is their rate.
// So the count of layer i is divided by the probability that none of them did.
func (s *shard) keys(r *rates) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, unknown := 0.0, 1.0
	for i, l := range s.list() {
		n += float64(l.count) / unknown
		unknown *= 1 - r.rate(i)
	}
	return n
}
