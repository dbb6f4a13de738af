package growing

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// shard is a list of layers. Layers are only ever appended, to a copy of the list: a
// goroutine that has loaded an older list adds to a layer that all later lists have
// too, where look-ups find the key.
type shard struct {
	layers atomic.Pointer[[]*layer] // oldest first; nil in the zero Filter
	mu     sync.Mutex               // held while a layer begins
	next   chan *layer              // yields the next layer; nil until it is being made
}

// layer is one filter of a shard.
type layer struct {
	filter   *blocked.SyncFilter
	capacity uint64 // the keys with which its rate is what it may be
	soon     uint64 // the keys from which on the next layer is being made

	// Where each new key counted, the processors would wait for each other to write
	// the counter. In a large layer only those keys count whose pick has no bits in
	// uncounted, one of weight. There are at least 1<<minCountBits of them in a
	// full layer.
	uncounted uint64
	weight    uint64

	_     [64]byte // keeps what is only read off the counter's cache line
	count atomic.Uint64
	_     [56]byte
}

const (
	// minCountBits makes the standard deviation of a full layer's count less than
	// 0.8 %. As the rate of a layer grows with about the twelfth power of its keys,
	// that raises the mean rate by about (12*11/2) * 0.8 %^2 = 0.4 %.
	minCountBits = 14

	// lead is the part of a layer's keys, its last, that arrive while the next layer is
	// made beside. At 1e9 keys those are ten million, and the layer has 70 MB.
	lead = 32
)

// newLayer returns layer i with m bits or some more.
func newLayer(r *rates, i int, m uint64) *layer {
	s := r.sizing(i)
	f := bloom.Must(blocked.NewSize(m, s.lines))
	f.Reset() // writes to all its pages, for the system to provide them
	return layerOf(r, i, blocked.NewSyncFrom(f))
}

// layerOf returns layer i with a filter that may hold keys.
func layerOf(r *rates, i int, f *blocked.SyncFilter) *layer {
	l := &layer{filter: f}
	if s := r.sizing(i); f.Lines() == s.lines { // else the next new key is its last
		l.capacity = uint64(float64(f.M()) / s.bits)
	}
	l.soon = l.capacity - l.capacity/lead
	skip := max(0, bits.Len64(l.capacity)-minCountBits-1)
	l.weight = 1 << skip
	l.uncounted = (l.weight - 1) << (shardShift - skip)
	l.count.Store(f.ApproxCount())
	return l
}

// grow is called when layer l of s holds n keys, its capacity or almost.
func (s *shard) grow(r *rates, l *layer, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list()
	if list[len(list)-1] != l {
		return // another goroutine was here before
	}
	if s.next == nil {
		next, i, m := make(chan *layer, 1), len(list), nextBits(list)
		go func() { next <- newLayer(r, i, m) }()
		s.next = next
	}
	if n >= l.capacity {
		list = append(list[:len(list):len(list)], <-s.next)
		s.layers.Store(&list)
		s.next = nil
	}
}

// nextBits returns the size of the layer that follows list.
func nextBits(list []*layer) uint64 {
	m := uint64(0)
	for _, l := range list {
		m += l.filter.M()
	}
	return uint64(growth * float64(m))
}

// list returns the layers, oldest first.
func (s *shard) list() []*layer {
	if list := s.layers.Load(); list != nil {
		return *list
	}
	return nil
}

// keys estimates the number of distinct keys that were added. Of those that came to
// layer i, the full layers before it took the part that is their rate for keys that
// they had.
func (s *shard) keys(r *rates) float64 {
	n, unknown := 0.0, 1.0
	for i, l := range s.list() {
		n += float64(l.count.Load()) / unknown
		unknown *= 1 - rate(r.p, i)
	}
	return n
}
