package guard

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/limits"
)

// A Guard that learns remembers denials: keys that its filter reports as present although the store
// does not have them. The digest of a key determines its stripe. A denial cannot hide a row:
//
//   - The memory belongs to a load, and is published with the load's filter. So a key that the load
//     found is noted only if a later query did not find it.
//   - An insert removes its keys from the memory when it begins. Until it has ended, no key in the
//     same stripe is noted. If it ends during a query for a key in the same stripe, that key is not
//     noted, because the query may have missed the insert's row.
//   - A key is not noted if its query began within a Lag after the end of the load or of an insert
//     in the same stripe.
//   - A denial identifies a key, not only its digest. Murmur3 can be inverted, so anybody can make
//     a key that has a row's digest. A denial of that key must not hide the row.
type memory struct {
	seed maphash.Seed
	sets [][ways]denial // all sets of stripe 0, then all sets of stripe 1, and so on
}

// denial identifies a key that the store denied. The zero denial is an empty place.
type denial struct {
	digest uint64 // first word of the key's Hash, by which an insert finds the denial
	key    uint64 // a hash of the key's bytes with a secret seed; never 0
}

const (
	stripes = limits.GuardStripes
	// ways is the number of denials in a set. The most recently used one comes first. A set
	// fills a cache line.
	ways = 4
	// maxLearn is the largest Config.Learn. The memory then takes a gibibyte.
	maxLearn = 1 << 26
)

// newMemory returns a memory for at least n denials, or nil if n is 0.
func newMemory(n int) *memory {
	if n == 0 {
		return nil
	}
	perStripe := (n + ways*stripes - 1) / (ways * stripes)
	return &memory{seed: maphash.MakeSeed(), sets: make([][ways]denial, perStripe*stripes)}
}

func (m *memory) denial(h bloom.Hash, key []byte) denial {
	h1, _ := h.Words()
	return denial{digest: h1, key: maphash.Bytes(m.seed, key) | 1}
}

// set returns the set for h. The lock of h's stripe guards it.
func (m *memory) set(h bloom.Hash) *[ways]denial {
	h1, h2 := h.Words()
	perStripe := uint64(len(m.sets)) / stripes
	return &m.sets[h2%stripes*perStripe+h1%perStripe]
}

// recall reports whether m has d, and moves d to the front of its set. h is the digest of d's key.
func (m *memory) recall(h bloom.Hash, d denial) bool {
	set := m.set(h)
	for i := range set {
		if set[i] == d {
			copy(set[1:i+1], set[:i])
			set[0] = d
			return true
		}
	}
	return false
}

// note adds d. If the set is full, d replaces the least recently used denial. h is the digest of
// d's key.
func (m *memory) note(h bloom.Hash, d denial) {
	if !m.recall(h, d) {
		set := m.set(h)
		copy(set[1:], set[:])
		set[0] = d
	}
}

func (m *memory) remove(h bloom.Hash) {
	h1, _ := h.Words()
	set := m.set(h)
	n := 0
	for _, d := range set {
		if d.digest != h1 {
			set[n] = d
			n++
		}
	}
	clear(set[n:])
}

// stripe has the state that inserts and look-ups of the same keys share.
type stripe struct {
	mu        sync.Mutex // guards the next three fields, and the stripe's part of each memory
	inserting int        // number of keys in inserts that have not ended
	ended     uint64     // number of keys in inserts that have ended
	last      time.Time  // when the last insert ended

	misses, learned, queries, hits, denials atomic.Uint64 // see Counts

	_ [40]byte // pads the stripe to two cache lines on 64-bit platforms
}

func (g *Guard) stripe(h bloom.Hash) *stripe {
	_, h2 := h.Words()
	return &g.stripes[h2%stripes]
}

