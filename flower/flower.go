// Package flower provides a filter that remembers recent keys better than old ones. Its memory is
// fixed, however many keys are added. It finds recurring events in an endless stream.
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
// to be found; [Filter.Recall] returns the probability for any age. A key that was never added is
// reported as present with probability FPR; see [Filter.Stats].
//
// The caller chooses an age, the probability of finding a key of that age, and the rate of false
// positives. [Optimal] returns the smallest filter for them; its memory is about proportional to
// the age. If keys must be found with certainty, or if their age is a time, use package window. A
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

// Filter remembers recent keys better than old ones. It is an array of slots. A slot is empty or
// holds a fingerprint of a few bits. A key has Ways slots; see [Config]. Adding a key writes a
// fingerprint to each of its slots, and overwrites what they held. The key is found until all of
// these are overwritten. Any number of goroutines may use a Filter; see "Goroutines" in package
// bloom. Adding keys and looking them up take no lock.
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. A Filter must not
// be copied.
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter has the data of a Filter. String and the encoding methods have value receivers, so that
// fmt, json and gob also find them in a Filter value.
type filter struct {
	info  form.Kept
	words []uint64 // the slots; slot 0 is in the lowest bits of the first word
	slots uint64
	ways  uint64
	bits  uint // number of bits in a slot

	mask   uint64 // 1<<bits - 1
	perWay uint64 // number of slots in each way; way w begins at slot w*perWay
}

// Config configures a Filter. [Optimal] returns the smallest one for an age, a recall and a rate of
// false positives.
type Config struct {
	// Slots is the number of slots: at least Ways, and at most as many as fit in a tebibyte, or in
	// about 2 GiB on 32-bit platforms. If it is not a multiple of Ways, the remainder is not used.
	Slots uint64
	// Ways is the number of slots to which each key is written, from 1 to 64. With more ways,
	// recent keys are usually more likely to be found, and old keys less likely.
	Ways int
	// Bits is the size of a slot in bits: 8, 16 or 32. When all slots are full, a key that was
	// never added is reported as present with probability 1 - (1 - 1/(2^Bits - 1))^Ways.
	Bits int
}

const maxWays = 64

// New returns an empty filter of about Slots*Bits/8 bytes. If a field is out of range, the error
// names it. If the machine has too little memory, the process ends, as with make. In the filter's
// Info, N is 0, and P is the rate of false positives when all slots are full.
func New(c Config) (*Filter, error) {
	words, bad := c.words()
	if bad != nil {
		return nil, bad.In("flower")
	}
	return &Filter{filter: newFilter(c, bitwords.Make(int(words)), form.Info{P: c.fpr()})}, nil
}

// words returns the number of words that c needs, or a Param if c is out of range.
func (c Config) words() (uint64, *form.Param) {
	switch {
	case c.Bits != 8 && c.Bits != 16 && c.Bits != 32:
		return 0, form.NewParam("Bits", c.Bits, "not 8, 16 or 32")
	case c.Ways < 1 || c.Ways > maxWays:
		return 0, form.NewParam("Ways", c.Ways, "outside [1, %d]", maxWays)
	}
	perWord := 64 / uint64(c.Bits)
	if limit := form.MaxFrameWords * perWord; c.Slots < uint64(c.Ways) || c.Slots > limit {
		return 0, form.NewParam("Slots", c.Slots, "outside [%d, %d] for %d ways of %d bits",
			c.Ways, limit, c.Ways, c.Bits)
	}
	return (c.Slots + perWord - 1) / perWord, nil
}

func (c Config) text() string {
	return fmt.Sprintf("Slots = %d, Ways = %d, Bits = %d", c.Slots, c.Ways, c.Bits)
}

// newFilter returns a filter for c that uses words, without copying them. c must be valid.
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

// Config returns the Config that f was made or saved with. It is zero for the zero Filter.
func (f *Filter) Config() Config {
	return Config{Slots: f.slots, Ways: int(f.ways), Bits: int(f.bits)}
}

