// Package cuckoo provides a cuckoo filter: keys can be removed from it, and it takes the least memory.
//
// A [Filter] is a multiset. A key that was inserted is found until it was removed as often as it was
// inserted. Any other key is reported as present with the probability that the caller chose.
//
// Remove only what was inserted. A Filter has a few bits of each key, its tag. Removing a key that was
// never inserted can remove the tag of another key. From then on, the Filter says of that key
// "certainly not", and that is wrong. No filter of this size can avoid that: to tolerate removals
// of absent keys, or repeated insertions that do not count, takes about half the bits of the keys
// themselves (Agarwala and Even, arXiv 2412.19249). So the caller must know what is in, from a
// database for instance. A set that answers "have I seen this?" from itself alone is a
// [bloom.Filter].
//
// A full Filter refuses a key and stays as it is. New's Filter has room for the n keys that it was
// made for; see [New].
//
// The price, in bits a key: 10.5 at 1 %, where a bloom.Filter takes 9.6 and package counting 38. For
// 20,000 keys or more and rates below 1 in 1,200, a Filter takes less than a bloom.Filter: 24 at 1e-6
// instead of 28.8. Take package counting for Guava's bytes: its filters become a bloom.Filter at any
// time.
//
// The structure is that of Fan, Andersen, Kaminsky and Mitzenmacher, Cuckoo Filter: Practically Better
// Than Bloom, 2014, for any number of buckets.
package cuckoo

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

const errZero = "cuckoo: Insert into a zero Filter: make it with New, or decode into it"

// Filter is a cuckoo filter. Many goroutines may look keys up in it at once. Everything else needs it
// to itself; see [SyncFilter]. A Filter has no Merge: it does not know which of a tag's two
// buckets the key began with.
//
// The zero Filter contains nothing and can be decoded into. Inserting into it panics. A Filter must not
// be copied; see [Filter.Clone].
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter holds all of a Filter, and of a SyncFilter. It is small because the methods that encode it
// have value receivers: packages json and gob find those where a Filter is held by value.
type filter struct{ lookups }

// lookups has the fields and the methods that these two share with a View.
type lookups struct {
	*table // nil if it is zero
	info   bloom.Info
}

const (
	minP, maxP = 1e-9, 0.1
	// maxWords leaves room for the number of keys and the list.
	maxWords = form.MaxFrameWords - 1 - 3*room
)

// maxBuckets returns the largest number of buckets.
func maxBuckets(bits int) uint64 { return uint64(maxWords) * 16 / uint64(bits) }

// size returns the buckets and the bits of a tag of New's filter.
//
// The first bucket that is full and has no way out comes at a load of about 0.98 with a thousand keys, and
// of 0.974 with ten million, more than ten standard deviations away from 0.96. The deviation is larger
// in small filters, for which the four buckets and the list are.
func size(n uint64, p float64) (buckets uint64, bits int, err error) {
	if !(p >= minP && p <= maxP) {
		return 0, 0, fmt.Errorf("cuckoo: p = %v is outside [%v, %v]", p, minP, maxP)
	}
	for bits = minBits; 8/float64(uint64(1)<<bits-1) > p; { // an absent key is compared with eight tags
		bits++
	}
	if most := (maxBuckets(bits) - 4) * 96 / 25; n < 1 || n > most {
		return 0, 0, fmt.Errorf("cuckoo: n = %d is outside [1, %d] (for p = %v)", n, most, p)
	}
	return (n*25+95)/96 + 4, bits, nil // 25/96 is 1/(4 * 0.96)
}

// New returns an empty filter for n keys. However full it is, it reports a key that was not inserted as
// present with a probability of at most p. The filter's Info has n and p.
//
// The filter takes n different keys with a probability of at least 1 - 1e-6. It does so at any later
// time, too: while fewer than n keys are in, it refuses no other key. It usually takes 1 % more. A
// key that is inserted many times takes as many places, and up to eight in the same two
// buckets. So n must count repeated keys as often as they come.
//
// It returns an error unless n is at least 1, 1e-9 <= p <= 0.1, and the filter takes at most a
// tebibyte, or half of a 32-bit machine's memory.
func New(n uint64, p float64) (*Filter, error) {
	buckets, bits, err := size(n, p)
	if err != nil {
		return nil, err
	}
	return &Filter{filter: filter{lookups{newTable(buckets, bits), bloom.Info{N: n, P: p}}}}, nil
}

func checkSize(buckets, bits uint64) error {
	if bits < minBits || bits > maxBits {
		return fmt.Errorf("cuckoo: bits = %d is outside [%d, %d]", int64(bits), minBits, maxBits)
	}
	if most := maxBuckets(int(bits)); buckets < 1 || buckets > most {
		return fmt.Errorf("cuckoo: buckets = %d is outside [1, %d]", buckets, most)
	}
	return nil
}

func newTable(buckets uint64, bits int) *table {
	t := &table{words: bitwords.Make(int(wordsFor(buckets, uint64(bits))) + 1), list: make([]uint64, listWords)}
	t.shape(buckets, uint64(bits))
	return t
}

