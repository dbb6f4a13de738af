package bloom

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Strategy is the way in which a Filter computes bit indexes from a Hash. Its values are the
// ordinals of Guava's BloomFilterStrategies, and appear in the binary form.
type Strategy uint8

const (
	// Mitz32 is Guava's MURMUR128_MITZ_32, the default before Guava 17. It uses 64 bits of the
	// Hash. Its indexes are 31 bits long, so it never sets a bit beyond the first 2^31. With about
	// 1.6e9 bits or more, the false-positive rate may be higher than FPR; see docs/java.md.
	Mitz32 Strategy = 0
	// Mitz64 is Guava's MURMUR128_MITZ_64, the default in Guava and in this package.
	Mitz64 Strategy = 1
)

// String returns a name such as "Mitz64".
func (s Strategy) String() string {
	if s > Mitz64 {
		return fmt.Sprintf("Strategy(%d)", uint8(s))
	}
	return [...]string{"Mitz32", "Mitz64"}[s]
}

// Set is a set of keys in memory, for example for package sieve. Its keys cannot be listed. These
// types implement Set: [Filter], [SyncFilter], the Filters of packages blocked, counting, flower,
// growing and window, and blocked.SyncFilter. The filters of package cuckoo do not, because they
// refuse keys when they are full. Neither does bank.Bank, because it has many members.
type Set interface {
	// AddHash adds the key with the given digest, and reports whether the key was new. The
	// documentation of each type says what false means, and for how long an added key is found.
	AddHash(Hash) bool
	// ContainsHash reports whether the key with the given digest may have been added.
	ContainsHash(Hash) bool
}

// Filter is a Bloom filter. With the same parameters and additions, it has the same bits and the
// same binary form as Guava's BloomFilter. The main methods and functions, by purpose:
//
//   - add: [Filter.Add], [Filter.AddString], [Filter.AddHash], [Filter.AddBatch]
//   - ask: [Filter.Contains], [Filter.ContainsString], [Filter.ContainsHash],
//     [Filter.ContainsBatch]
//   - save: [Filter.SaveFile]; load: [LoadFile], [LoadOrNew]; ask a file: [OpenFile]
//   - send: [Filter.WriteTo], [Filter.MarshalBinary], [Filter.MarshalText]
//   - receive: [Filter.ReadFrom], [Filter.UnmarshalBinary], [Filter.UnmarshalText]
//   - combine: [Filter.Merge], [Filter.Intersect], [Filter.Fold], [Filter.Clone], [Filter.Equal]
//   - measure: [Filter.Stats], or one field of it: [Filter.FPR], [Filter.ApproxCount],
//     [Filter.FillRatio], [Filter.OnesCount]; room for keys: [Filter.Capacity]
//   - describe: [Filter.Info], [Filter.UpdateInfo], [Filter.M], [Filter.K], [Filter.Strategy]
//   - empty: [Filter.Reset]
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. Many goroutines
// may read a Filter while none writes to it; a [SyncFilter] has no such limit. A Filter must not be
// copied; see [Filter.Clone].
//
// Do not embed a Filter in a struct: the struct gets the Filter's MarshalText, so package
// encoding/json writes only the Filter, and omits the other fields. Give the Filter a field name.
type Filter struct {
	_ nocopy.Locker
	filter
}

type filter struct {
	bits     bitset
	ones     uint64 // number of bits set; 0 in a SyncFilter
	k        int    // 0 in the zero filter
	strategy Strategy
	info     form.Kept
}

// ErrMismatch is wrapped by the errors of this module for two filters that do not match, for a
// patch that was not made for the filter, and for a file with parameters other than those of
// [LoadOrNew].
var ErrMismatch = form.ErrMismatch

// ParamError is the error for a parameter that is out of range. Constructors in this module return
// it, and so do methods such as [Filter.Fold]. A program that takes parameters from its own users
// can show them a different message, with its own name for the parameter:
//
//	var bad *bloom.ParamError
//	if errors.As(err, &bad) && bad.Param == "p" {
//		return fmt.Errorf("--rate %v is %s", bad.Value, bad.Bound)
//	}
//
// An error that wraps [ErrFormat] never wraps a ParamError, because the contents of damaged bytes
// are not the caller's choice.
type ParamError struct {
	Package string // name of the package, such as "bloom"
	Param   string // the parameter or field, such as "p", "len(words)", "Span" or "Info.Meta"
	Value   any    // its value
	Bound   string // how it is out of range, such as "outside (0, 1)" or "not UTF-8"
	Advice  string // what a Go program can do instead, or ""
}

