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

// shard is a list of layers. New keys are added to the newest layer. Appending a layer copies the
// list, so look-ups need no lock.
type shard struct {
	layers  atomic.Pointer[[]*layer] // oldest first
	_       [56]byte                 // separates the lock from what look-ups read
	mu      sync.Mutex               // held while a key or a layer is added
	pending chan *layer              // yields the next layer; nil until one is needed
	rates   *rates                   // shared by all shards
	number  int                      // index of the shard
	_       [32]byte
}

type layer struct {
	blocks   splitblock.Blocks
	first    splitblock.Blocks // blocks.First()
	info     form.Info         // Info of a decoded layer; zero in other layers
	capacity uint64            // largest number of keys at which the layer keeps its rate
	soon     uint64            // number of keys at which a goroutine begins to make the next layer
	_        [64]byte          // keeps count off the cache line that look-ups read
	count    uint64            // number of new keys, or an estimate; guarded by the shard's mu
}

func newLayer(r *rates, i int, m uint64) *layer {
	blocks := m/splitblock.Bits + min(m%splitblock.Bits, 1)
	b := splitblock.New(min(blocks, splitblock.Max), r.sizing(i).lines)
	// Clear makes the system provide all pages now, not when keys are added.
	bitwords.Clear(b.Words) // speed
	return layerOf(r, i, b)
}

// layerOf returns layer i without its count. A decoded layer may have a number of lines that New
// would not choose. Its capacity is then 0, so the next layer begins after at most one new key.
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

func (s *shard) addHash(h bloom.Hash) bool {
	list := s.layers.Load()
	if contains(*list, h) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.layers.Load()
	if now != list && contains(*now, h) { // the list changed before the lock was taken
		return false
	}
	newest := (*now)[len(*now)-1]
	if !newest.blocks.AddBesideReaders(h) { // h's bits were set before the lock was taken
		return false
	}
	s.added(newest, 1)
	return true
}

// added counts n new keys, and appends a layer when newest is full. The caller must hold s.mu.
func (s *shard) added(newest *layer, n uint64) {
	newest.count += n
	if newest.count < newest.soon {
		return
	}
	list := s.list()
	number := len(list)
	if number == maxLayers { // only in a crafted file
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

// keys estimates the number of distinct keys that were added. A full layer reports a new key as
// present with a probability equal to its rate, and such a key is not counted. To correct for that,
// the count of each layer is divided by the probability that no earlier layer reports a new key.
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
