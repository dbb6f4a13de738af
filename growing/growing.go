// Package growing provides a Bloom filter for an unknown number of keys.
//
//	seen, err := growing.New(0, 0.01) // 0: an unknown number of keys
//	if err != nil {
//		return err
//	}
//	seen.AddString("ada")        // true: certainly new
//	seen.ContainsString("grace") // false: certainly not added
//
// An added key is always found. A key that was not added is reported as present with a probability
// of at most p, the second argument of New, however many keys are added (up to 2^40; see [New]).
// The first argument is a rough number of keys, if it is known.
//
// The price is memory and time. This table compares a filter for an unknown number of keys with a
// classic filter that has the same rate and was made for exactly the right number. With 50,000 to
// 1e9 keys, the memory is larger by about this factor:
//
//	rate    10 %     1 %   0.1 %   1e-6   1e-9
//	about    3.7     2.9     2.4    2.0    1.9
//
// The time for each key grows with the number of keys; see "How cost grows" in
// benchmarks/RESULTS.md. If there are never more than n keys, use [bloom.New] or [blocked.New]. The
// structure was introduced by Almeida, Baquero, Preguica and Hutchison (Scalable Bloom Filters,
// 2007). "A filter that grows" in docs/sizes.md explains the layers, their rates and the memory.
package growing

import (
	"fmt"
	"log/slog"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// Filter is a Bloom filter that grows by adding layers, which are blocked filters. Any number of
// goroutines may use it; see "Goroutines" in package bloom. Look-ups take no lock, and neither does
// Add, if the key is present. Adding a new key locks a sixteenth of the filter.
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. A Filter must not
// be copied.
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter has the data of a Filter. String and the encoding methods have value receivers, so that
// fmt, json and gob also find them in a Filter value. A call copies the filter, which is therefore
// small.
type filter struct {
	*state // nil in the zero Filter
	info   form.Kept
}

type state struct {
	rates  rates
	shards [shards]shard
}

func newState(n uint64, p float64) *state {
	s := &state{rates: rates{n: n, p: p}}
	for i := range s.shards {
		s.shards[i].rates = &s.rates
		s.shards[i].number = i
	}
	return s
}

const (
	shards     = 1 << shardBits
	shardBits  = 4
	shardShift = 64 - shardBits
)

// New returns an empty filter that starts to grow when it contains about n keys, or later if n is
// below 10,000. For an unknown number of keys, pass 0 as n. A key that was not added is reported as
// present with a probability of at most p. This holds for up to 2^40 added keys; if p is below
// 1e-8, it holds for up to 1e10 keys.
//
// A filter for n keys allocates memory for them immediately, and until it grows, a look-up asks
// only one layer. When it contains about n keys, it allocates about as much memory again. A
// filter with n = 0 starts with 64 KB.
//
// New returns an error unless n <= 2^40 and 1e-9 <= p < 1. The filter's Info has n and p.
func New(n uint64, p float64) (*Filter, error) {
	s := newState(n, p)
	if bad := s.rates.check(); bad != nil {
		return nil, bad.In("growing")
	}
	s.reset()
	return &Filter{filter: filter{s, form.Keep(form.Info{N: n, P: p})}}, nil
}

// LoadOrNew loads the file at path, or returns New(n, p) if there is none; see "Files" in package
// bloom. The saved filter must have been made for the same n and p.
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	if bad := (&rates{n: n, p: p}).check(); bad != nil {
		return nil, bad.In("growing")
	}
	makeNew := func() (*Filter, error) { return New(n, p) }
	return storage.LoadOr(path, LoadFile, makeNew, func(f *Filter) error {
		switch {
		case f.rates.n != n:
			return form.Mismatch("growing", "n", f.rates.n, n)
		case f.rates.p != p:
			return form.Mismatch("growing", "p", f.rates.p, p)
		}
		return nil
	})
}

// Reset removes all keys, and makes f as large as New made it.
func (f *Filter) Reset() {
	if !f.zero() {
		f.reset()
	}
}

func (s *state) reset() {
	for i := range s.shards {
		s.shards[i].set(newLayer(&s.rates, 0, uint64(s.rates.first(i))))
	}
}

// Add adds key and reports whether the filter changed. True means that key was certainly new, false
// that it was probably added before.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is like Add. It uses both words of h; to use 64-bit digests, see [bloom.SumUint64].
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.zero() {
		panic(errZeroAdd)
	}
	return f.shards[pick(h)>>shardShift].addHash(h)
}

const errZeroAdd = "growing: Add to a zero Filter: make it with New, or decode into it"

// Contains reports whether key may have been added. False is certain. For a key that was not added,
// it returns true with a probability of about FPR; see [Filter.Stats].
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (f *Filter) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// ContainsHash is like Contains.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	if f.zero() {
		return false
	}
	return contains(*f.shards[pick(h)>>shardShift].layers.Load(), h)
}

// pick returns a number; its high bits select the shard of h. They depend on both words, because
// the high bits of one word would confine some lines of a shard's keys to a sixteenth of the
// blocks.
func pick(h bloom.Hash) uint64 {
	h1, h2 := h.Words()
	return (h1 ^ bits.RotateLeft64(h2, 19)) * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
}

func (s *state) zero() bool { return s == nil }

func (f *Filter) count() uint64 {
	n := 0.0
	for i := range f.shards {
		n += f.shards[i].keys()
	}
	return uint64(n + 0.5)
}

// Stats returns the statistics of f, and reads the whole filter. M, OnesCount and FillRatio
// describe all layers together. K is 0, because it differs between layers. Except by chance, FPR is
// at most the p that New was given.
//
// ApproxCount is estimated from the number of calls for which Add returned true, or from the bits
// for keys that were added before decoding. It is corrected for new keys for which Add returned
// false. With 10,000 keys or more, it is within 2 % of the true number for p <= 0.1, and up to 10 %
// too low for p <= 0.5.
func (f *Filter) Stats() bloom.Stats {
	var s bloom.Stats
	if f.zero() {
		return s
	}
	s.ApproxCount = f.count()
	s.SizeBytes = f.SizeBytes()
	for i := range f.shards {
		none := 1.0
		for _, l := range f.shards[i].list() {
			layer := l.blocks.Stats(0)
			s.M += layer.M
			s.OnesCount += layer.OnesCount
			none *= 1 - layer.FPR
		}
		s.FPR += (1 - none) / shards
	}
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	return s
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// String returns the name of f's type, the n and p that it was made for, and its size.
func (f filter) String() string {
	if f.zero() {
		return "growing.Filter(zero)"
	}
	return fmt.Sprintf("growing.Filter(n=%d, p=%v, bytes=%d)", f.rates.n, f.rates.p, f.SizeBytes())
}