// Error returns a message such as "bloom: p = 2 is outside (0, 1)".
func (e *ParamError) Error() string { return form.Param(*e).String() }

// New returns an empty filter for n distinct keys. When it contains n keys, it reports an absent
// key as present with a probability of about p. The probability may differ if n is small, or if p
// is very low or above 1/2; see docs/sizes.md. With the sizes of [StrictSize], it is at most p. For
// a large n and a p of 1 %, it is 2.3 % with 1.2 n keys, and 16 % with 2 n keys. The empty key may
// be reported more often; see [Sum].
//
// New returns an error unless n > 0, 0 < p < 1, and [NewSize] accepts the size. The filter's Info
// has n and p.
func New(n uint64, p float64) (*Filter, error) { return NewWithStrategy(Mitz64, n, p) }

// NewWithStrategy is like [New], but with the given Strategy. New uses [Mitz64]. A large filter with
// [Mitz32] may have a rate above p.
func NewWithStrategy(s Strategy, n uint64, p float64) (*Filter, error) {
	if s > Mitz64 {
		return nil, form.NewParam("strategy", uint8(s), "neither Mitz32 nor Mitz64").In("bloom")
	}
	m, k, err := Size(n, p)
	if err != nil {
		return nil, err
	}
	f := newFilter(s, int(m/64), k)
	f.info = form.Keep(form.Info{N: n, P: p})
	return f, nil
}

// NewSize returns an empty filter with m bits, rounded up to a multiple of 64, and k hash
// functions. Its Info is zero. NewSize returns an error unless 1 <= k <= 255, k <= m, and the
// filter has at most 2^31-1 64-bit words (16 GiB), or 2^28-1 words on 32-bit platforms.
//
// Pass the results of [Size] or [StrictSize]. In other packages, sizes have different meanings:
// blocked.Size returns 1 to 4 lines, and a filter with so few hash functions would have a high
// rate. NewSize cannot refuse that, because [New] uses one hash function for rates near 1/2.
func NewSize(m uint64, k int) (*Filter, error) {
	words, bad := form.WordsFor(m, k, form.MaxWords)
	if bad != nil {
		return nil, bad.In("bloom")
	}
	return newFilter(Mitz64, words, k), nil
}

func newFilter(s Strategy, words, k int) *Filter {
	return &Filter{filter: filter{
		bits:     newBitset(words),
		k:        k,
		strategy: s,
		info:     form.Keep(form.Info{}),
	}}
}

// NewWords returns a filter with k hash functions and a copy of words: bit i is bit i%64 of
// words[i/64]. Its Strategy is [Mitz64], and its Info is zero. NewWords returns an error unless
// 1 <= k <= 255 and there are 1 to 2^31-1 words, or 2^28-1 on 32-bit platforms.
func NewWords(words []uint64, k int) (*Filter, error) {
	if bad := form.CheckK(k); bad != nil {
		return nil, bad.In("bloom")
	}
	if n := len(words); n < 1 || n > form.MaxWords {
		return nil, form.NewParam("len(words)", n, "outside [1, %d]", form.MaxWords).In("bloom")
	}
	h := form.Header{Strategy: uint8(Mitz64), K: k}
	return &Filter{filter: filterOf(h, bitwords.Clone(words), form.Info{})}, nil
}

