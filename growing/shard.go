package growing

import (
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/friend"
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
	filter   *blocked.SyncFilter
	first    *blocked.SyncFilter // the first line of filter
	capacity uint64              // the keys with which its rate is what it may be
	soon     uint64              // the keys from which on the next layer is being made
	_        [32]byte            // keeps look-ups off the cache line of count
	count    uint64              // of the keys that were new; guarded by the shard's mu
}

var (
	addAlone      = friend.AddAlone.(func(*blocked.SyncFilter, bloom.Hash) bool)
	addBatchAlone = friend.AddBatchAlone.(func(*blocked.SyncFilter, []bool, []bloom.Hash))
	firstLine     = friend.FirstLine.(func(*blocked.SyncFilter) *blocked.SyncFilter)
)

// lead is the part of a layer's keys, its last, that arrive while the next layer is made
// beside.
const lead = 32

// newLayer returns layer i with m bits or some more.
func newLayer(r *rates, i int, m uint64) *layer {
	f := bloom.Must(blocked.NewSize(m, r.sizing(i).lines))
	f.Reset() // writes to all its pages, for the system to provide them
	return layerOf(r, i, blocked.NewSyncFrom(f))
}

// layerOf returns layer i with a filter that may hold keys, but does not count them.
func layerOf(r *rates, i int, f *blocked.SyncFilter) *layer {
	l := &layer{filter: f, first: firstLine(f)}
	if s := r.sizing(i); f.Lines() == s.lines { // else the next new key is its last
		l.capacity = uint64(float64(f.M()) / s.bits)
	}
	l.soon = l.capacity - l.capacity/lead
	return l
}

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
		if list[i].filter.ContainsHash(h) {
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
	if now := s.layers.Load(); now != list { // a layer began meanwhile
		if list = now; contains(*list, h) {
			return false
		}
	}
	newest := (*list)[len(*list)-1]
	if !addAlone(newest.filter, h) { // h came meanwhile
		return false
	}
	s.added(r, i, newest, 1)
	return true
}

// added counts n new keys of the newest layer, and begins the next layer in time. s.mu is
// held.
func (s *shard) added(r *rates, i int, newest *layer, n uint64) {
	if newest.count += n; newest.count < newest.soon {
		return
	}
	list := s.list()
	if s.next == nil {
		next, m := make(chan *layer, 1), r.next(i, list)
		go func() { next <- newLayer(r, len(list), m) }()
		s.next = next
	}
	if newest.count >= newest.capacity {
		list = append(list[:len(list):len(list)], <-s.next)
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
