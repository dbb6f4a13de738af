// Package cuckoo provides a cuckoo filter. Keys can be removed from it, and at low rates it needs
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
// A [Filter] is a multiset: a key is found until it has been removed as often as it was inserted.
// Any other key is reported as present with a probability of at most p, the second argument of New.
// A Filter has room for n keys, the first argument; see [New]. A full Filter refuses keys; a
// refused key changes nothing.
//
// Remove only keys that were inserted: the removal of any other key may hide one that is present;
// see [Filter.Remove]. So the caller must know which keys are present, for example from a database.
// A caller that does not know, and asks "have I seen this?", needs a [bloom.Filter].
//
// At a rate of 1 %, a Filter needs 10.4 bits for each key, a bloom.Filter 9.6, and a
// counting.Filter 38. With 50,000 keys or more, and rates below 1 in 1,200, a Filter needs less
// memory than a bloom.Filter: 24 bits instead of 28.8 at 1e-6. If you need Guava's format, use
// package counting, whose filters can be turned into a bloom.Filter. The structure was introduced
// by Fan, Andersen, Kaminsky and Mitzenmacher (Cuckoo Filter: Practically Better Than Bloom, 2014);
// this package allows any number of buckets.
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

// Filter is a cuckoo filter. Many goroutines may look keys up concurrently. All other methods,
// except Info and UpdateInfo, need the Filter to themselves; a [SyncFilter] has no such limit. A
// Filter has no Merge.
//
// The zero Filter contains nothing and can be decoded into; inserting into it panics. A Filter must
// not be copied; see [Filter.Clone].
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter has the data and the exported methods that Filter and SyncFilter share. String and the
// encoding methods have value receivers, so that fmt, json and gob also find them in a Filter
// value.
type filter struct {
	table *table // nil in the zero value
	info  form.Kept
}

const (
	minP = limits.CuckooRate
	maxP = limits.MostCuckooRate
	// maxWords leaves room for the number of keys and for the list.
	maxWords = form.MaxFrameWords - 1 - 3*room
)

func maxBuckets(bits int) uint64 { return uint64(maxWords) * 16 / uint64(bits) }

