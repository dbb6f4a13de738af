package guava

import (
	"math"
	"math/bits"
)

// FPR returns the rate of a Mitz64 filter of m bits and k hashes of which so many bits
// are set.
func FPR(m uint64, k int, ones uint64) float64 {
	fill := float64(ones) / float64(m)
	return max(math.Pow(fill, float64(k)), DoubleHashing(fill, m, k))
}

// DoubleHashing returns, within a factor of about two, by how much a Mitz64 filter's
// rate exceeds fill^k. (A Mitz32 filter's exceeds it by a sixth of that to all of
// it.) Indexes are not independent. If a small multiple s of H2 is a multiple of m,
// there are only s different ones, except that each overflow of 63 bits shifts those
// that follow by a constant. All numbers of overflows are about equally likely, so
// the chance of such keys to find the few bits that they ask for adds up to about
// 2.5 f/((1-f)^2 k m). Shifts come round after as many as m has odd parts: then there
// are no more different indexes, however many overflows, which matters where m is a
// power of two, or three times that. TestDoubleHashing of package bloom measures all
// this.
func DoubleHashing(fill float64, m uint64, k int) float64 {
	fill = min(fill, 0.5) // above, fill^k is all that matters
	odd := float64(m >> bits.TrailingZeros64(m))
	residues := min(odd, 2) // of H2: 0 and the constant, which are one if m is a power of two
	few := residues * (math.Pow(fill, odd) + math.Pow(fill, 2*odd))
	return (2.5*fill/((1-fill)*(1-fill)*float64(k)) + few) / float64(m)
}

// ApproxCount inverts the expected number of ones: it is the number of keys that a
// filter of m bits and k hashes seems to hold.
func ApproxCount(m uint64, k int, ones uint64) uint64 {
	fill := float64(ones) / float64(m)
	if ones == m {
		fill = (float64(m) - 0.5) / float64(m)
	}
	return uint64(math.Round(-math.Log1p(-fill) * float64(m) / float64(k)))
}

// Rate returns (1 - e^(-kn/m))^k, Bloom's approximation of the rate of a filter of m bits
// and k >= 1 hashes that holds n keys.
func Rate(m uint64, k int, n uint64) float64 { return power(fillRatio(m, k, n), k) }

// Most returns what the rate of a Mitz64 filter is at most: Rate, and twice DoubleHashing,
// which is within a factor of two.
func Most(m uint64, k int, n uint64) float64 {
	fill := fillRatio(m, k, n)
	return power(fill, k) + 2*DoubleHashing(fill, m, k)
}

// fillRatio returns 1 - e^(-kn/m), the expected fraction of bits set. Package
// math has versions in assembly and others that fuse, with different last bits. Here
// products are converted before they are added, which keeps them from being fused.
func fillRatio(m uint64, k int, n uint64) float64 {
	x := float64(k) * float64(n) / float64(m)
	if !(x < 64) {
		return 1
	}
	halvings := 0
	for ; x > 1.0/8; x /= 2 {
		halvings++
	}
	sum := 1.0
	for i := 13.0; i > 1; i-- { // x - x^2/2 + x^3/6 - ..., from the last term
		sum = 1 - float64(sum*x/i)
	}
	y := sum * x
	for range halvings { // 1 - e^-2x = y (2 - y)
		y *= 2 - y
	}
	return y
}

// power returns x^k for k >= 1.
func power(x float64, k int) float64 {
	result := 1.0
	for ; k > 0; k >>= 1 {
		if k&1 != 0 {
			result *= x
		}
		x *= x
	}
	return result
}
