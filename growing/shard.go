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
	mu     sync.Mutex               // held by whoever adds a key or a layer
	next   chan *layer              // yields the next layer; nil until it is being made
	_      [48]byte
}

// layer is one filter of a shard.
type layer struct {
	blocks   splitblock.Blocks
	first    splitblock.Blocks // their first lines
	info     form.Info         // of a decoded layer; New's have none
	capacity uint64            // the most keys with which it keeps its rate
	soon     uint64            // the keys from which on the next layer is being made
	_        [64]byte          // keeps look-ups off the cache line of count
	count    uint64            // of the keys that were new; guarded by the shard's mu
}

// lead is the part of a layer's keys, its last, that arrive while the next layer is made
// beside.
const lead = 32

// newLayer returns layer i with m bits or some more.
func newLayer(r *rates, i int, m uint64) *layer {
	b := splitblock.New(min(m/splitblock.Bits+min(m%splitblock.Bits, 1), splitblock.Max), r.sizing(i).lines)
	bitwords.Clear(b.Words) // writes to all their pages, for the system to provide them
	return layerOf(r, i, b)
}

// layerOf returns layer i of blocks that may hold keys, but does not count them.
func layerOf(r *rates, i int, b splitblock.Blocks) *layer {
	l := &layer{blocks: b, first: b.First()}
	if s := r.sizing(i); b.Lines == s.lines { // of other lines the next new key is the last
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
	if now := s.layers.Load(); now != list { // a layer began since
		if list = now; contains(*list, h) {
			return false
		}
	}
	newest := (*list)[len(*list)-1]
	if !newest.blocks.AddAlone(h) { // h came since
		return false
	}
	s.added(r, i, newest, 1)
	return true
}

// added counts n new keys of the newest layer, and begins the next layer in time. s.mu is
// held. Only a decoded filter that no keys led to can have maxLayers. It goes on with these.
func (s *shard) added(r *rates, i int, newest *layer, n uint64) {
	if newest.count += n; newest.count < newest.soon {
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

// keys estimates the number of distinct keys that were added. Of those that came to
// layer i, the full layers before it took the part that is their rate for keys that
// they had.
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
