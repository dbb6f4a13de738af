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

// A Guard that learns remembers denials: keys that its filter reports as present and its store does
// not have. A denial cannot hide a row:
//
//   - The memory belongs to a load, and is published with its filter. A row that a load found
//     is in no memory of that load, unless a query after the load did not find it.
//   - An insert removes its keys when it begins. Until it has ended, no key of its stripe is
//     noted. A query that an insert of its stripe overtook is not noted either: it may have
//     missed the insert's row.
//   - A query that began within a Lag of the end of the load, or of an insert of its stripe, is
//     not noted.
//   - A denial is a key and not a digest. Murmur3 can be inverted, so anybody can make a key with a
//     row's digest. Its denial must not be taken for a denial of the row.
type memory struct {
	seed maphash.Seed
	sets [][ways]denial // the sets of stripe 0, then those of stripe 1, and so on
}

// denial is a key that the store denied. The zero denial stands for none.
type denial struct {
	digest uint64 // H1 of the key, by which an insert finds the denial
	key    uint64 // a hash of the key's bytes with a secret seed; never 0
}

const (
	stripes = limits.GuardStripes
	// ways is the number of denials in a set, the last used first. A set is a cache line.
	ways = 4
	// maxLearn is the largest Config.Learn. Such a memory takes a gibibyte.
	maxLearn = 1 << 26
)

// newMemory returns a memory for n denials or somewhat more, and nil for none.
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

// set returns the set of h. It is in the part of h's stripe, whose lock guards it.
func (m *memory) set(h bloom.Hash) *[ways]denial {
	h1, h2 := h.Words()
	perStripe := uint64(len(m.sets)) / stripes
	return &m.sets[h2%stripes*perStripe+h1%perStripe]
}

// recall reports whether m has d, whose digest is h, and makes it the first of its set.
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

// note adds d, whose digest is h, in place of its set's least recently used denial.
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

// stripe has what inserts and look-ups of some keys share.
type stripe struct {
	mu        sync.Mutex // guards the next three fields, and the stripe's part of each memory
	inserting int        // the number of inserts that have begun and not ended
	ended     uint64     // the number of inserts that have ended
	last      time.Time  // when the last of them ended

	misses, learned, queries, hits, denials atomic.Uint64 // see Counts

	_ [40]byte // fills two cache lines
}

func (g *Guard) stripe(h bloom.Hash) *stripe {
	_, h2 := h.Words()
	return &g.stripes[h2%stripes]
}

// insertsBegin notes that an insert of hs begins, and removes its keys from the memory. The memory
// is loaded while the stripe is locked: one that is published later has none of these keys, because
// the stripe has an insert under way by then.
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
	if g.cfg.Learn == 0 {
		return
	}
	for _, h := range hs {
		s := g.stripe(h)
		s.mu.Lock()
		s.inserting--
		s.ended++
		s.last = time.Now() // under the lock, so that it never goes back
		s.mu.Unlock()
	}
}

// Lookup reports whether the store has key. It calls query, and returns its results, unless the
// filter says "certainly not", or the store has denied the key since the last load and no insert of
// the key has begun since. In these two cases it returns false without an error.
//
// query reports whether the store has key, whoever asks. It must find every row that was committed
// before Lookup was called, so it must not read in an older transaction; Config.Lag has the
// exception. If it returns false and no error, a Guard with a Config.Learn remembers the key. Two
// Lookups of one key may call their queries in parallel. A panic in query passes through.
//
// Before the first load has ended, Lookup always calls query. It does not retain key.
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

// Counts counts the calls of Lookup by their outcome. Their number is the sum of Misses, Learned
// and Queries. A query in neither Hits nor Denials has failed, or has not returned yet.
type Counts struct {
	Misses  uint64 // answered by the filter: the key is certainly not there
	Learned uint64 // answered by the memory: the store has denied the key before
	Queries uint64 // asked of the store
	Hits    uint64 // queries that found the key
	Denials uint64 // queries that did not
}

// Counts returns the numbers of Lookups since New. Package bloomprom makes metrics of them.
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
