package bloom

import (
	"fmt"
	"math"
	"sort"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/portable"
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
	m := -float64(max(n, 1)) * portable.Ln(p) / (ln2 * ln2)
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
// It is Guava's up to version 33.3. From 33.4 on Guava has round(log2(1/p)) hashes, which is
// one more for a few n: for n = 1 and 3 at p = 1 %, and for no n at 10 %, 5 %, 2 % and
// 0.1 %. A filter that was read back has the k of its bytes.
func OptimalK(m, n uint64) int {
	// The two differ exactly where log2(1/p) > 1.5 exceeds a half-integer by less
	// than t ln 2/n, t < 1 being the fraction of a bit that OptimalM truncates.
	k := math.Round(float64(m) / float64(max(n, 1)) * math.Ln2)
	return int(min(max(k, 1), math.MaxInt32))
}

// FalsePositiveRate returns the probability that a filter of m bits and k
// hashes, holding n keys, reports a key that was never added:
// (1 - e^(-kn/m))^k, Bloom's approximation. Double hashing adds to that; see [New].
// It is 1 for k < 1. It is also 1 for m = 0 and n > 0. It is the same on every
// architecture. Its relative error is below k * 1e-15.
func FalsePositiveRate(m uint64, k int, n uint64) float64 {
	switch {
	case k < 1:
		return 1
	case n == 0:
		return 0
	}
	return guava.Rate(m, k, n)
}

// SizeFor returns the least number of bits, a multiple of 64, and the number of hashes
// with which a filter of n distinct keys has a false-positive rate of at most p, including
// what double hashing adds; see [New]. Pass both to [NewSize]. n = 0 counts as 1. SizeFor
// returns an error as New does.
func SizeFor(n uint64, p float64) (m uint64, k int, err error) {
	_, k, err = optimal(n, p)
	if err != nil {
		return 0, 0, err
	}
	n = max(n, 1)
	// Further hashes would not help: in a lightly filled filter, what double hashing adds
	// is 2.5 n/m^2, whatever k is. So the largest filter is too small for a rate that wants
	// more than MaxK hashes.
	enough := func(words int) bool { return guava.Most(64*uint64(words), k, n) <= p }
	// Among odd numbers of words, more are better. Of the even ones some are worse than
	// smaller ones: powers of two, and three times these.
	words := 1 + 2*sort.Search(form.MaxWords/2+1, func(i int) bool { return enough(1 + 2*i) })
	if words > form.MaxWords {
		return 0, 0, fmt.Errorf("bloom: n = %d, p = %v need more than %d bits; package blocked has larger filters", n, p, uint64(form.MaxWords)*64)
	}
	if words > 1 && enough(words-1) {
		words--
	}
	return 64 * uint64(words), k, nil
}

// capacity inverts OptimalM where k is the number of hashes that New takes for the
// result, and FalsePositiveRate elsewhere.
func capacity(m uint64, k int, p float64) uint64 {
	switch {
	case !(p > 0) || k < 1:
		return 0
	case p >= 1:
		return math.MaxUint64
	}
	if n := float64(m+1) * math.Ln2 * math.Ln2 / -portable.Log(p); n < 1<<52 {
		n := uint64(n)
		for ; n > 0 && OptimalM(n, p) > m; n-- { // twice at most; OptimalM truncates
		}
		if n > 0 && OptimalK(OptimalM(n, p), n) == k {
			return n
		}
	}
	n := -float64(m) / float64(k) * portable.LogOneMinus(portable.Exp(portable.Log(p)/float64(k)))
	if !(n < math.MaxInt64) {
		return math.MaxInt64
	}
	return uint64(n)
}
