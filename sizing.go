package bloom

import (
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/ln"
)

// OptimalM returns the number of bits that a filter of n keys needs for a
// false-positive rate of p with the best number of hashes:
// -n ln p / (ln 2)^2, truncated, before rounding up to whole 64-bit words.
// It is Guava's optimalNumOfBits to the bit, on every architecture: n = 0
// counts as 1, p = 0 as the smallest positive float64, and results above
// math.MaxInt64 as math.MaxInt64. For p >= 1 and NaN it is 0.
func OptimalM(n uint64, p float64) uint64 {
	if p == 0 {
		p = math.SmallestNonzeroFloat64
	}
	var ln2 = math.Ln2 // a variable: ln2*ln2 must round like Java's, not be exact
	m := -float64(max(n, 1)) * ln.Ln(p) / (ln2 * ln2)
	switch {
	case m >= math.MaxInt64:
		return math.MaxInt64
	case m >= 0:
		return uint64(m)
	default: // negative or NaN
		return 0
	}
}

// OptimalK returns the number of hashes with which m bits and n keys give the
// fewest false positives: m/n ln 2, rounded, and at least 1. m is what OptimalM
// returns. n = 0 counts as 1.
//
// It is Guava's up to version 33.3. From 33.4 on Guava takes round(log2(1/p)),
// which is one more exactly where log2(1/p) > 1.5 exceeds a half-integer by less
// than t ln 2/n, t < 1 being the fraction of a bit that OptimalM truncates: at
// p = 1 % for n = 1 and 3 only, at 10 %, 5 %, 2 % and 0.1 % for no n. A filter
// read back has the k that its bytes say.
func OptimalK(n, m uint64) int {
	k := math.Round(float64(m) / float64(max(n, 1)) * math.Ln2)
	return int(min(max(k, 1), math.MaxInt32))
}

// FalsePositiveRate returns the probability that a filter of m bits and k
// hashes, holding n keys, reports a key that was never added:
// (1 - e^(-kn/m))^k, Bloom's approximation. Double hashing adds to that; see [New].
// With no hashes or no bits every key is reported: it is 1 for k < 1, and for
// m = 0 unless n is 0.
func FalsePositiveRate(m uint64, k int, n uint64) float64 {
	switch {
	case k < 1:
		return 1
	case n == 0:
		return 0
	}
	return math.Pow(-math.Expm1(-float64(k)*float64(n)/float64(m)), float64(k))
}

// doubleHashing returns, within a factor of about two, by how much a Mitz64 filter's
// rate exceeds fill^k. (A Mitz32 filter's exceeds it by a sixth of that to all of
// it.) Indexes are not independent. If a small multiple s of H2 is a multiple of m,
// there are only s different ones, except that each overflow of 63 bits shifts those
// that follow by a constant. All numbers of overflows are about equally likely, so
// the chance of such keys to find the few bits that they ask for adds up to about
// 2.5 f/((1-f)^2 k m). Shifts come round after as many as m has odd parts: then there
// are no more different indexes, however many overflows, which matters where m is a
// power of two, or three times that. TestDoubleHashing measures all this.
func doubleHashing(fill float64, m uint64, k int) float64 {
	fill = min(fill, 0.5) // above, fill^k is all that matters
	odd := float64(m >> bits.TrailingZeros64(m))
	residues := min(odd, 2) // of H2: 0 and the constant, which are one if m is a power of two
	few := residues * (math.Pow(fill, odd) + math.Pow(fill, 2*odd))
	return (2.5*fill/((1-fill)*(1-fill)*float64(k)) + few) / float64(m)
}

// approxCount inverts the expected number of ones; see [Filter.ApproxCount].
func approxCount(m uint64, k int, ones uint64) uint64 {
	fill := float64(ones) / float64(m)
	if ones == m {
		fill = (float64(m) - 0.5) / float64(m)
	}
	return uint64(math.Round(-math.Log1p(-fill) * float64(m) / float64(k)))
}

// capacity inverts OptimalM where k is the best number of hashes for the result, as
// it is in filters that New made, and FalsePositiveRate elsewhere.
func capacity(m uint64, k int, p float64) uint64 {
	switch {
	case !(p > 0) || k < 1:
		return 0
	case p >= 1:
		return math.MaxUint64
	}
	if n := float64(m) * math.Ln2 * math.Ln2 / -math.Log(p); n >= 1 && n < math.MaxInt64 && OptimalK(uint64(n), m) == k {
		return uint64(n)
	}
	n := -float64(m) / float64(k) * math.Log1p(-math.Pow(p, 1/float64(k)))
	if !(n < math.MaxInt64) {
		return math.MaxInt64
	}
	return uint64(n)
}
