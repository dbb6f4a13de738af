// Package foreign uses the Bloom filters that other libraries wrote, in the other libraries'
// bytes: [BitsAndBlooms] those of bits-and-blooms/bloom and willf/bloom, [Holiman] those of
// holiman/bloomfilter/v2, [DCSO] those of DCSO/bloom, such as CIRCL's hashlookup file.
//
// A filter answers exactly as the library that wrote it does. It takes more keys, and
// WriteTo writes bytes that the other library reads. So a program can change its
// import and keep its files, and peers can change one after the other.
//
// A constructor copies the bytes that it gets. It refuses what the other library does not
// write, and filters of more than 1,024 hashes or 2^43 bits. Its errors wrap [bloom.ErrFormat].
// It takes no more memory than a small multiple of the bytes, or what [NewHoliman] says of
// gzip. Only Holiman's form has a checksum: a flipped bit in the others goes unnoticed.
//
// For new filters take package bloom or blocked. They need less time for a key, and
// their files have checksums.
package foreign

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	maxM = 1 << 43
	maxK = 1024 // of a rate of 1e-300
)

// table is a filter's bits.
type table struct {
	_          nocopy.Locker
	words      []uint64
	m          uint64
	reciprocal uint64
	k          int
	size       int64 // of the binary form
}

// decoded returns what a constructor returns.
func decoded[F any](f *F, err error) (*F, error) {
	if err != nil {
		return nil, form.Errorf("foreign", "%w", err)
	}
	return f, nil
}

// checkSizes returns an error unless a filter may have m bits, and k of them for a key.
func checkSizes(m, k uint64) error {
	switch {
	case m < 1 || m > maxM:
		return fmt.Errorf("m = %d is outside [1, %d]", m, uint64(maxM))
	case k < 1 || k > maxK:
		return fmt.Errorf("k = %d is outside [1, %d]", k, maxK)
	}
	return nil
}

// wordsFor returns the number of words that the bits take.
func wordsFor(bits uint64) uint64 { return bits/64 + (bits%64+63)/64 }

// init sets t to words, which have the given number of bits. t uses the first m of them. It
// returns an error if words have bits beyond.
func (t *table) init(words []uint64, bits, m, k uint64, size int64) error {
	if rest := bits % 64; rest != 0 && words[bits/64]>>rest != 0 {
		return fmt.Errorf("bits beyond %d are set", bits)
	}
	t.words, t.m, t.reciprocal, t.k, t.size = words, m, math.MaxUint64/m, int(k), size
	return nil
}

// locate returns the word that has bit x mod m, and the bit in it. The reciprocal is at
// least 2^64/m - 1, so the quotient is floor(x/m) or one less.
func (t *table) locate(x uint64) (word *uint64, bit uint64) {
	q, _ := bits.Mul64(x, t.reciprocal)
	x -= q * t.m
	if x >= t.m {
		x -= t.m
	}
	return &t.words[x>>6], 1 << (x & 63)
}

// has reports whether bit x mod m is set.
func (t *table) has(x uint64) bool {
	word, bit := t.locate(x)
	return *word&bit != 0
}

// set sets bit x mod m and reports whether it was clear.
func (t *table) set(x uint64) bool {
	word, bit := t.locate(x)
	old := *word
	*word = old | bit
	return old&bit == 0
}

// takesKeys panics if t is a zero value's.
func (t *table) takesKeys() {
	if t.k == 0 {
		panic("foreign: Add to a zero filter: make it with a constructor")
	}
}

// M returns the number of bits.
func (t *table) M() uint64 { return t.m }

// K returns the number of bits that a key sets.
func (t *table) K() int { return t.k }

// Stats counts the bits set and returns the figures of the filter. SizeBytes is the length
// of the other library's binary form, without JSON and gzip.
func (t *table) Stats() bloom.Stats {
	s := bloom.Stats{M: t.m, K: t.k, SizeBytes: t.size}
	if t.k > 0 {
		s.OnesCount = bitwords.OnesCount(t.words)
		ones := min(t.m, s.OnesCount) // a bit set that is longer than m may have more
		s.FillRatio = float64(ones) / float64(t.m)
		s.ApproxCount = bloom.StatsOf(t.m, t.k, ones).ApproxCount
		s.FPR = portable.Power(s.FillRatio, uint64(t.k))
	}
	return s
}
