// Package flower provides a filter that remembers recent keys better than old ones, in memory that
// is fixed however many keys are added. It finds which events of an endless stream recur.
//
//	config, err := flower.Optimal(1_000_000, 0.9, 0.01) // finds 90 % at an age of a million
//	if err != nil {
//		return err
//	}
//	recent, err := flower.New(config)
//	if err != nil {
//		return err
//	}
//	recent.AddString("ada")      // true: not found
//	recent.AddString("ada")      // false: probably recent
//	recent.ContainsString("bob") // false
//
// A key's age is the number of other keys that were added after it. Only the newest key is certain
// to be found; [Filter.Recall] is the probability for each age. A key that was never added is
// reported as present with the probability FPR of [Filter.Stats].
//
// The caller supplies an age, the probability of finding a key of that age, and the rate of false
// positives; [Optimal] finds the smallest filter for them, whose memory is in proportion to the
// age. If keys must certainly be found, or if their age is measured in time, use package window. A
// window needs about 2.9 MB for a million keys at 1 %, but its caller must know how many keys there
// will be; docs/memory.svg compares the two.
package flower

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Filter remembers recent keys better than old ones. It is an array of slots, each of which is
// empty or holds a fingerprint of a few bits. A key writes its fingerprint into several slots, and
// overwrites what they held. It is found until all its slots are overwritten. Any number of
// goroutines may use a Filter; see "Goroutines" in package bloom. Adding and looking up take no
// lock.
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. A Filter must not
// be copied.
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter holds all of a Filter. Methods that encode it have value receivers, so that fmt, json and
// gob call them for a Filter held by value.
type filter struct {
	info  form.Kept
	words []uint64 // the slots, from the least significant bits of the first word on
	slots uint64   // Config.Slots
	ways  uint64   // Config.Ways
	bits  uint     // Config.Bits, the size of a slot

	mask   uint64 // as many of the lowest bits as a slot has
	perWay uint64 // the number of slots of a way; way w has the slots from w*perWay on
}

// Config configures a Filter. [Optimal] returns the smallest one for a purpose.
type Config struct {
	// Slots is the number of fingerprints that the filter holds, at least Ways. It is rounded down
	// to a multiple of Ways: the slots beyond that are not used.
	Slots uint64
	// Ways is the number of slots that a key writes, from 1 to 64. With more ways, recent keys are
	// more likely to be found, and old keys less likely.
	Ways int
	// Bits is the size of a fingerprint: 8, 16 or 32. Once all slots are written, a key that was
	// never added is reported as present with probability 1 - (1 - 1/(2^Bits - 1))^Ways.
	Bits int
}

const maxWays = 64

// New returns an empty filter of Slots*Bits/8 bytes. If a field is out of range, the error names
// it. If the machine lacks the memory, the process ends, as with make. The filter's Info has no N.
// Its P is the rate of false positives when all slots are written.
func New(c Config) (*Filter, error) {
	words, err := c.words()
	if err != nil {
		return nil, err
	}
	return &Filter{filter: newFilter(c, bitwords.Make(int(words)), form.Info{P: c.fpr()})}, nil
}

// words returns the number of words for c, or an error if c is out of range.
func (c Config) words() (uint64, error) {
	switch {
	case c.Bits != 8 && c.Bits != 16 && c.Bits != 32:
		return 0, form.NewParam("Bits", c.Bits, "none of 8, 16, 32").In("flower")
	case c.Ways < 1 || c.Ways > maxWays:
		return 0, form.NewParam("Ways", c.Ways, "outside [1, %d]", maxWays).In("flower")
	}
	perWord := 64 / uint64(c.Bits)
	if most := form.MaxFrameWords * perWord; c.Slots < uint64(c.Ways) || c.Slots > most {
		bad := form.NewParam("Slots", c.Slots, "outside [%d, %d] for %d ways of %d bits",
			c.Ways, most, c.Ways, c.Bits)
		return 0, bad.In("flower")
	}
	return (c.Slots + perWord - 1) / perWord, nil
}

func (c Config) text() string {
	return fmt.Sprintf("Slots = %d, Ways = %d, Bits = %d", c.Slots, c.Ways, c.Bits)
}

// newFilter returns a filter with words. c has passed Config.words.
func newFilter(c Config, words []uint64, info form.Info) filter {
	return filter{
		info:   form.Keep(info),
		words:  words,
		slots:  c.Slots,
		ways:   uint64(c.Ways),
		bits:   uint(c.Bits),
		mask:   1<<c.Bits - 1,
		perWay: c.Slots / uint64(c.Ways),
	}
}

// Config returns the configuration that f was made or saved with, which is zero for the zero
// Filter.
func (f *Filter) Config() Config {
	return Config{Slots: f.slots, Ways: int(f.ways), Bits: int(f.bits)}
}

// String describes f by its parameters.
func (f filter) String() string {
	if f.ways == 0 {
		return "flower.Filter(zero)"
	}
	return fmt.Sprintf("flower.Filter(%d slots of %d bits, %d ways)", f.slots, f.bits, f.ways)
}

