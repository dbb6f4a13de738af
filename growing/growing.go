// Package growing provides a Bloom filter for keys whose number nobody knows beforehand.
//
// An added key is always found. A key that was not added is reported as present with
// a probability of at most p, from the first key on, however many follow (up to 2^40; see
// [New]). The caller supplies p, and keys or their digests. A filter starts with 64 KB.
//
// The price is memory and time. This is the memory at any number of keys from 50,000 to
// 1e9, in multiples of a classic filter of the same rate that was made for exactly the
// keys that it holds:
//
//	rate                         10 %     1 %   0.1 %   1e-6   1e-9
//	at most                      3.58    2.51    2.15   1.84   1.75
//	average over a doubling      3.51    2.46    2.11   1.80   1.71
//
// A look-up of an absent key asks all layers of one shard: 5 layers at 1e5 keys, 15 at 1e7,
// 25 at 1e9. A layer has one cache line for a key at 10 %, two at 1 % and 0.1 %, and three
// at 1e-6. A look-up leaves a layer at the first of them that lacks a bit. A batch reads
// all of them.
//
// A billion keys at 0.1 % take 3.8 GB. With them a look-up took 2.1 microseconds of
// processor time for an absent key, and 0.5 for one that was added (a busy Intel Xeon,
// Cascade Lake, 2.5 GHz). Take [bloom.New] or [blocked.New] where the number of keys is
// known to a factor of two.
//
// # How it grows
//
// A key's digest picks one of 16 shards. A shard is a list of layers, which are
// blocked filters (see [blocked.Filter]) of one to four lines a key. New keys go to the
// newest layer. When that layer is full the shard begins another, which has 0.6 times
// all the bits that the shard had. The shards begin their layers one after the other. A
// goroutine makes and clears the next layer while the last 3 % of a layer's keys come.
//
// Each layer has a share of p, and is full when its own rate reaches that share. The first
// 24 layers of a shard have p/27 each, and each later one has 3/4 of the share of the one
// before (Almeida, Baquero, Preguica and Hutchison, Scalable Bloom Filters, 2007). A key
// that was not added is reported as present if any layer of its shard reports it. So its
// rate is at most the sum of the shares, p/27 * (24 + 3/4 + (3/4)^2 + ...) = p.
//
// # Why it takes so much memory
//
// The layers share p. A rate of p/27 takes 6.9 bits a key more than p does. The newest
// layer is not full: that takes 28 % more, on average. A blocked filter takes 10 to 18 %
// more than a classic one. Smaller layers would leave less unused, but more of them would
// share p, and a look-up would ask more of them. If the layers were classic filters, of
// the best sizes for 1e9 keys, the average would still be 2.05 at 1 %, 1.74 at 0.1 % and
// 1.41 at 1e-6. No other structure is free of this either: a filter that is not told the
// number of keys n needs a number of bits more for each key that grows as log log n does
// (Pagh, Segev and Wieder, How to Approximate a Set Without Knowing Its Size in Advance,
// 2013).
package growing

import (
	"fmt"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Filter is a Bloom filter that grows. It is safe for use by many goroutines at once,
// except for decoding, which needs the Filter to itself. A goroutine takes a lock only
// where a layer begins.
//
// The zero Filter contains nothing and can be decoded into. Adding to it panics. A
// Filter must not be copied.
type Filter struct {
	info bloom.Info
	mark
	rates  *rates // nil in the zero Filter
	shards [shards]shard
}

type mark = nocopy.Mark

const (
	shards     = 1 << shardBits
	shardBits  = 4
	shardShift = 64 - shardBits

	// firstBits is the size of the smallest first layer. All first layers together, in
	// binary form, take just less than 64 KB.
	firstBits = 96 * 256

	// mostKeys is how many keys NewFor makes layers for.
	mostKeys = 1 << 40
)

// New returns an empty filter. A key that was not added is reported as present with a
// probability of at most p, for any number of added keys up to 2^40, which take more than
// a terabyte. For p below 1e-8 that is true up to 1e11 keys. New returns an error unless
// 1e-9 <= p < 1.
func New(p float64) (*Filter, error) {
	if err := checkP(p); err != nil {
		return nil, fmt.Errorf("growing: %w", err)
	}
	return newFilter(p, firstBits), nil
}

// NewFor returns an empty filter that grows when it has about n keys. Until then a
// look-up asks one layer. So it is faster than in a filter of New. The rate is the same.
// The memory for n keys, and a quarter more, is taken at once. n = 0 makes the filter that
// New makes. NewFor returns an error unless n <= 2^40 and 1e-9 <= p < 1.
func NewFor(n uint64, p float64) (*Filter, error) {
	if err := checkP(p); err != nil {
		return nil, fmt.Errorf("growing: %w", err)
	}
	if n > mostKeys {
		return nil, fmt.Errorf("growing: n = %d is more than %d", n, uint64(mostKeys))
	}
	return newFilter(p, max(firstBits, float64(n)/shards*newSizing(rate(p, 0)).bits)), nil
}

// newFilter returns a filter whose smallest layer has m bits.
func newFilter(p float64, m float64) *Filter {
	f := &Filter{rates: &rates{p: p}}
	for i := range f.shards {
		first := newLayer(f.rates, 0, uint64(m*stagger(i)))
		f.shards[i].layers.Store(&[]*layer{first})
	}
	return f
}

// Add adds key and reports whether the filter changed. True means that key was new. If
// several goroutines add the same new key at once, at least one of them gets true. False
// means that key was probably added before. Add does not retain key.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest. Both halves of h matter; see [bloom.SumUint64] for digests
// of 64 bits.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.zero() {
		panic(errZeroAdd)
	}
	s := &f.shards[pick(h)>>shardShift]
	layers := *s.layers.Load()
	for i := len(layers) - 1; i >= 0; i-- {
		if layers[i].filter.ContainsHash(h) {
			return false
		}
	}
	return f.add(h, s, layers)
}