// size plans for a load of 0.96. The first insertion that finds no free slot happens at a load of
// about 0.98 with a thousand keys. With ten million, it happens at 0.974, which is more than ten
// standard deviations above 0.96. In small filters the deviation is larger; four more buckets and
// the list make up for it.
func size(n uint64, p float64) (buckets uint64, bits int, err error) {
	if !(p >= minP && p <= maxP) {
		return 0, 0, form.NewParam("p", p, "outside [%v, %v]", minP, maxP).In("cuckoo")
	}
	// A look-up of an absent key compares eight tags with the key's tag.
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

// New returns an empty filter for n keys. However full it is, it reports an absent key as present
// with a probability of at most p. The filter's Info has n and p.
//
// With a probability of at least 1 - 1e-6, the filter has room for n different keys, even after
// removals: it accepts every new key while it contains fewer than n. It usually has room for 1 %
// more.
//
// A key that is inserted several times takes up to eight places, all in the same two buckets. For n
// up to 1e7, there is room for 0.87 n insertions if each key is inserted twice, for 0.62 n if three
// times, and for 0.36 n if four times. If many keys are inserted more often than that, they do not
// fit, and a larger n helps little: insert such a key once, and count it elsewhere.
//
// New returns an error unless n >= 1, 1e-9 <= p <= 0.1, and the filter needs at most a tebibyte, or
// about 2 GiB on 32-bit platforms.
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

// Insert inserts key and returns true. If it finds no room for key, Insert changes nothing and
// returns false. It is not called Add, because the Add of other filters returns false if the key
// was probably added before.
//
// Each insertion of a key counts. A key can be inserted at least 255 times while there is room. Up
// to eight insertions take a place each, as different keys would. The others share one entry in a
// list of 32, which also holds keys that find no place.
//
// Insert searches a limited number of buckets for a place, so it may refuse one key and accept the
// next. When at least 96 % of the places are taken, refusals make later searches shorter, until a
// key is removed. A full filter refuses keys about as fast as it accepted the last ones.
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

// Remove undoes one insertion of key and returns true. If key is certainly absent, Remove changes
// nothing and returns false. Call Remove only for a key that is present. A filter stores only a few
// bits of each key, its tag. If key is absent, Remove may remove the tag of another key in the same
// buckets. That key may then be wrongly reported as absent.
//
// No filter of this size can avoid that: a filter that tolerates removals of absent keys, or that
// does not count repeated insertions, needs about half the bits of the keys themselves (Agarwala
// and Even, arXiv 2412.19249).
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

// InsertBatch inserts hs in order, and sets inserted[i] to the result of InsertHash(hs[i]). It
// panics if inserted is shorter than hs, even if inserted is nil, because the caller must see which
// keys were refused. In a SyncFilter, other goroutines may write between two keys of a batch.
func (f *filter) InsertBatch(inserted []bool, hs []bloom.Hash) {
	if f.table == nil && len(hs) > 0 {
		panic(errZero)
	}
	f.table.changeBatch(inserted, hs, (*table).insert)
}

// RemoveBatch removes hs in order, and sets removed[i] to the result of RemoveHash(hs[i]). It
// panics if removed is shorter than hs.
func (f *filter) RemoveBatch(removed []bool, hs []bloom.Hash) {
	f.table.changeBatch(removed, hs, (*table).remove)
}

// Contains reports whether key may be present. It returns true for every key that was inserted more
// often than removed, and for any other key with probability FPR at most; see [Filter.Stats].
func (f *filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (f *filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (f *filter) ContainsHash(h bloom.Hash) bool { return f.table != nil && f.table.contains(h) }

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (f *filter) ContainsBatch(found []bool, hs []bloom.Hash) { f.table.containsBatch(found, hs) }

// Len returns the exact number of insertions that have not been removed.
func (f *filter) Len() uint64 {
	if f.table == nil {
		return 0
	}
	return f.table.len()
}

// Stats returns the statistics of f. M is the number of bits in all places, and OnesCount the
// number of bits in taken places, so FillRatio is the fraction of places that are taken. K is 2,
// the number of buckets for each key. ApproxCount is Len, which is exact. FPR is 8/(2^b - 1) times
// FillRatio for tags of b bits; it is an upper bound on the probability that an absent key is
// reported as present.
func (f *filter) Stats() bloom.Stats {
	if f.table == nil {
		return bloom.Stats{}
	}
	f.table.lock()
	defer f.table.unlock()
	return f.table.stats(f.info.Get())
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (f *filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// Info returns the filter's Info, which New and UpdateInfo set. Every encoding keeps it.
func (f *filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// Reset removes all keys. f keeps its memory, parameters and Info.
func (f *filter) Reset() {
	if f.table == nil {
		return
	}
	f.table.lock()
	defer f.table.unlock()
	f.table.clearAll()
}

// clone returns a copy of f in which table.shared is nil.
func (f *filter) clone() filter { return filter{table: f.table.clone(), info: f.info.Clone()} }

// Cap returns the number of places for tags. A filter with 30,000 places or more is usually full
// when 97 to 98 % of them are taken. Because of the list that [Filter.Insert] describes, a small
// filter may hold more keys than it has places.
func (f *Filter) Cap() uint64 {
	if f.table == nil {
		return 0
	}
	return 4 * f.table.buckets
}

// Clone returns an independent copy of f, including its Info.
func (f *Filter) Clone() *Filter { return &Filter{filter: f.clone()} }

// Equal reports whether f and g have the same tags in the same places, and equal lists. It ignores
// their Infos. Filters with the same keys may be unequal, because the places depend on the order of
// insertions and on keys that were removed. reflect.DeepEqual and testify's assert.Equal may find a
// difference where Equal finds none. Equal panics if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("cuckoo: Equal to a nil Filter")
	}
	if f.table == nil || g.table == nil {
		return f.table == g.table
	}
	return f.table.equal(g.table)
}

// String returns the name of f's type and its parameters.
func (f filter) String() string { return f.table.describe("cuckoo.Filter") }
