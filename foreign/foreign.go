// Package foreign reads, changes and writes the Bloom filters of other libraries in their own
// formats: [BitsAndBlooms], [Holiman], [DCSO], and Apache [Spark].
//
//	data, err := os.ReadFile("seen.bloom") // from bits-and-blooms' WriteTo
//	if err != nil {
//		return err
//	}
//	seen, err := foreign.NewBitsAndBlooms(data)
//	if err != nil {
//		return err
//	}
//	seen.AddString("ada")
//	found := seen.ContainsString("ada")
//	_, err = seen.WriteTo(conn) // bits-and-blooms reads this
//
// A filter gives the same answers as in the library that wrote it. Keys can be added to it, and
// that library can read what WriteTo writes. This package cannot make a new filter; "Keep your
// files" in docs/migrate.md says how to get one.
//
// A constructor does not retain its argument. Apart from small buffers, it allocates at most a
// small multiple of the argument's length, or of the decompressed length for gzip (see
// [NewHoliman]). It returns an error that wraps [bloom.ErrFormat] if bytes of the filter are
// missing, if sizes contradict each other, or if the filter has more than 1,024 hash functions or
// 2^43 bits. Only Holiman's binary form has a checksum. Many goroutines may look keys up in a
// filter concurrently; adding, decoding and writing need the filter to themselves. The zero value
// of each type contains nothing; adding to it panics.
package foreign

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	maxM = 1 << 43
	maxK = 1024 // a rate of 1e-300 needs 997
)

// table has a filter's bits. Each exported type embeds an unexported struct that has a table. The
// String and encoding methods of that struct have value receivers, so that fmt, json and gob also
// call them for a filter that is held by value.
type table struct {
	words      []uint64
	m          uint64 // number of bits
	reciprocal uint64 // floor((2^64-1)/m); see locate
	k          int    // number of hash functions
	size       int64  // length of the binary form in bytes
}

// newTable returns a table of the first m bits of words, a bit set with the given length. It
// returns an error if a bit beyond this length is set.
func newTable(words []uint64, length, m, k uint64, size int64) (table, error) {
	if rest := length % 64; rest != 0 && words[length/64]>>rest != 0 {
		return table{}, fmt.Errorf("bits beyond %d are set", length)
	}
	return table{words: words, m: m, reciprocal: math.MaxUint64 / m, k: int(k), size: size}, nil
}

func checkSizes(m, k uint64) error {
	switch {
	case m < 1 || m > maxM:
		return fmt.Errorf("m = %d is outside [1, %d]", m, uint64(maxM))
	case k < 1 || k > maxK:
		return fmt.Errorf("k = %d is outside [1, %d]", k, maxK)
	}
	return nil
}

func wordsFor(bits uint64) uint64 { return bits/64 + (bits%64+63)/64 }

func checkLength(data []byte, size uint64) error {
	have := uint64(len(data))
	switch {
	case have < size:
		return form.ErrTruncated
	case have > size:
		return fmt.Errorf("%d bytes follow the filter", have-size)
	}
	return nil
}

var errZipped = errors.New("it is compressed with gzip: unpack it first")

// decodeError wraps err, unless it is nil, in an error that also wraps bloom.ErrFormat.
func decodeError(err error) error {
	if err == nil {
		return nil
	}
	return form.Errorf("foreign", "%w", err)
}

// isNull reports whether data is JSON's null. By convention, UnmarshalJSON then changes nothing.
func isNull(data []byte) bool { return string(data) == "null" }

// locate returns the word that has bit x mod m, and a mask with that bit. The reciprocal is at
// least 2^64/m - 1, so q is floor(x/m) or one less.
func (t *table) locate(x uint64) (word *uint64, bit uint64) {
	q, _ := bits.Mul64(x, t.reciprocal)
	x -= q * t.m
	if x >= t.m {
		x -= t.m
	}
	return &t.words[x>>6], 1 << (x & 63)
}

func (t *table) isSet(x uint64) bool {
	word, bit := t.locate(x)
	return *word&bit != 0
}

// set sets bit x mod m. It reports whether the bit was clear.
func (t *table) set(x uint64) bool {
	word, bit := t.locate(x)
	old := *word
	*word = old | bit
	return old&bit == 0
}

func (t *table) checkMade() {
	if t.k == 0 {
		panic("foreign: Add to a zero filter: make it with a constructor")
	}
}

// M returns the number of bits, which need not be a multiple of 64.
func (t *table) M() uint64 { return t.m }

// K returns the number of hash functions. A key sets at most K bits.
func (t *table) K() int { return t.k }

// Stats returns the statistics of the filter, and counts all bits. SizeBytes is the length of the
// other library's binary form, without JSON or gzip. FPR is the fill ratio to the power of K. With
// few bits, the actual rate may be higher, because a key's indexes may repeat.
func (t *table) Stats() bloom.Stats {
	s := bloom.Stats{M: t.m, K: t.k, SizeBytes: t.size}
	if t.k > 0 {
		s.OnesCount = bitwords.OnesCount(t.words)
		ones := min(t.m, s.OnesCount) // a bit set that is longer than m may have more than m ones
		s.FillRatio = float64(ones) / float64(t.m)
		s.ApproxCount = bloom.StatsOf(t.m, t.k, ones).ApproxCount
		s.FPR = portable.Power(s.FillRatio, uint64(t.k))
	}
	return s
}

func (t *table) describe(name string) string {
	if t.k == 0 {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(m=%d, k=%d)", name, t.m, t.k)
}

// noText has the MarshalJSON and MarshalText of types for which the other library has neither a
// JSON form nor a text form.
type noText struct{}

var errNoText = errors.New(
	"foreign: the original library has neither JSON nor text: store the bytes of WriteTo")

// MarshalJSON returns an error, because the original has no JSON form. Store the output of WriteTo
// instead.
func (noText) MarshalJSON() ([]byte, error) { return nil, errNoText }

// MarshalText returns an error, because the original has no text form. Store the output of WriteTo
// instead.
func (noText) MarshalText() ([]byte, error) { return nil, errNoText }
