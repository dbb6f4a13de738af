package counting

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/invariants"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// maxWords is the largest number of words in the result of [Filter.Bloom]. Each of these words
// needs perBits words of counters.
const maxWords = min(form.MaxWords, form.MaxFrameWords/perBits)

// Filter is a Bloom filter from which keys can be removed. It counts: a key that was added twice
// remains until it is removed twice.
//
// A Filter has a 4-bit counter for each bit of the filter that [bloom.New] would return. A counter
// that reaches 15 is full. It may stand for more than 15 keys, so only [Filter.Reset] changes it:
// this causes a few false positives, but no key is lost. With n keys and p up to 1/2, a counter is
// full with a probability of less than 1e-13; with p = 0.99 and a large n, nearly all counters are
// full. Adding a key 15 times, or many times n keys, also fills counters.
//
// Any number of goroutines may use a Filter; see "Goroutines" in package bloom. Look-ups and Stats
// do not wait for other calls. Adding and removing take one of several locks. Methods that copy,
// encode, compare or reset the filter take all of them, so a copy contains either all of a key or
// none of it.
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. A Filter must not
// be copied; see [Filter.Clone].
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter has the data of a Filter. String and the encoding methods have value receivers, so that
// fmt, json and gob also find them in a Filter value. They copy the filter, so it must be small.
type filter struct {
	*state // nil in the zero Filter
	info   form.Kept
}

type state struct {
	counters counters
	k        int
	stripes  [stripes]stripe
}

// A stripe is locked while one of its keys is added or removed. Otherwise two goroutines could both
// remove a key that was added once. Keys of different stripes may share counters, so counters are
// changed atomically.
type stripe struct {
	sync.Mutex
	ones atomic.Int64 // the sum over all stripes is the number of counters that are not 0
	_    [48]byte     // fills a cache line
}

const (
	stripes     = 1 << stripeBits
	stripeBits  = 5
	stripeShift = 64 - stripeBits
)

func (f *filter) zero() bool { return f.state == nil }

// New returns an empty filter for n distinct keys, with a counter for each bit of the filter that
// [bloom.New] would return. When it contains n keys, it reports an absent key as present with a
// probability of about p, or more if n is small; see [bloom.StrictSize]. The filter's Info has n
// and p.
//
// New returns the same errors as bloom.New. On a 32-bit machine it also returns an error if the
// counters would need about 2 GiB or more.
func New(n uint64, p float64) (*Filter, error) {
	m, k, bad := door.Size(n, p, maxWords)
	if bad != nil {
		return nil, bad.In("counting")
	}
	// stateOf would read all counters, so the system would have to provide all pages now.
	s := &state{counters: countersOf(bitwords.Make(int(m/64) * perBits)), k: k}
	return &Filter{filter: filter{state: s, info: form.Keep(form.Info{N: n, P: p})}}, nil
}

func stateOf(words []uint64, k int) *state {
	s := &state{counters: countersOf(words), k: k}
	s.stripes[0].ones.Store(int64(s.counters.onesCount()))
	return s
}

// LoadOrNew loads the file at path, or returns New(n, p) if there is none; see "Files" in package
// bloom. The saved filter must have the same M and K as New(n, p).
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	fresh, err := New(n, p)
	if err != nil {
		return nil, err
	}
	makeNew := func() (*Filter, error) { return fresh, nil }
	return storage.LoadOr(path, LoadFile, makeNew, func(f *Filter) error { return f.fits(fresh) })
}

func (f *Filter) fits(g *Filter) error {
	switch {
	case f.M() != g.M():
		return form.Mismatch("counting", "m", f.M(), g.M())
	case f.K() != g.K():
		return form.Mismatch("counting", "k", f.K(), g.K())
	}
	return nil
}

func (s *state) stripe(h bloom.Hash) *stripe {
	h1, h2 := h.Words()
	return &s.stripes[(h1^h2)*0x9e3779b97f4a7c15>>stripeShift] // 2^64 divided by the golden ratio
}

func (s *state) lock() {
	for i := range s.stripes {
		s.stripes[i].Lock()
	}
}

func (s *state) unlock() {
	for i := range s.stripes {
		s.stripes[i].Unlock()
	}
}

// onesCount returns the number of counters that are not 0, in constant time.
func (s *state) onesCount() uint64 {
	ones := int64(0)
	for i := range s.stripes {
		ones += s.stripes[i].ones.Load()
	}
	return uint64(max(0, ones))
}