// Add adds key, which [Filter.Contains] finds with probability Recall(t) after t other keys were
// added. Add reports whether key was new: whether Contains did not find it before. Both answers can
// be wrong, as those of Contains can. If other keys that are added during the calls write the same
// slots, several goroutines that add one key may get true, or none.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.ways == 0 {
		panic("flower: Add to a zero Filter: make it with New, or decode into it")
	}
	// These reads may miss the cache. Here their misses overlap; between the writes they would not.
	isNew := !f.ContainsHash(h)
	// The slot of way 0 decides which of several concurrent calls adds the key. The first call that
	// writes it did not find the key, because no other call had written any slot yet. The others
	// find the fingerprint there.
	x, step := h.Words()
	for way := range f.ways {
		word, shift, fingerprint := f.slot(way, x)
		x = nextX(x, step)
		for {
			old := atomic.LoadUint64(word)
			// The other bits of the word are other slots, which other goroutines may write now.
			now := old&^(f.mask<<shift) | fingerprint<<shift
			if old == now {
				isNew = isNew && way > 0
				break
			}
			if atomic.CompareAndSwapUint64(word, old, now) {
				break
			}
		}
	}
	return isNew
}

// AddBatch adds hs; see "Batches" in package bloom.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, f.AddBatch)
		return
	}
	added = bitwords.Fill("flower", added, len(hs))
	for i, h := range hs {
		added[i] = f.AddHash(h)
	}
}

// Contains reports whether key is found: a key that was added with the probability [Filter.Recall]
// of its age, and one that was never added with the probability FPR of [Filter.Stats].
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	x, step := h.Words()
	for way := range f.ways {
		word, shift, fingerprint := f.slot(way, x)
		x = nextX(x, step)
		if atomic.LoadUint64(word)>>shift&f.mask == fingerprint {
			return true
		}
	}
	return false
}

// ContainsBatch looks hs up; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("flower", found, len(hs))
	for i, h := range hs {
		found[i] = f.ContainsHash(h)
	}
}

// slot returns the slot that x selects in the given way, as its word and its shift in the word, and
// the fingerprint for it, which is at least 1. An empty slot has 0.
//
// A key has one slot in each way, with a fingerprint of its own, so its slots are overwritten
// independently of each other, and its fingerprints equal those of another key independently. That
// makes the formulas of Stats and Recall true even for few slots.
func (f *Filter) slot(way, x uint64) (word *uint64, shift, fingerprint uint64) {
	i, _ := bits.Mul64(x, f.perWay) // depends on the highest bits of x
	at := (way*f.perWay + i) * uint64(f.bits)
	return &f.words[at>>6], at & 63, uint64(uint32(x))*f.mask>>32 + 1
}

// nextX returns the x that selects the slot of the next way. The rotation makes other bits of x the
// highest, so that two keys with almost the same x in two ways have a different x in a third one.
// If nextX only added step, such keys would have almost the same x in all ways, and one would too
// often overwrite all slots of the other.
func nextX(x, step uint64) uint64 { return bits.RotateLeft64(x, 21) + step }

// Reset forgets all keys.
func (f *Filter) Reset() { bitwords.ClearAtomic(f.words) }

// Stats returns the statistics of f. It reads the whole filter. A slot counts as a bit: M is Slots,
// rounded down to a multiple of Ways, K is Ways, OnesCount is the number of slots that were
// written, and FillRatio their share. FPR is 1 - (1 - FillRatio/(2^Bits - 1))^Ways. ApproxCount
// estimates how many keys were ever added, until all slots are written.
func (f *Filter) Stats() bloom.Stats {
	if f.ways == 0 {
		return bloom.Stats{}
	}
	ones := uint64(0)
	for i := range f.words {
		word := atomic.LoadUint64(&f.words[i])
		for shift := f.bits / 2; shift > 0; shift /= 2 {
			word |= word >> shift // the lowest bit of a slot becomes 1 if any bit of it is 1
		}
		ones += uint64(bits.OnesCount64(word & (math.MaxUint64 / f.mask)))
	}
	m := f.perWay * f.ways
	ones = min(ones, m) // decoded bytes may have fingerprints in slots that are not used
	fill := float64(ones) / float64(m)
	return bloom.Stats{
		M:           m,
		K:           int(f.ways),
		OnesCount:   ones,
		FillRatio:   fill,
		ApproxCount: bloom.StatsOf(m, int(f.ways), ones).ApproxCount,
		FPR:         anyOf(fill/float64(f.mask), int(f.ways)),
		SizeBytes:   f.SizeBytes(),
	}
}

// LogValue returns what String returns.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// Recall returns the probability that Contains finds a key after t other keys were added. As t
// grows, it falls to the rate of false positives when all slots are written.
func (f *Filter) Recall(t uint64) float64 {
	if f.ways == 0 {
		return 0
	}
	return f.Config().recall(t)
}
