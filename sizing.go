package bloom

import (
	"math"
	"math/big"
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
	m := -float64(max(n, 1)) * ln(p) / (ln2 * ln2)
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
// (1 - e^(-kn/m))^k, Bloom's approximation. Double hashing adds about 0.7/m, as
// some probes share bits: 8 % of the rate for n = 100 at p = 1 %, 45 % at 0.1 %,
// a tenth of that for ten times the keys. It is 1 if m is 0 and n is not.
func FalsePositiveRate(m uint64, k int, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return math.Pow(-math.Expm1(-float64(k)*float64(n)/float64(m)), float64(k))
}

// lnPrec is the working precision of ln in bits. The hardest float64 arguments
// need 118 (Lefèvre and Muller, Worst Cases for Correct Rounding of the
// Elementary Functions in Double Precision, 2001).
const lnPrec = 192

// ln returns the natural logarithm of x correctly rounded to float64.
// math.Log can be off by an ulp, in a direction that depends on the
// architecture, and one ulp is enough to make a filter a word longer or
// shorter than Guava's.
func ln(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x) // NaN or an infinity
	}
	// x = f 2^e with f in [sqrt(1/2), sqrt(2)), so that the two terms of
	// ln f + e ln 2 cannot cancel: e is 0 for all x near 1.
	f, e := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, e = 2*f, e-1
	}
	bigF := newBig(f)
	one := newBig(1)
	sum := atanh2(newBig(0).Sub(bigF, one), newBig(0).Add(bigF, one))
	ln2 := atanh2(one, newBig(3))
	sum.Add(sum, ln2.Mul(ln2, newBig(float64(e))))
	r, _ := sum.Float64()
	return r
}

// atanh2 returns 2 atanh(num/den) = ln((den+num)/(den-num)) for
// |num/den| < 0.2 by its power series.
func atanh2(num, den *big.Float) *big.Float {
	z := newBig(0).Quo(num, den)
	z2 := newBig(0).Mul(z, z)
	power := newBig(0).Add(z, z)
	sum, term := newBig(0), newBig(0)
	for i := 1.0; power.Sign() != 0; i += 2 {
		term.Quo(power, newBig(i))
		if sum.Add(sum, term); term.MantExp(nil) < sum.MantExp(nil)-lnPrec {
			break
		}
		power.Mul(power, z2)
	}
	return sum
}

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(lnPrec).SetFloat64(x) }
