package guava

import (
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/portable"
)

// FPR returns the rate of a Mitz64 filter of m bits and k hashes that has so many bits set.
func FPR(m uint64, k int, ones uint64) float64 {
	fill := float64(ones) / float64(m)
	return max(portable.Power(fill, uint64(k)), DoubleHashing(fill, m, k))
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
	odd := m >> bits.TrailingZeros64(m)
	residues := float64(min(odd, 2)) // of H2: 0 and the constant, which are one if m is a power of two
	few := residues * (portable.Power(fill, odd) + portable.Power(fill, 2*odd))
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
func Rate(m uint64, k int, n uint64) float64 { return portable.Power(fillRatio(m, k, n), uint64(k)) }

// Most returns what the rate of a Mitz64 filter is at most: Rate, and twice DoubleHashing,
// which is within a factor of two.
func Most(m uint64, k int, n uint64) float64 {
	fill := fillRatio(m, k, n)
	return portable.Power(fill, uint64(k)) + 2*DoubleHashing(fill, m, k)
}

// fillRatio returns 1 - e^(-kn/m), the expected fraction of bits set.
func fillRatio(m uint64, k int, n uint64) float64 {
	return portable.OneMinusExp(float64(k) * float64(n) / float64(m))
}
