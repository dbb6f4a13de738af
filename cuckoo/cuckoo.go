// Package cuckoo provides a cuckoo filter: keys can be removed from it, and at low rates it needs
// less memory than a Bloom filter.
//
//	online, err := cuckoo.New(1_000_000, 0.001)
//	if err != nil {
//		return err
//	}
//	online.InsertString("ada") // false if there is no room
//	online.RemoveString("ada")
//	online.ContainsString("ada") // false
//
// A [Filter] is a multiset. A key is found until it has been removed as often as it was inserted.
// Any other key is reported as present with the probability that the caller chose. A full Filter
// refuses a key and does not change; there is room for the n keys that it was made for, see [New].
//
// Remove only what was inserted: removing any other key can hide a key that is in; see
// [Filter.Remove]. So the caller must know which keys are in, from a database for instance. To
// answer "have I seen this?" without such knowledge, use a [bloom.Filter].
//
// At 1 %, a Filter needs 10.5 bits for each key, a bloom.Filter 9.6, and a filter of package
// counting 38. For 20,000 keys or more and rates below 1 in 1,200, a Filter needs less than a
// bloom.Filter: 24 bits instead of 28.8 at 1e-6. Use package counting if you need Guava's format:
// its filters become a bloom.Filter at any time. The structure is that of Fan, Andersen, Kaminsky
// and Mitzenmacher, Cuckoo Filter: Practically Better Than Bloom, 2014, for any number of buckets.
package cuckoo