// lock keeps others from writing to a SyncFilter. The filter is not zero.
func (f *filter) lock() {
	if f.shared != nil {
		f.shared.Lock()
	}
}

func (f *filter) unlock() {
	if f.shared != nil {
		f.shared.Unlock()
	}
}

// Insert inserts key and returns true, or returns false if the filter is full. Then nothing has
// changed, and room comes from removals only. A key that is inserted again counts again, at least 255 times
// while there is room. Its first eight times take places like those of other keys. All further times
// share one of 32 entries of a list, which the filter also has for keys that find no place.
func (f *filter) Insert(key []byte) bool { return f.InsertHash(bloom.Sum(key)) }

// InsertString is Insert of key's bytes, without copying them.
func (f *filter) InsertString(key string) bool { return f.InsertHash(bloom.SumString(key)) }

// InsertHash is Insert by digest.
func (f *filter) InsertHash(h bloom.Hash) bool {
	if f.table == nil {
		panic(errZero)
	}
	f.lock()
	defer f.unlock()
	return f.insert(h)
}

// Remove removes key once and returns true, or returns false if key is certainly not in. Then nothing has
// changed. It must not be called with a key that is not in: if another key has the same tag in
// the same buckets, that one is removed instead.
func (f *filter) Remove(key []byte) bool { return f.RemoveHash(bloom.Sum(key)) }

// RemoveString is Remove of key's bytes, without copying them.
func (f *filter) RemoveString(key string) bool { return f.RemoveHash(bloom.SumString(key)) }

// RemoveHash is Remove by digest.
func (f *filter) RemoveHash(h bloom.Hash) bool {
	if f.table == nil {
		return false
	}
	f.lock()
	defer f.unlock()
	return f.remove(h)
}

// InsertBatch inserts hs in order and sets inserted[i] to what InsertHash of hs[i] returns. It panics if
// inserted is shorter than hs: somebody must see what was refused. Batches are faster than single
// keys in filters that are larger than the processor's cache. A SyncFilter lets others write
// now and then in the middle of a batch.
func (f *filter) InsertBatch(inserted []bool, hs []bloom.Hash) {
	if f.table == nil && len(hs) > 0 {
		panic(errZero)
	}
	f.change(inserted, hs, (*table).insert)
}

// RemoveBatch removes hs in order and sets removed[i] to what RemoveHash of hs[i] returns. It panics if
// removed is shorter than hs.
func (f *filter) RemoveBatch(removed []bool, hs []bloom.Hash) { f.change(removed, hs, (*table).remove) }

func (f *filter) change(done []bool, hs []bloom.Hash, one func(*table, bloom.Hash) bool) {
	done = bitwords.Fill("cuckoo", done, len(hs))
	if f.table == nil {
		clear(done)
		return
	}
	var places [ahead]place
	for ; len(hs) > 0; hs, done = hs[min(ahead, len(hs)):], done[min(ahead, len(hs)):] {
		f.touch(&places, hs)
		f.lock()
		for i, h := range hs[:min(ahead, len(hs))] {
			done[i] = one(f.table, h)
		}
		f.unlock()
	}
}

// Contains reports whether key may be in: true for every key that was inserted and not removed as
// often, and for others with the probability that FPR returns.
func (f *lookups) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *lookups) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (f *lookups) ContainsHash(h bloom.Hash) bool { return f.table != nil && f.contains(h) }

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than hs. Batches
// are faster than single keys in filters that are larger than the processor's cache.
func (f *lookups) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("cuckoo", found, len(hs))
	if f.table == nil {
		clear(found)
		return
	}
	var places [ahead]place
	for ; len(hs) > 0; hs, found = hs[min(ahead, len(hs)):], found[min(ahead, len(hs)):] {
		f.touch(&places, hs)
		for i, h := range hs[:min(ahead, len(hs))] {
			found[i] = f.containsAt(h, places[i])
		}
	}
}

// Len returns the number of keys that are in, exactly. It counts a key as often as it was inserted.
func (f *lookups) Len() uint64 {
	if f.table == nil {
		return 0
	}
	return f.len()
}

// Cap returns the number of places for tags. A filter of 30,000 places or more usually becomes full at
// 97 to 98 % of them. A small filter can have more keys than places, because some are in the list; see
// [Filter.Insert].
func (f *lookups) Cap() uint64 {
	if f.table == nil {
		return 0
	}
	return 4 * f.buckets
}

// FPR returns the probability that a key which is not in is reported as present now: at most
// 8/(2^b - 1) times the share of places that have a tag, tags having b bits.
func (f *lookups) FPR() float64 { return f.Stats().FPR }