// Must returns v, or panics if err is not nil. It is for constructors with constant parameters:
//
//	var seen = bloom.Must(bloom.New(1e6, 0.01))
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Add adds key and reports whether the filter changed. True means that key was certainly new, false
// that it was probably added before.
func (f *Filter) Add(key []byte) bool { return filterAdd(&f.filter, key) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// AddHash is like Add, but takes the digest of a key; see [Hash].
func (f *Filter) AddHash(h Hash) bool { return filterAddHash(&f.filter, h) }

// addInGo is the portable AddHash; see batch.go.
func (f *filter) addInGo(h Hash) bool {
	if f.k == 0 {
		panic(errZero)
	}
	b, added := f.bits, uint64(f.k)
	if f.strategy == Mitz32 {
		for x, i := newMitz32(h), f.k; i > 0; i-- {
			added -= b.set(x.nextIndex())
		}
	} else {
		for x, i := h.h1, f.k; i > 0; i-- {
			added -= b.set(x)
			x += h.h2
		}
	}
	f.ones += added
	return added != 0
}

const errZero = "bloom: Add to a zero filter: make it with a constructor, or decode into it"

// Contains reports whether key may have been added. False is certain. For a key that was not added,
// it returns true with a probability that [Filter.FPR] estimates. For the empty key, the
// probability is about [Filter.FillRatio]; see [Sum].
func (f *Filter) Contains(key []byte) bool { return filterContains(&f.filter, key) }

// ContainsString is like Contains.
func (f *Filter) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// ContainsHash is like Contains.
func (f *Filter) ContainsHash(h Hash) bool { return filterContainsHash(&f.filter, h) }

// contains is the portable ContainsHash; see batch.go.
func (f *filter) contains(h Hash) bool {
	if f.strategy == Mitz32 {
		return f.contains32(h)
	}
	// Test four bits before each branch. In a full filter, a bit of an absent key is clear half of
	// the time, which no processor can predict. Of four bits, at least one is usually clear.
	b, x, k := f.bits, h.h1, f.k
	for ; k >= 4; k -= 4 {
		x1 := x + h.h2
		x2 := x1 + h.h2
		x3 := x2 + h.h2
		if b.get(x)&b.get(x1)&b.get(x2)&b.get(x3) == 0 {
			return false
		}
		x = x3 + h.h2
	}
	for ; k > 0; k-- {
		if b.get(x) == 0 {
			return false
		}
		x += h.h2
	}
	return f.k != 0
}

func (f *filter) contains32(h Hash) bool {
	for x, i := newMitz32(h), f.k; i > 0; i-- {
		if f.bits.get(x.nextIndex()) == 0 {
			return false
		}
	}
	return f.k != 0
}

// Merge adds the keys of g to f. Afterwards f has the false-positive rate of a filter that contains
// the keys of both. If two full filters with a rate of 1 % have different keys, the rate becomes
// 16 %.
//
// If the filters differ in M, K or Strategy, or have different Hashes in their Infos, Merge leaves
// f unchanged and returns an error that wraps [ErrMismatch]. If only g has a Hash, f gets it. If
// the size of g is a multiple of f's, fold g first; see [Filter.Fold].
func (f *Filter) Merge(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	bitwords.Or(f.bits.words, g.bits.words)
	f.ones = bitwords.OnesCount(f.bits.words)
	return nil
}

// Intersect clears all bits of f that are not set in g. Every key that was added to both remains,
// but the false-positive rate is usually higher than that of a filter to which only those keys were
// added. Intersect returns the same errors as [Filter.Merge].
func (f *Filter) Intersect(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	bitwords.And(f.bits.words, g.bits.words)
	f.ones = bitwords.OnesCount(f.bits.words)
	return nil
}

func (f *filter) compatible(g *Filter) error {
	if g == nil {
		return form.MismatchNil("bloom")
	}
	switch {
	case f.m() != g.m():
		return form.Mismatch("bloom", "m", f.m(), g.m())
	case f.k != g.k:
		return form.Mismatch("bloom", "k", f.k, g.k)
	case f.strategy != g.strategy:
		return form.Mismatch("bloom", "strategy", f.strategy, g.strategy)
	}
	return f.info.Join("bloom", g.info.Get())
}

// Fold returns a new filter with the keys of f in M()/d bits. It equals a filter of that size, with
// the K and the Strategy of f, to which the same keys were added. Its false-positive rate is
// usually higher; see [Filter.FPR]. Its Info has no N or P. Fold does not change f.
//
// Fold returns an error if d < 1, if d does not divide M()/64, the number of words, or if f is
// zero. Few of the sizes that [New] chooses have useful divisors. To fold a filter by d later, make
// it with [NewSize] and a multiple of 64*d.
func (f *Filter) Fold(d int) (*Filter, error) {
	words := len(f.bits.words)
	if d < 1 || words < d || words%d != 0 {
		return nil, form.NewParam("d", d, "not a divisor of the filter's %d words", words).In("bloom")
	}
	g := &Filter{filter: filter{
		bits:     f.bits.fold(d),
		k:        f.k,
		strategy: f.strategy,
		info:     form.Keep(f.info.Get().Folded()),
	}}
	g.ones = bitwords.OnesCount(g.bits.words)
	return g, nil
}

// Clone returns an independent copy of f, including its Info.
func (f *Filter) Clone() *Filter { return &Filter{filter: f.clone()} }

// clone returns a copy of f. Other goroutines may write to f's bits atomically at the same time.
func (f *filter) clone() filter {
	g := *f
	g.bits.words = bitwords.Clone(f.bits.words)
	g.info = f.info.Clone()
	return g
}

// Reset removes all keys. f keeps its memory, parameters and Info.
func (f *Filter) Reset() {
	bitwords.Clear(f.bits.words)
	f.ones = 0
}

// Equal reports whether f and g have the same parameters and bits. It ignores their Infos. In
// contrast, reflect.DeepEqual and testify's assert.Equal also compare the Infos. Equal panics if g
// is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("bloom: Equal to a nil Filter")
	}
	return f.k == g.k &&
		f.strategy == g.strategy &&
		f.ones == g.ones &&
		slices.Equal(f.bits.words, g.bits.words)
}