// The caller of setOnes must hold all stripes.
func (s *state) setOnes(ones uint64) {
	for i := range s.stripes {
		s.stripes[i].ones.Store(0)
	}
	s.stripes[0].ones.Store(int64(ones))
}

// Add adds key. It reports whether any bit of [Filter.Bloom] changed: true means that key was
// certainly absent, false that it was probably present. In both cases key is counted once more, and
// must be removed once more.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.zero() {
		panic("counting: Add to a zero Filter: make it with New, or decode into it")
	}
	f.touch(h) // speed
	s := f.stripe(h)
	s.Lock()
	defer s.Unlock()
	ones := f.change(h, 1, 0)
	if invariants.On {
		f.verifyAdded(h)
	}
	if ones > 0 {
		s.ones.Store(s.ones.Load() + ones)
	}
	return ones > 0
}

// Remove undoes one addition of key and returns true. If key is certainly absent, Remove changes
// nothing and returns false. Call Remove only for a key that was added more often than removed.
//
// If Contains reports an absent key as present, removing that key may make other keys absent,
// including keys that are added later. Contains does so with probability FPR; see [Filter.Stats].
// For the empty key, which has only bit 0, as in Guava, the probability is FillRatio; see
// [bloom.Sum].
func (f *Filter) Remove(key []byte) bool { return f.RemoveHash(bloom.Sum(key)) }

// RemoveString is like Remove.
func (f *Filter) RemoveString(key string) bool { return f.RemoveHash(bloom.SumString(key)) }

// RemoveHash is like Remove.
func (f *Filter) RemoveHash(h bloom.Hash) bool {
	if !f.ContainsHash(h) {
		return false
	}
	s := f.stripe(h)
	s.Lock()
	defer s.Unlock()
	if !f.ContainsHash(h) { // another call has changed the counters
		return false
	}
	if ones := f.change(h, -1, 1); ones > 0 {
		s.ones.Store(s.ones.Load() - ones)
	}
	return true
}

// Contains reports whether key may be present. False is certain. For an absent key, it returns true
// with probability FPR; see [Filter.Stats], and [Filter.Remove] for the empty key.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	if f.zero() {
		return false
	}
	c := f.counters
	x, step := h.Words()
	for range f.k {
		if c.get(x) == 0 {
			return false
		}
		x += step
	}
	return true
}

// AddBatch reads the counters of up to batchAhead digests before it changes them. With many more
// digests, the first counters would have left the cache by then.
const batchAhead = 16

// AddBatch reads ahead only if there are at least touchWords words. Fewer are in a fast cache.
const touchWords = 1 << 20 / 8

// AddBatch adds hs; see "Batches" in package bloom.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("counting", added, len(hs))
	for i, h := range hs {
		if i%batchAhead == 0 && !f.zero() && len(f.counters.words) >= touchWords && len(hs) > 1 {
			for _, h := range hs[i:min(len(hs), i+batchAhead)] {
				f.touch(h) // speed
			}
		}
		added[i] = f.AddHash(h)
	}
}

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("counting", found, len(hs))
	for i, h := range hs {
		found[i] = f.ContainsHash(h)
	}
}

// change adds delta, which must be 1 or -1, to the counters of h, except full ones. It returns how
// many of the changed counters had the value old.
//
// If two of the key's k indexes are the same, their counter counts the key only once. Otherwise,
// Remove of an absent key could subtract 2 from a counter.
//
// While an absent key is being removed, another Remove may set one of its counters to 0. Such a
// counter stays 0.
func (s *state) change(h bloom.Hash, delta int64, old uint64) (n int64) {
	var seen uint64 // bit j is set if the low six bits of an earlier index are j
	x, step := h.Words()
	for i := range s.k {
		word, shift := s.counters.find(x)
		low := uint64(1) << (x & 63)
		x += step
		if seen&low != 0 && s.repeated(h, i, word, shift) {
			continue
		}
		seen |= low
		if s.counters.change(word, shift, delta) == old {
			n++
		}
	}
	return n
}

// repeated reports whether one of the first i indexes of h has the given counter.
func (s *state) repeated(h bloom.Hash, i int, word, shift uint64) bool {
	x, step := h.Words()
	for range i {
		if w, sh := s.counters.find(x); w == word && sh == shift {
			return true
		}
		x += step
	}
	return false
}

