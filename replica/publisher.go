package replica

import (
	"context"
	"crypto/rand"
	"math/bits"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/takeover"
)

const (
	// history is how many versions behind a replica may be and get a delta.
	history = 16
	// hashSize is the memory of a bloom.Hash. The hashes kept to make deltas
	// from take no more of it than the filter itself.
	hashSize = 16
)

// Publisher is a filter that serves versions of itself: to a Replica in the
// same process as a Source, and to those elsewhere as an http.Handler for the
// source HTTP. Its methods may be called by many goroutines at once.
//
// As a handler it answers GET and HEAD of any path with the last published
// version, as bloom.Filter.SaveFile would write it: Guava's binary form and a
// checksum. The version is the ETag, and a client that has it gets status 304.
// A client that has one of the 16 versions before, names it in If-None-Match
// and says "A-IM: bloom-delta" and "Accept-Encoding: gzip" gets status 226 (RFC
// 3229). The body is then a filter with the same parameters that has at least
// the keys added since. Gzip makes it small.
//
// A slow client does not hold on to the version that it began with. If another
// is published meanwhile, the rest of the answer comes from that one. The client
// gets all keys of the version that the ETag names, and some newer ones.
//
// Beside the filter that it was made of, a Publisher keeps the last version, which is
// a copy. It also keeps digests of what was added lately, to make deltas from. They
// take up to the memory of two more copies. Making a delta for HTTP takes the memory of
// another filter, one delta at a time. What was compressed for a client is kept
// for others until the next version: at most five deltas, and the filter itself while
// less than a fifth of its bits are set. A client adds up to 64 KiB while it is served.
type Publisher struct {
	mu      sync.Mutex
	set     interface{ AddHash(bloom.Hash) bool }
	filter  func() *bloom.Filter  // of set
	remove  func(bloom.Hash) bool // from set; nil if it cannot
	pending []bloom.Hash          // that changed the filter since the last release
	lost    bool                  // pending does not tell all that changed
	seq     uint64
	past    []step // oldest first
	info    bloom.Info
	name    string // of this Publisher: versions of two never collide
	current atomic.Pointer[release]

	packing sync.Mutex // held while a delta is packed
}

// step is a past version and what was added after it until the next.
type step struct {
	version string
	added   []bloom.Hash
}

// release is a published version.
type release struct {
	version string
	data    []byte // Guava's binary form
	fill    float64
	past    []step            // oldest first
	deltas  []func() [][]byte // to each of past

	mu   sync.Mutex // guards full
	full [][]byte   // the pieces of data that were asked for
}

// NewPublisher returns a Publisher that has published f as it is. It takes f over: every
// later use of f panics. It panics if f is nil or the zero Filter.
func NewPublisher(f *bloom.Filter) *Publisher {
	if f == nil {
		panic("replica: Publisher of a nil Filter")
	}
	if f.K() == 0 {
		panic("replica: Publisher of a zero Filter")
	}
	f = takeover.Filter(f, "NewPublisher").(*bloom.Filter)
	return newPublisher(&Publisher{set: f, filter: func() *bloom.Filter { return f }, info: f.Info()})
}

// Counting is a set of keys that tells the Bloom filter of the keys it holds. A
// counting.Filter is one.
type Counting interface {
	// AddHash adds a key. False means that Filter's bits are as before.
	AddHash(bloom.Hash) bool
	// RemoveHash removes a key. False means that nothing has changed.
	RemoveHash(bloom.Hash) bool
	// Filter returns the filter of the keys that the set holds now. Its
	// parameters never change.
	Filter() *bloom.Filter
}

// NewCountingPublisher returns a Publisher that keys can be removed from. It has
// published c.Filter() as it is. Afterwards only the Publisher may change c. It panics
// if c is nil or has the zero Filter.
func NewCountingPublisher(c Counting) *Publisher {
	if c == nil {
		panic("replica: Publisher of a nil Counting")
	}
	return newPublisher(&Publisher{set: c, filter: c.Filter, remove: c.RemoveHash})
}

func newPublisher(p *Publisher) *Publisher {
	if p.filter().K() == 0 {
		panic("replica: Publisher of a zero Filter")
	}
	p.name = rand.Text()
	p.release()
	return p
}