import (
	"fmt"
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

const errZero = "cuckoo: Insert into a zero Filter: make it with New, or decode into it"

// Filter is a cuckoo filter. Many goroutines may look keys up in parallel. All other methods but
// Info and UpdateInfo need the Filter to themselves; see [SyncFilter] for more. A Filter has no
// Merge, because a tag does not tell which of its two buckets is the key's first.
//
// The zero Filter contains nothing and can be decoded into. Inserting into it panics. A Filter must
// not be copied; see [Filter.Clone].
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter holds all of a Filter or a SyncFilter; both have its exported methods. Methods that encode
// it have value receivers, so that fmt, json and gob call them for a Filter held by value.
type filter struct {
	table *table // nil in the zero value
	info  form.Kept
}

const (
	minP = limits.CuckooRate
	maxP = limits.MostCuckooRate
	// maxWords leaves room for the number of keys and the list.
	maxWords = form.MaxFrameWords - 1 - 3*room
)

func maxBuckets(bits int) uint64 { return uint64(maxWords) * 16 / uint64(bits) }

// size returns the number of buckets of New's filter, and the number of bits of a tag.
//
// A look-up of an absent key compares eight tags with the key's tag, so the rate is at most
// 8/(2^bits - 1).
//
// The first insertion that finds no place comes at a load of about 0.98 in a filter of a thousand
// keys, and of 0.974 in one of ten million. New plans for 0.96, more than ten standard deviations
// less. In small filters the deviation is larger; four more buckets and the list make up for that.
func size(n uint64, p float64) (buckets uint64, bits int, err error) {
	if !(p >= minP && p <= maxP) {
		return 0, 0, form.NewParam("p", p, "outside [%v, %v]", minP, maxP).In("cuckoo")
	}
	bits = minBits
	for 8/float64(uint64(1)<<bits-1) > p {
		bits++
	}
	limit := (maxBuckets(bits) - 4) * 96 / 25
	if bad := form.CheckKeys("n", n, p, func(n uint64) bool { return n <= limit }); bad != nil {
		return 0, 0, bad.In("cuckoo")
	}
	return (n*25+95)/96 + 4, bits, nil // 25/96 is 1/(4 * 0.96)
}

// New returns an empty filter for n keys. However full the filter is, it reports an absent key as
// present with a probability of at most p. The filter's Info has n and p.
//
// The filter has room for n different keys with a probability of at least 1 - 1e-6, even after
// removals: while fewer than n keys are in it, it refuses no new key. It usually has room for 1 %
// more.
//
// A key that is inserted several times uses up to eight places, all in the same two buckets. Up to
// n = 1e7, there is room for 0.87 n insertions if each key comes twice, for 0.62 n if it comes
// three times, and for 0.36 n if it comes four times. If many keys come more often than that, they
// do not fit, and a larger n helps little: insert such a key once, and count it elsewhere.
//
// New returns an error unless n is at least 1, 1e-9 <= p <= 0.1, and the filter needs at most a
// tebibyte, or half of a 32-bit machine's memory.
func New(n uint64, p float64) (*Filter, error) {
	buckets, bits, err := size(n, p)
	if err != nil {
		return nil, err
	}
	info := form.Keep(form.Info{N: n, P: p})
	return &Filter{filter: filter{table: newTable(buckets, bits), info: info}}, nil
}

func checkSize(buckets, bits uint64) error {
	if bits < minBits || bits > maxBits {
		return fmt.Errorf("bits = %d is outside [%d, %d]", int64(bits), minBits, maxBits)
	}
	if limit := maxBuckets(int(bits)); buckets < 1 || buckets > limit {
		return fmt.Errorf("buckets = %d is outside [1, %d]", buckets, limit)
	}
	return nil
}

// Insert inserts key and returns true. If the filter is full, Insert changes nothing and returns
// false: only removals make room. It is not called Add, because Add of other filters returns false
// if the key was probably added before.
//
// If a key is inserted several times, each insertion counts, at least 255 of them while there is
// room. The first eight use a place each, as different keys would. The others share one entry of a
// list of 32, which also serves keys that find no place.
//
// Insert searches a limited number of buckets for a place, so it may refuse one key and accept the
// next. When at least 96 % of the places are taken, each refusal makes later searches shorter,
// until a key is removed. A full filter refuses keys about as fast as it accepted the last ones.
func (f *filter) Insert(key []byte) bool { return f.InsertHash(bloom.Sum(key)) }

// InsertString is like Insert.
func (f *filter) InsertString(key string) bool { return f.InsertHash(bloom.SumString(key)) }

// InsertHash is like Insert.
func (f *filter) InsertHash(h bloom.Hash) bool {
	if f.table == nil {
		panic(errZero)
	}
	f.table.lock()
	defer f.table.unlock()
	return f.table.insert(h)
}

// Remove undoes one insertion of key and returns true. If key is certainly not in the filter,
// Remove changes nothing and returns false. Call Remove only with a key that is in the filter. A
// filter stores a few bits of each key, its tag: for an absent key, Remove can remove the tag of
// another key in the same buckets, which is then wrongly reported as absent.
//
// No filter of this size can avoid that: a filter that tolerates removals of absent keys, or does
// not count repeated insertions, needs about half the bits of the keys themselves (Agarwala and
// Even, arXiv 2412.19249).
func (f *filter) Remove(key []byte) bool { return f.RemoveHash(bloom.Sum(key)) }

// RemoveString is like Remove.
func (f *filter) RemoveString(key string) bool { return f.RemoveHash(bloom.SumString(key)) }

// RemoveHash is like Remove.
func (f *filter) RemoveHash(h bloom.Hash) bool {
	if f.table == nil {
		return false
	}
	f.table.lock()
	defer f.table.unlock()
	return f.table.remove(h)
}

// InsertBatch is like AddBatch of other filters, for InsertHash, but a nil inserted panics, because
// the caller must see which keys were refused; see "Batches" in package bloom. In a SyncFilter,
// other goroutines may write between two keys of a batch.
func (f *filter) InsertBatch(inserted []bool, hs []bloom.Hash) {
	if f.table == nil && len(hs) > 0 {
		panic(errZero)
	}
	f.table.changeBatch(inserted, hs, (*table).insert)
}

// RemoveBatch removes hs in order and sets removed[i] to the result of RemoveHash(hs[i]). It panics
// if removed is shorter than hs.
func (f *filter) RemoveBatch(removed []bool, hs []bloom.Hash) {
	f.table.changeBatch(removed, hs, (*table).remove)
}

// Contains reports whether key may be in the filter. It returns true for every key that was
// inserted more often than removed, and for any other key with at most the probability FPR
// of [Filter.Stats].
func (f *filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (f *filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (f *filter) ContainsHash(h bloom.Hash) bool { return f.table != nil && f.table.contains(h) }

// ContainsBatch looks hs up; see "Batches" in package bloom.
func (f *filter) ContainsBatch(found []bool, hs []bloom.Hash) { f.table.containsBatch(found, hs) }

// Len returns the exact number of insertions that were not removed.
func (f *filter) Len() uint64 {
	if f.table == nil {
		return 0
	}
	return f.table.len()
}

// Stats returns the statistics of f. M is the number of bits of all places, and OnesCount that of
// the taken places, so FillRatio is the share of taken places. K is 2, the number of buckets of a
// key. ApproxCount is Len, and exact. FPR is 8/(2^b - 1) times FillRatio for tags of b bits: an
// absent key is reported as present with at most that probability.
func (f *filter) Stats() bloom.Stats {
	if f.table == nil {
		return bloom.Stats{}
	}
	f.table.lock()
	defer f.table.unlock()
	return f.table.stats(f.info.Get())
}

// LogValue returns what String returns.
func (f *filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// Info returns what New and UpdateInfo set. Every encoding keeps it.
func (f *filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// Reset removes all keys.
func (f *filter) Reset() {
	if f.table == nil {
		return
	}
	f.table.lock()
	defer f.table.unlock()
	f.table.clearAll()
}

// clone returns a copy of f. Its table is that of a Filter: shared is nil.
func (f *filter) clone() filter { return filter{table: f.table.clone(), info: f.info.Clone()} }

// Cap returns the number of places for tags. A filter of 30,000 places or more is usually full when
// 97 to 98 % of them are taken. With the list of [Filter.Insert], a small filter can hold more keys
// than it has places.
func (f *Filter) Cap() uint64 {
	if f.table == nil {
		return 0
	}
	return 4 * f.table.buckets
}

// Clone returns an independent copy, with its Info.
func (f *Filter) Clone() *Filter { return &Filter{filter: f.clone()} }

// Equal reports whether f and g have the same tags in the same places, and equal lists, whatever
// their Infos. Filters with the same keys may be unequal, because the places depend on the order of
// insertions, and on keys that were removed. If the Infos are equal and neither filter has refused
// a key, reflect.DeepEqual and testify's assert.Equal agree with Equal. Equal panics if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("cuckoo: Equal to a nil Filter")
	}
	if f.table == nil || g.table == nil {
		return f.table == g.table
	}
	return f.table.equal(g.table)
}

// String describes f by its parameters.
func (f filter) String() string { return f.table.describe("cuckoo.Filter") }