// touch reads the counters of h into the cache. The cache misses overlap.
//
//go:noinline
func (s *state) touch(h bloom.Hash) (sum uint64) {
	x, step := h.Words()
	for range s.k {
		sum += s.counters.get(x) // speed
		x += step                // speed
	}
	return sum
}

// Merge adds the counters of g to those of f. Afterwards f counts a key as often as f and g
// together did before. A sum of 15 or more makes a counter full.
//
// If f and g differ in M or K, or have different Hashes in their Infos, Merge changes nothing and
// returns an error that wraps [bloom.ErrMismatch]. If only g has a Hash, f gets it.
func (f *Filter) Merge(g *Filter) error {
	if g == nil {
		return form.MismatchNil("counting")
	}
	if err := f.fits(g); err != nil {
		return err
	}
	if err := f.info.Join("counting", g.info.Get()); err != nil || f.zero() {
		return err
	}
	f.lock()
	defer f.unlock()
	before, added := f.counters.copied(), g.counters.copied()
	f.setOnes(f.counters.merge(g.counters))
	if invariants.On {
		f.counters.verifySums(before, added)
		f.verifyOnes()
	}
	return nil
}

// Clone returns an independent copy of f, including its Info.
func (f *Filter) Clone() *Filter {
	if f.zero() {
		return &Filter{filter: filter{info: f.info.Clone()}}
	}
	f.lock()
	defer f.unlock()
	if invariants.On {
		f.verifyOnes()
	}
	s := stateOf(bitwords.Clone(f.counters.words), f.k)
	return &Filter{filter: filter{state: s, info: f.info.Clone()}}
}

// Bloom returns a bloom.Filter that contains the keys of f and has its Info. Except for full
// counters (see [Filter]), its binary form equals that of a filter from [bloom.New], with the same
// n and p, to which the same keys were added. For the zero Filter, it is the zero bloom.Filter.
func (f *Filter) Bloom() *bloom.Filter {
	if f.zero() {
		g := new(bloom.Filter)
		g.UpdateInfo(func(i *bloom.Info) { *i = f.Info() })
		return g
	}
	h := form.Header{Strategy: uint8(bloom.Mitz64), K: f.k, Words: len(f.counters.words) / perBits}
	words := bitwords.Make(h.Words)
	f.lock()
	f.counters.toBits(words)
	if invariants.On {
		f.counters.verifyBits(words)
		f.verifyOnes()
	}
	f.unlock()
	return door.Filter[bloom.Filter](h, words, f.info.Get())
}

// Equal reports whether f and g have the same parameters and counters. It ignores their Infos.
// reflect.DeepEqual and testify's assert.Equal may find a difference where Equal finds none. Equal
// panics if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("counting: Equal to a nil Filter")
	}
	if f.zero() || g.zero() {
		return f.state == g.state
	}
	f.lock()
	defer f.unlock()
	return f.k == g.k && slices.Equal(f.counters.words, g.counters.words)
}

// Reset removes all keys, and also clears full counters. f keeps its memory, parameters and Info.
func (f *Filter) Reset() {
	if f.zero() {
		return
	}
	f.lock()
	defer f.unlock()
	bitwords.ClearAtomic(f.counters.words)
	f.setOnes(0)
	if invariants.On {
		f.verifyOnes()
	}
}

// M returns the number of counters, which is the number of bits in [Filter.Bloom].
func (f *Filter) M() uint64 { return f.m() }

func (f *filter) m() uint64 {
	if f.zero() {
		return 0
	}
	return uint64(len(f.counters.words)/perBits) * 64
}

// K returns the number of hash functions, or 0 for the zero Filter. A key has at most K counters.
func (f *Filter) K() int {
	if f.zero() {
		return 0
	}
	return f.k
}

// Stats returns the statistics of [Filter.Bloom], but with the SizeBytes of f. It takes constant
// time.
func (f *Filter) Stats() bloom.Stats {
	if f.zero() {
		return bloom.Stats{}
	}
	s := bloom.StatsOf(f.M(), f.k, f.onesCount())
	s.SizeBytes = f.SizeBytes()
	return s
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String returns the name of f's type and its parameters.
func (f filter) String() string {
	if f.zero() {
		return "counting.Filter(zero)"
	}
	return fmt.Sprintf("counting.Filter(m=%d, k=%d)", f.m(), f.k)
}