// insertsBegin counts the keys of an insert that begins, and removes them from the memory. It loads
// the memory while it holds the stripe's lock. A memory that is published later does not get these
// keys while the insert runs, because Lookup finds that s.inserting is not 0.
func (g *Guard) insertsBegin(hs []bloom.Hash) {
	if g.cfg.Learn == 0 {
		return
	}
	for _, h := range hs {
		s := g.stripe(h)
		s.mu.Lock()
		s.inserting++
		if gen := g.now.Load(); gen != nil {
			gen.memory.remove(h)
		}
		s.mu.Unlock()
	}
}

func (g *Guard) insertsEnd(hs []bloom.Hash) {
	if g.cfg.Learn == 0 { // speed
		return
	}
	for _, h := range hs {
		s := g.stripe(h)
		s.mu.Lock()
		s.inserting--
		s.ended++
		s.last = time.Now() // under the lock, so that it never decreases
		s.mu.Unlock()
	}
}

// Lookup reports whether the store has key. It calls query and returns its results, except in two
// cases, in which it returns false and nil: the filter reports key as certainly absent, or the
// Guard remembers that the store did not have key; see Config.Learn.
//
// query must report whether the store has key. Its result must not depend on who asks. It must find
// every row that was committed before Lookup was called, so it must not read in an older
// transaction; for exceptions, see Config.Lag. If it returns false and nil, a Guard with a
// Config.Learn may remember key. Two calls of Lookup with the same key may call their queries in
// parallel. Lookup does not recover from a panic in query.
//
// Before the first load has succeeded, Lookup always calls query. It does not retain key.
func (g *Guard) Lookup(key []byte, query func() (found bool, err error)) (found bool, err error) {
	if g.busy == nil {
		return query() // g is zero
	}
	h := bloom.Sum(key)
	s := g.stripe(h)
	gen := g.now.Load()
	switch {
	case gen == nil:
		return s.ask(query)
	case !gen.filter.ContainsHash(h):
		s.misses.Add(1)
		return false, nil
	case gen.memory == nil:
		return s.ask(query)
	}

	d := gen.memory.denial(h, key)
	s.mu.Lock()
	known := gen.memory.recall(h, d)
	ended := s.ended
	s.mu.Unlock()
	if known {
		s.learned.Add(1)
		return false, nil
	}
	var began time.Time
	if g.cfg.Lag > 0 { // without a Lag, began is not used
		began = time.Now()
	}
	found, err = s.ask(query)
	if found || err != nil {
		return found, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	overtaken := s.inserting > 0 || s.ended != ended
	late := g.cfg.Lag > 0 && min(began.Sub(s.last), began.Sub(gen.published)) < g.cfg.Lag
	if !overtaken && !late {
		gen.memory.note(h, d)
	}
	return false, nil
}

// LookupString is like Lookup.
func (g *Guard) LookupString(key string, query func() (found bool, err error)) (bool, error) {
	return g.Lookup(bitwords.BytesOf(key), query)
}

func (s *stripe) ask(query func() (found bool, err error)) (found bool, err error) {
	s.queries.Add(1)
	found, err = query()
	switch {
	case err != nil:
	case found:
		s.hits.Add(1)
	default:
		s.denials.Add(1)
	}
	return found, err
}

// Counts has the number of Lookup calls for each outcome. Misses, Learned and Queries add up to all
// calls; a zero Guard counts none. A query that is in neither Hits nor Denials has failed, or has
// not returned yet.
type Counts struct {
	Misses  uint64 // the filter reported the key as certainly absent
	Learned uint64 // the store had denied the key before
	Queries uint64 // query was called
	Hits    uint64 // query found the key
	Denials uint64 // query did not find the key
}

// Counts returns the counts since New. Package bloomprom makes metrics of them.
func (g *Guard) Counts() Counts {
	var c Counts
	for i := range g.stripes {
		s := &g.stripes[i]
		c.Hits += s.hits.Load() // before Queries, so that there are never more hits than queries
		c.Denials += s.denials.Load()
		c.Queries += s.queries.Load()
		c.Misses += s.misses.Load()
		c.Learned += s.learned.Load()
	}
	return c
}
