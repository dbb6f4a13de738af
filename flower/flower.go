// Package flower provides a filter that remembers recent keys better than old
// ones, in memory that is fixed however many keys are added. It tells which events
// of an endless stream recur.
//
// A [Filter] is an array of slots, each of which is empty or holds a fingerprint of a
// few bits. A key writes its fingerprint into several slots, over whatever is there.
// It is found while any of them still has its fingerprint. So only the key that was
// added last is certainly found. A key's age is the number of other keys that were
// added after it. The older a key is, the less likely it is found.
// [Filter.Recall] tells the probability for each age. A key that was never added is
// reported as present with a probability that [Filter.FPR] tells.
//
// The caller supplies an age, the probability of finding a key of that age, and the
// rate of false positives. [Optimal] finds the smallest array for them. Its memory is
// in proportion to the age: at 1 % false positives, an age of a million takes
// 5.2 MB to find 90 % of the keys, and 18.9 MB to find 99 %. Younger keys are found
// more surely, and older ones less.
//
// Take package window where keys must certainly be found, or where their age is
// measured in time. A window takes about 2.1 MB for a million keys at 1 %. Its caller
// must know how many keys there will be. A [picture] shows how windows and flowers of
// one size forget.
//
// [picture]: https://github.com/seed79a3ff49/bloom/blob/main/docs/memory.svg
package flower

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Filter remembers recent keys better than old ones. It is safe for use by many
// goroutines at once, except for decoding, which needs the Filter to itself. It
// takes no locks.
//
// The zero Filter contains nothing and can be decoded into. Adding to it panics. A
// Filter must not be copied.
type Filter struct {
	info bloom.Info
	mark
	words []uint64 // of slots, from the least significant bits of the first word on
	slots uint64
	ways  int
	bits  uint
}

type mark = nocopy.Mark

// Config configures a Filter. The useful settings are 8 bits with 1 to 3 ways, and
// 16 bits with 4 to 32 ways.
type Config struct {
	// Slots is how many fingerprints there is room for, at least 1.
	Slots uint64
	// Ways is how many slots a key writes, from 1 to 64. With more ways, recent
	// keys are found more surely, and old keys less.
	Ways int
	// Bits is the size of a fingerprint: 8, 16 or 32. Once all slots are
	// written, a key that was never added is reported as present with
	// probability 1 - (1 - 1/(2^Bits - 1))^Ways.
	Bits int
}

const maxWays = 64

// New returns an empty filter, which takes Slots*Bits/8 bytes. It returns
// an error that names the field if one is out of range. Where the machine lacks the
// memory the process ends, as with make.
func New(c Config) (*Filter, error) {
	words, err := c.words()
	if err != nil {
		return nil, err
	}
	return &Filter{words: memory.Words(int(words)), slots: c.Slots, ways: c.Ways, bits: uint(c.Bits)}, nil
}

// words returns the number of words for c, and an error if it is out of range.
func (c Config) words() (uint64, error) {
	switch {
	case c.Bits != 8 && c.Bits != 16 && c.Bits != 32:
		return 0, fmt.Errorf("flower: Bits = %d is none of 8, 16, 32", c.Bits)
	case c.Ways < 1 || c.Ways > maxWays:
		return 0, fmt.Errorf("flower: Ways = %d is outside [1, %d]", c.Ways, maxWays)
	}
	perWord := 64 / uint64(c.Bits)
	if c.Slots < 1 || c.Slots > frame.MaxWords*perWord {
		return 0, fmt.Errorf("flower: Slots = %d is outside [1, %d] for %d bits", c.Slots, frame.MaxWords*perWord, c.Bits)
	}
	return (c.Slots + perWord - 1) / perWord, nil
}

// Config returns the configuration of f: what New was given, or what the bytes say
// that f was decoded from. The zero Filter has the zero Config.
func (f *Filter) Config() Config { return Config{f.slots, f.ways, int(f.bits)} }