// String returns the name of f's type and its parameters.
func (f filter) String() string {
	if f.ways == 0 {
		return "flower.Filter(zero)"
	}
	return fmt.Sprintf("flower.Filter(%d slots of %d bits, %d ways)", f.slots, f.bits, f.ways)
}

// Add adds key. After t other keys were added, [Filter.Contains] finds key with probability
// Recall(t). Add reports whether key was new: true means that Contains would not have found it. As
// with Contains, both answers can be wrong. If several goroutines add the same new key while other
// keys are written to its slots, none or several of them may get true.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.ways == 0 {
		panic("flower: Add to a zero Filter: make it with New, or decode into it")
	}
	// ContainsHash reads the slots before the first write, so that their cache misses overlap.
	isNew := !f.ContainsHash(h)
	// If several calls add a new key concurrently, usually only the first to write to the slot of
	// way 0 gets true. The others find the fingerprint there.
	x, step := h.Words()
	for way := range f.ways {
		word, shift, fingerprint := f.slot(way, x)
		x = nextX(x, step)
		for {
			old := atomic.LoadUint64(word)
			// The other bits belong to other slots, which other goroutines may write at the same
			// time.
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

// Contains reports whether key is found. A key that was added is found with the probability that
// [Filter.Recall] returns for its age, and a key that was never added with probability FPR; see
// [Filter.Stats].
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

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (f *Filter) ContainsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("flower", found, len(hs))
	for i, h := range hs {
		found[i] = f.ContainsHash(h)
	}
}

// slot returns the slot that x selects in the given way, as a word and a shift, and the fingerprint
// to write there. A fingerprint is at least 1, and an empty slot is 0.
//
// A key has one slot in each way, and the fingerprints in these slots are independent. So the
// formulas of Stats and Recall hold even for few slots.
func (f *Filter) slot(way, x uint64) (word *uint64, shift, fingerprint uint64) {
	i, _ := bits.Mul64(x, f.perWay) // depends on the highest bits of x
	pos := (way*f.perWay + i) * uint64(f.bits)
	return &f.words[pos>>6], pos & 63, uint64(uint32(x))*f.mask>>32 + 1
}

// nextX returns the x for the next way. Without the rotation, two keys with almost the same x and
// step would have almost the same x in every way, and one would too often overwrite all slots of
// the other.
func nextX(x, step uint64) uint64 { return bits.RotateLeft64(x, 21) + step }

// Reset removes all keys. f keeps its memory, Config and Info.
func (f *Filter) Reset() { bitwords.ClearAtomic(f.words) }

// Stats returns the statistics of f, and reads the whole filter. Slots take the place of bits: M is
// Slots, rounded down to a multiple of Ways. K is Ways. OnesCount is the number of full slots, and
// FillRatio is the fraction of full slots. FPR is 1 - (1 - FillRatio/(2^Bits - 1))^Ways. Until all
// slots are full, ApproxCount estimates the number of keys that were added.
func (f *Filter) Stats() bloom.Stats {
	if f.ways == 0 {
		return bloom.Stats{}
	}
	ones := uint64(0)
	for i := range f.words {
		word := atomic.LoadUint64(&f.words[i])
		for shift := f.bits / 2; shift > 0; shift /= 2 {
			word |= word >> shift // the lowest bit of a slot becomes 1 if any of its bits is 1
		}
		ones += uint64(bits.OnesCount64(word & (math.MaxUint64 / f.mask)))
	}
	m := f.perWay * f.ways
	ones = min(ones, m) // decoded bytes may have fingerprints in unused slots
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

// LogValue implements slog.LogValuer. The value is the result of String.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

// Recall returns the probability that Contains finds a key after t other keys were added. As t
// grows, the probability falls to the false-positive rate of a full filter. For the zero Filter, it
// is 0.
func (f *Filter) Recall(t uint64) float64 {
	if f.ways == 0 {
		return 0
	}
	return f.Config().recall(t)
}