// Add adds key, and reports whether the filter changed; see bloom.Filter.Add.
// Replicas get it once it is published.
func (p *Publisher) Add(key []byte) bool { return p.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (p *Publisher) AddString(key string) bool { return p.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (p *Publisher) AddHash(h bloom.Hash) bool {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.set.AddHash(h) {
		return false
	}
	switch {
	case p.lost:
	case len(p.pending) < p.maxHashes():
		p.pending = append(p.pending, h)
	default:
		p.lost, p.pending = true, nil
	}
	return true
}

// Remove removes key, and reports whether the set changed; see
// counting.Filter.Remove. The next version reaches every replica as one full
// filter. Remove panics unless NewCountingPublisher made p.
func (p *Publisher) Remove(key []byte) bool { return p.RemoveHash(bloom.Sum(key)) }

// RemoveString is Remove of key's bytes, without copying them.
func (p *Publisher) RemoveString(key string) bool { return p.RemoveHash(bloom.SumString(key)) }

// RemoveHash is Remove by digest.
func (p *Publisher) RemoveHash(h bloom.Hash) bool {
	if p.remove == nil {
		panic("replica: Remove from a Publisher that NewCountingPublisher did not make")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.remove(h) {
		return false
	}
	p.lost, p.pending = true, nil
	return true
}

// made panics if p is the zero Publisher.
func (p *Publisher) made() {
	if p.set == nil {
		panic("replica: use of a zero Publisher: make it with NewPublisher")
	}
}

func (p *Publisher) maxHashes() int { return len(p.current.Load().data) / hashSize }

// Publish makes a version of all keys whose Add has returned, without those whose
// Remove has, and returns its name. If nothing has changed, that is the last
// version's. Publish copies the filter. Add and Remove wait meanwhile.
func (p *Publisher) Publish() (version string) {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 && !p.lost {
		return p.current.Load().version
	}
	p.past = append(p.past, step{p.current.Load().version, p.pending})
	if p.lost { // a delta cannot tell
		p.past = nil
	}
	p.pending, p.lost = nil, false
	total := 0
	for i := len(p.past) - 1; i >= 0; i-- {
		total += len(p.past[i].added)
		if total > p.maxHashes() || len(p.past)-i > history {
			p.past = append([]step(nil), p.past[i+1:]...)
			break
		}
	}
	p.release()
	return p.current.Load().version
}

func (p *Publisher) release() {
	p.seq++
	f := p.filter()
	data, err := f.MarshalBinary()
	if err != nil {
		panic(err) // only the zero Filter has no form
	}
	r := &release{
		version: p.name + "-" + strconv.FormatUint(p.seq, 10),
		data:    data,
		fill:    f.FillRatio(),
		past:    append([]step(nil), p.past...),
		full:    make([][]byte, (len(data)+pieceSize-1)/pieceSize),
	}
	for i := range r.past {
		// Who is 3 versions behind gets the delta to 4 versions ago, so that five
		// deltas serve all.
		behind := len(r.past) - i
		from := max(0, len(r.past)-1<<bits.Len(uint(behind-1)))
		if from < i {
			r.deltas = append(r.deltas, r.deltas[from])
			continue
		}
		r.deltas = append(r.deltas, sync.OnceValue(func() [][]byte {
			p.packing.Lock()
			defer p.packing.Unlock()
			return packFilter(r.since(i))
		}))
	}
	p.current.Store(r)
}

// find returns the index in r.past of version have, or -1.
func (r *release) find(have string) int {
	for i, s := range r.past {
		if s.version == have {
			return i
		}
	}
	return -1
}

// since returns a filter of what was added after the version r.past[i].
func (r *release) since(i int) *bloom.Filter {
	f := r.filter()
	f.Reset()
	for _, s := range r.past[i:] {
		f.AddBatch(nil, s.added)
	}
	return f
}

func (r *release) filter() *bloom.Filter {
	f := new(bloom.Filter)
	if err := f.UnmarshalBinary(r.data); err != nil {
		panic(err) // a filter wrote it
	}
	return f
}

// Fetch implements Source. It never fails.
func (p *Publisher) Fetch(_ context.Context, have string) (Update, error) {
	p.made()
	r := p.current.Load()
	u := Update{Version: r.version}
	if have == r.version {
		return u, nil
	}
	if i := r.find(have); i >= 0 {
		u.Delta = r.since(i)
	} else {
		u.Full = r.filter()
	}
	return u, nil
}