// Stats returns the figures of f. M is the number of bits of all places, and OnesCount that of the places
// which have a tag. So FillRatio is the share of places that are taken. K is 2, the buckets that a key may
// be in. ApproxCount is Len, and exact.
func (f *lookups) Stats() bloom.Stats {
	if f.table == nil {
		return bloom.Stats{}
	}
	if f.shared != nil {
		f.shared.Lock()
		defer f.shared.Unlock()
	}
	n, tags, entries := f.len(), f.len(), f.entries()
	for _, e := range entries {
		tags -= e[2]
	}
	s := bloom.Stats{M: f.buckets * f.width, K: 2, OnesCount: tags * f.bits, ApproxCount: n}
	s.FillRatio = float64(tags) / float64(4*f.buckets)
	s.FPR = 8 * s.FillRatio / float64(f.mask)
	s.SizeBytes = f.sizeBytes(len(entries))
	return s
}

// LogValue returns the Stats, so that package log/slog does not write the whole filter.
func (f *lookups) LogValue() slog.Value { return slog.AnyValue(f.Stats()) }

func (f *lookups) sizeBytes(entries int) int64 {
	words := int(wordsFor(f.buckets, f.bits)) + 1 + 3*entries
	return form.Cuckoo.Size(words, form.Info(f.info))
}

// Info returns what New and SetInfo set. Every encoding keeps it.
func (f *lookups) Info() bloom.Info { return f.info }

// SetInfo replaces the Info. If N or P of i is 0, the filter's own stays. Nothing else may use the
// filter at the same time. Encoding returns an error if a field is out of its range; see [bloom.Info].
func (f *filter) SetInfo(i bloom.Info) { f.info = bloom.Info(form.Info(f.info).With(form.Info(i))) }

func (f *lookups) describe(name string) string {
	if f.table == nil {
		return name + "(buckets=0)"
	}
	return fmt.Sprintf("%s(buckets=%d, bits=%d)", name, f.buckets, f.bits)
}

// Reset removes all keys.
func (f *filter) Reset() {
	if f.table == nil {
		return
	}
	f.lock()
	defer f.unlock()
	for _, words := range [][]uint64{f.words, f.list} {
		if f.shared != nil {
			bitwords.ClearAtomic(words)
		} else {
			bitwords.Clear(words)
		}
	}
}

// clone returns a copy, which is not shared.
func (f *filter) clone() filter {
	if f.table == nil {
		return filter{lookups{info: f.info}}
	}
	f.lock()
	defer f.unlock()
	t := *f.table
	t.words, t.list, t.shared = bitwords.Clone(f.words), slices.Clone(f.list), nil
	return filter{lookups{&t, f.info}}
}

// Clone returns a copy of f.
func (f *Filter) Clone() *Filter { return &Filter{filter: f.clone()} }

// Equal reports whether f and g have the same tags in the same places. Filters that got the same keys in
// another order, or other keys in between, may be unequal. Infos do not count. It panics if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("cuckoo: Equal to a nil Filter")
	}
	if f.table == nil || g.table == nil {
		return f.table == g.table
	}
	return f.buckets == g.buckets && f.bits == g.bits && slices.Equal(f.words, g.words) && slices.Equal(f.entries(), g.entries())
}

// String describes f by its parameters.
func (f filter) String() string { return f.describe("cuckoo.Filter") }

// SyncFilter is a [Filter] for any number of goroutines that insert, remove, look up and encode at
// once. Look-ups take no lock: a key whose Insert has returned is found by every later look-up until it is
// removed, and while others insert and remove, too. A look-up starts again if a tag that it looked for
// was moved at that moment, which is rare.
//
// Methods that insert or remove wait for each other, and for those that copy or encode. SetInfo and
// decoding need the SyncFilter to themselves. The zero SyncFilter contains nothing and can be decoded into.
// Inserting into it panics. It must not be copied.
type SyncFilter struct {
	_ nocopy.Locker
	syncFilter
}

// syncFilter is a filter that names itself, and decodes into one that is shared.
type syncFilter struct{ filter }

// NewSync is [New] for a SyncFilter.
func NewSync(n uint64, p float64) (*SyncFilter, error) {
	f, err := New(n, p)
	if err != nil {
		return nil, err
	}
	f.shared = new(shared)
	return &SyncFilter{syncFilter: syncFilter{f.filter}}, nil
}

// NewSyncFrom returns a SyncFilter with the keys, the parameters and the Info of f, which it copies. To have
// a large filter in memory once only, decode it into a SyncFilter. It panics if f is nil.
func NewSyncFrom(f *Filter) *SyncFilter {
	if f == nil {
		panic("cuckoo: NewSyncFrom a nil Filter")
	}
	s := &SyncFilter{syncFilter: syncFilter{f.clone()}}
	_ = s.share(nil)
	return s
}

// share lets many goroutines use what was decoded, unless there was an error.
func (s *syncFilter) share(err error) error {
	if err == nil && s.table != nil {
		s.shared = new(shared)
	}
	return err
}

// Snapshot returns a copy of s as it is at one moment of the call.
func (s *SyncFilter) Snapshot() *Filter { return &Filter{filter: s.clone()} }

// String describes s by its parameters.
func (s syncFilter) String() string { return s.describe("cuckoo.SyncFilter") }