const errZeroAdd = "growing: Add to a zero Filter: make it with New, or decode into it"

// add adds h, which none of layers contained, to the newest of them.
func (f *Filter) add(h bloom.Hash, s *shard, layers []*layer) bool {
	newest := layers[len(layers)-1]
	if !newest.filter.AddHash(h) {
		return false
	}
	if pick(h)&newest.uncounted == 0 {
		if n := newest.count.Add(newest.weight); n >= newest.soon {
			s.grow(f.rates, newest, n)
		}
	}
	return true
}

// Contains reports whether key may have been added. False is certain. True is wrong
// with probability [Filter.FPR] for a key that was not.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(key string) bool { return f.Contains(memory.BytesOf(key)) }

// ContainsHash is Contains by digest.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	if f.zero() {
		return false
	}
	layers := *f.shards[pick(h)>>shardShift].layers.Load()
	for i := len(layers) - 1; i >= 0; i-- {
		if layers[i].filter.ContainsHash(h) {
			return true
		}
	}
	return false
}

// pick returns a value whose highest bits pick a key's shard; the ones after them pick
// the keys that are counted. The product depends on all of h. So it says nothing about
// either half of h, from which the layers take the bits of a key.
func pick(h bloom.Hash) uint64 {
	h1, h2 := h.Words()
	return (h1 ^ bits.RotateLeft64(h2, 19)) * 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
}

func (f *Filter) zero() bool { return f.rates == nil }

// ApproxCount estimates the number of distinct keys that were added. It is cheap: it
// adds up the layers' counters. A key that is taken for one that was there is not
// counted, and the estimate allows for that. It is exact to a key or so for small
// numbers, and within 1 % for any.
func (f *Filter) ApproxCount() uint64 {
	n := 0.0
	for i := range f.shards {
		n += f.shards[i].keys(f.rates)
	}
	return uint64(n + 0.5)
}

// FPR returns the probability that a key which was not added is reported as present,
// as things are now. It is at most the p that New was given, apart from chance. FPR
// reads the whole filter.
func (f *Filter) FPR() float64 { return f.Stats().FPR }

// Stats returns all figures of f at once, for metrics. It reads the whole filter once.
// M, OnesCount and FillRatio are those of all layers together. K is 0, because layers
// differ in it.
func (f *Filter) Stats() bloom.Stats {
	s := bloom.Stats{ApproxCount: f.ApproxCount(), SizeBytes: f.SizeBytes()}
	for i := range f.shards {
		none := 1.0
		for _, l := range f.shards[i].list() {
			layer := l.filter.Stats()
			s.M += layer.M
			s.OnesCount += layer.OnesCount
			none *= 1 - layer.FPR
		}
		s.FPR += (1 - none) / shards
	}
	if s.M > 0 {
		s.FillRatio = float64(s.OnesCount) / float64(s.M)
	}
	return s
}

// String describes f by its p and its size.
func (f *Filter) String() string {
	if f.zero() {
		return "growing.Filter(zero)"
	}
	return fmt.Sprintf("growing.Filter(p=%v, bytes=%d)", f.rates.p, f.SizeBytes())
}
