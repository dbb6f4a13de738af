package replica

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

const (
	// history is the largest number of versions that a replica may be behind and get a delta.
	history = 16
	// hashSize is the memory of a bloom.Hash. The hashes kept to make deltas
	// from take no more of it than the filter itself.
	hashSize = 16
)

// Publisher is a filter that serves versions of itself: to a Replica in the
// same process as a Source, and to those elsewhere as an http.Handler for
// [HTTPSource]. Its methods may be called by many goroutines at once. Make it with
// [NewPublisher]: the zero Publisher panics.
//
// As a handler it answers GET and HEAD of any path with the current version, or with what a
// client lacks that has one of the 16 versions before. docs/format.md describes the protocol.
// Slow clients keep no old version in memory: they get the rest of a newer one.
//
// A Publisher that begins anew names its versions anew, so every replica then loads the
// full filter once. To survive a crash, save a Snapshot first, and publish then; see the
// example. In the other order a crash takes back from all replicas what was not saved yet.
//
// Beside its filter, a Publisher keeps a copy of the last version, and digests and packed
// deltas, which take up to the memory of three more copies. A client adds up to 64 KiB while it
// is served.
type Publisher struct {
	publisher
	f *bloom.Filter
}

// CountingPublisher is a Publisher from which keys can be removed. Replicas get a version
// after a removal as a full filter. Make it with [NewCountingPublisher]: the zero
// CountingPublisher panics.
type CountingPublisher struct {
	publisher
	c *counting.Filter
}

type set interface {
	bloom.Set
	Stats() bloom.Stats
}

// publisher is the part that both share.
type publisher struct {
	mu      sync.Mutex // held by whoever changes set
	set     set
	filter  func() *bloom.Filter // of set; not to be written to
	pending []bloom.Hash         // that changed the filter since the last release
	lost    bool                 // pending lacks something that changed
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

// NewPublisher returns a Publisher that begins with a copy of f, and has published it. It
// panics if f is nil or the zero Filter.
func NewPublisher(f *bloom.Filter) *Publisher {
	if f == nil {
		panic("replica: Publisher of a nil Filter")
	}
	p := &Publisher{f: f.Clone()}
	p.init(p.f, func() *bloom.Filter { return p.f }, p.f.Info())
	return p
}

// Snapshot returns a copy of the filter with all keys added so far, published or not.
func (p *Publisher) Snapshot() *bloom.Filter {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.f.Clone()
}

// NewCountingPublisher returns a CountingPublisher that begins with a copy of c, and has
// published its keys. It panics if c is nil or the zero Filter.
func NewCountingPublisher(c *counting.Filter) *CountingPublisher {
	if c == nil {
		panic("replica: Publisher of a nil Filter")
	}
	p := &CountingPublisher{c: c.Clone()}
	p.init(p.c, p.c.Snapshot, p.c.Info())
	return p
}

// Snapshot returns a copy, as a bloom.Filter, of all keys that are there now, published or not.
func (p *CountingPublisher) Snapshot() *bloom.Filter {
	p.made()
	return p.c.Snapshot()
}

// Counting returns a copy of the counting filter as it is now, published or not. Save it before
// Publish, to begin with it after a crash.
func (p *CountingPublisher) Counting() *counting.Filter {
	p.made()
	return p.c.Clone()
}

// Remove removes key, and reports whether the set changed; see [counting.Filter.Remove].
// The next version reaches every replica as one full filter.
func (p *CountingPublisher) Remove(key []byte) bool { return p.RemoveHash(bloom.Sum(key)) }

// RemoveString is Remove of key's bytes, without copying them.
func (p *CountingPublisher) RemoveString(key string) bool { return p.RemoveHash(bloom.SumString(key)) }

// RemoveHash is Remove by digest.
func (p *CountingPublisher) RemoveHash(h bloom.Hash) bool {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.c.RemoveHash(h) {
		return false
	}
	p.lost, p.pending = true, nil
	return true
}

// init makes p ready, and publishes what filter returns.
func (p *publisher) init(set set, filter func() *bloom.Filter, info bloom.Info) {
	if filter().K() == 0 {
		panic("replica: Publisher of a zero Filter")
	}
	p.set, p.filter, p.info = set, filter, info
	p.name = rand.Text()
	p.release()
}

// Stats describes the filter with all keys added so far, published or not, without
// copying it.
func (p *publisher) Stats() bloom.Stats {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.set.Stats()
}

// Add adds key, and reports whether the filter changed; see bloom.Filter.Add.
// Replicas get it once it is published.
func (p *publisher) Add(key []byte) bool { return p.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (p *publisher) AddString(key string) bool { return p.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (p *publisher) AddHash(h bloom.Hash) bool {
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

// AddBatch adds hs in order and sets added[i] to what AddHash of hs[i] returns. It panics if
// added is shorter than hs, unless added is nil: nobody wants to know then. Others may add, and
// a version may be published, between two of hs.
func (p *publisher) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, p.AddBatch)
		return
	}
	added = bitwords.Fill("replica", added, len(hs))
	for i, h := range hs {
		added[i] = p.AddHash(h)
	}
}

// String describes p by its last version, without its keys.
func (p *Publisher) String() string { return p.describe("replica.Publisher") }

// String describes p by its last version, without its keys.
func (p *CountingPublisher) String() string { return p.describe("replica.CountingPublisher") }

func (p *publisher) describe(name string) string {
	if r := p.current.Load(); r != nil {
		return fmt.Sprintf("%s(version %s, %d bytes)", name, r.version, len(r.data))
	}
	return name + "(zero)"
}

// made panics if p is the zero Publisher.
func (p *publisher) made() {
	if p.set == nil {
		panic("replica: use of a zero Publisher: make it with NewPublisher")
	}
}

func (p *publisher) maxHashes() int { return len(p.current.Load().data) / hashSize }

// Publish makes a version of all keys whose Add has returned, without those whose
// Remove has, and returns its name. If nothing has changed, that is the last
// version's. Publish copies the filter. Add and Remove wait for it.
func (p *publisher) Publish() (version string) {
	p.made()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 && !p.lost {
		return p.current.Load().version
	}
	p.past = append(p.past, step{p.current.Load().version, p.pending})
	if p.lost { // a delta cannot be made
		p.past = nil
	}
	p.pending, p.lost = nil, false
	total := 0
	for i := len(p.past) - 1; i >= 0; i-- {
		total += len(p.past[i].added)
		if total > p.maxHashes() || len(p.past)-i > history {
			p.past = slices.Clone(p.past[i+1:])
			break
		}
	}
	p.release()
	return p.current.Load().version
}

func (p *publisher) release() {
	p.seq++
	f := p.filter()
	data := bloom.Must(f.MarshalBinary()) // only the zero Filter has no form
	r := &release{
		version: p.name + "-" + strconv.FormatUint(p.seq, 10),
		data:    data,
		fill:    f.FillRatio(),
		past:    slices.Clone(p.past),
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
	return slices.IndexFunc(r.past, func(s step) bool { return s.version == have })
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
func (p *publisher) Fetch(_ context.Context, have string) (Update, error) {
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
		u.Full.SetInfo(p.info)
	}
	return u, nil
}