// String describes f in a few words. It does not list keys.
func (f *Filter) String() string {
	return fmt.Sprintf("flower.Filter(%d slots of %d bits, %d ways)", f.slots, f.bits, f.ways)
}

// Add adds key. [Filter.Contains] finds it with probability Recall(t) after t other
// keys were added. Add reports whether key was not found before: both answers may be
// wrong, as those of Contains may. Of several goroutines that add a new key at once,
// more than one may get true. Add does not retain key.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.ways == 0 {
		panic(errZero)
	}
	// Looking first keeps a key that has a slot twice from finding itself, and
	// lets the reads, which may miss the cache, overlap as the writes do not.
	seen := f.ContainsHash(h)
	fingerprint := f.fingerprint(h)
	x, step := h.Words()
	for range f.ways {
		word, shift := f.slot(x)
		x += step
		for {
			old := atomic.LoadUint64(word)
			// The rest of the word is other slots, which others may be writing.
			now := old&^(f.mask()<<shift) | fingerprint<<shift
			if old == now || atomic.CompareAndSwapUint64(word, old, now) {
				break
			}
		}
	}
	return !seen
}

// Contains reports whether key is found. It finds a key that was added with the
// probability that [Filter.Recall] tells for its age, and one that was never added
// with the probability that [Filter.FPR] tells.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	fingerprint := f.fingerprint(h)
	x, step := h.Words()
	for range f.ways {
		word, shift := f.slot(x)
		x += step
		if atomic.LoadUint64(word)>>shift&f.mask() == fingerprint {
			return true
		}
	}
	return false
}

const errZero = "flower: Add to a zero Filter: make it with New, or decode into it"

func (f *Filter) mask() uint64 { return 1<<f.bits - 1 }

// fingerprint returns h's fingerprint, from 1 on, as an empty slot has 0. It
// takes the low half of H1, where slot takes the high bits.
func (f *Filter) fingerprint(h bloom.Hash) uint64 {
	h1, _ := h.Words()
	return 1 + uint64(uint32(h1))*f.mask()>>32
}

// slot returns the word with the slot that x, h1 + i*h2, selects, and where in
// the word it is.
func (f *Filter) slot(x uint64) (word *uint64, shift uint64) {
	i, _ := bits.Mul64(x, f.slots)
	i *= uint64(f.bits)
	return &f.words[i>>6], i & 63
}

// FPR returns the probability that a key which was never added is reported as
// present now: 1 - (1 - w/(2^Bits - 1))^Ways, where w is the share of slots that
// were written. It reads the whole filter.
func (f *Filter) FPR() float64 {
	if f.ways == 0 {
		return 0
	}
	ones, all := uint64(0), f.lowest()
	for i := range f.words {
		word := atomic.LoadUint64(&f.words[i])
		for shift := f.bits / 2; shift > 0; shift /= 2 {
			word |= word >> shift // all of a slot's bits arrive at its lowest
		}
		ones += uint64(bits.OnesCount64(word & all))
	}
	written := float64(ones) / float64(f.slots)
	return -math.Expm1(float64(f.ways) * math.Log1p(-written/float64(f.mask())))
}

// lowest returns a word with the lowest bit of every slot.
func (f *Filter) lowest() uint64 { return math.MaxUint64 / f.mask() }

// Recall returns the probability that Contains finds a key after t other keys were
// added, in a filter whose slots had all been written before. As t grows, it falls to
// the rate of false positives.
func (f *Filter) Recall(t uint64) float64 {
	// Of the key's n slots each one still has the key's fingerprint with probability
	// q = (1-1/s)^(nt), where s is Slots. Otherwise it has another key's, which may be
	// the same. So the probability is 1 - (1 - (q + (1-q) 2^-Bits))^n.
	if f.ways == 0 {
		return 0
	}
	return recall(float64(t), float64(f.slots), float64(f.ways), f.bits)
}