func (f *filter) m() uint64 { return uint64(len(f.bits.words)) * 64 }

// M returns the number of bits, which is a multiple of 64.
func (f *Filter) M() uint64 { return f.m() }

// K returns the number of hash functions. A key sets at most K bits.
func (f *Filter) K() int { return f.k }

// Strategy returns the way in which f computes bit indexes.
func (f *Filter) Strategy() Strategy { return f.strategy }

// Capacity estimates the number of keys at which a filter of M bits and K hash functions has the
// false-positive rate p. It ignores what double hashing adds; see [Filter.FPR]. For nearly all
// filters that New(n, p) returns, it is n or more, because M is rounded up. It is 0 if f is zero, p
// is NaN, or p <= 0. Otherwise it is math.MaxUint64 if p >= 1.
func (f *Filter) Capacity(p float64) uint64 { return capacity(f.m(), f.k, p) }

// String returns the name of f's type and its parameters.
func (f filter) String() string {
	return describe("bloom.Filter", f.m(), f.k, f.strategy)
}

// OnesCount returns the number of bits that are set, in constant time.
func (f *Filter) OnesCount() uint64 {
	return f.ones
}

// FillRatio returns the fraction of bits that are set, from 0 to 1.
func (f *Filter) FillRatio() float64 { return f.Stats().FillRatio }

// ApproxCount estimates, from the number of bits that are set, how many distinct keys were added.
// It returns -m/k ln(1 - ones/m), rounded (Swamidass and Baldi, Mathematical Correction for
// Fingerprint Similarity Measures, 2007). It is Guava's approximateElementCount with one exception:
// if all bits are set, Guava throws an exception, and ApproxCount returns m/k ln(2m), as if half a
// bit were clear.
func (f *Filter) ApproxCount() uint64 { return f.Stats().ApproxCount }

// FPR estimates the current false-positive rate: the probability that a key which was not added is
// reported as present. FPR is the sum of two terms. The first is Guava's expectedFpp, (ones/m)^k.
// The second is what double hashing adds; it matters in filters that are small or nearly empty. For
// [Mitz32], the second term is up to six times too high, and the rate of large filters may exceed
// FPR; see docs/java.md.
//
// The estimate is for the mean of many filters with this size and fill. For filters that [New] made
// for p >= 1e-9, it is within a fifth of the mean if they contain n/2 to n keys, and within a half
// if they contain fewer. The rate of a single filter with 8,000 bits or more that contains its n
// keys is usually within a quarter of FPR. With fewer than 2,000 bits, the rate may be several
// times higher or lower than FPR.
func (f *Filter) FPR() float64 { return f.Stats().FPR }

// Stats returns all statistics of f.
func (f *Filter) Stats() Stats { return StatsOf(f.m(), f.k, f.ones) }

// LogValue implements slog.LogValuer. The value is the result of String, so that package log/slog
// does not write the whole filter. LogValue takes constant time. To log statistics, log the Stats.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }
