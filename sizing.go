package bloom

import (
	"math"
	"math/bits"
	"sort"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

// OptimalM returns the number of bits that a filter of n keys needs for a false-positive rate of p
// with the best number of hashes: -n ln p / (ln 2)^2, truncated, before rounding up to whole 64-bit
// words. [Size] returns the size that [New] makes, and [StrictSize] one that keeps p.
//
// OptimalM is Guava's optimalNumOfBits to the bit, on every architecture: n = 0 counts as 1, p = 0
// as the smallest positive float64, and results above math.MaxInt64 as math.MaxInt64. For p >= 1
// and NaN it is 0.
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

// OptimalK returns the number of hashes with which m bits and n keys give the fewest false
// positives: m/n ln 2, rounded, and at least 1. m is what OptimalM returns. n = 0 counts as 1. It
// is Guava's rule up to version 33.3; see docs/java.md.
func OptimalK(m, n uint64) int {
	k := math.Round(float64(m) / float64(max(n, 1)) * math.Ln2)
	return int(min(max(k, 1), math.MaxInt32))
}

// Size returns the number of bits and of hashes of the filter that [New] makes for n keys and p. It
// returns an error as New does. For a small n and a low p, [StrictSize] returns more bits, with
// which the rate is at most p.
func Size(n uint64, p float64) (m uint64, k int, err error) {
	m, k, bad := size(n, p, form.MaxWords)
	if bad == nil {
		return m, k, nil
	}
	if bad.Param == "n" {
		bad.Advice = adviceFor(n, p)
	}
	return 0, 0, bad.In("bloom")
}

// adviceFor returns the Advice for an n that is out of range at the rate p.
func adviceFor(n uint64, p float64) string {
	if n == 0 {
		return "package growing needs no n"
	}
	// A blocked filter has at most twice as many bits.
	if p >= limits.BlockedRate && OptimalM(n, p) <= 64*form.MaxFrameWords/2 {
		return "package blocked has larger filters"
	}
	return ""
}

// size returns the results of Size for filters of at most maxWords words, or a Param that is out of
// range.
func size(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param) {
	if bad := form.CheckRate("p", p); bad != nil {
		return 0, 0, bad
	}
	m = OptimalM(n, p)
	k = OptimalK(m, n)
	if m == math.MaxInt64 { // a filter of fewer keys shows whether p is too low
		const fewer = 1 << 40
		k = OptimalK(OptimalM(fewer, p), fewer)
	}
	switch {
	case m == 0:
		return 0, 0, form.NewParam("p", p, "too close to 1: a filter for so few keys has no bits")
	case k > form.MaxK:
		return 0, 0, form.NewParam(
			"p", p, "too low: it takes %d hashes, and %d is the most", k, form.MaxK)
	}
	fits := func(n uint64) bool { return OptimalM(n, p) <= 64*maxWords }
	if bad := form.CheckKeys("n", n, p, fits); bad != nil {
		return 0, 0, bad
	}
	return (m + 63) &^ 63, k, nil
}

// StrictSize returns the smallest size of a filter that holds n distinct keys with a false-positive
// rate of at most p, including what double hashing adds; see [Filter.FPR]. The rate is the mean of
// many such filters. What double hashing adds is an estimate, and StrictSize allows for a quarter
// more. m is the number of bits, a multiple of 64, and k the number of hashes. Pass both to
// [NewSize]. It returns an error as New does.
func StrictSize(n uint64, p float64) (m uint64, k int, err error) {
	_, limit, err := Size(n, p)
	if err != nil {
		return 0, 0, err
	}
	enough := func(words int) bool {
		_, rate := strictK(64*uint64(words), n, limit)
		return rate <= p
	}
	// Among odd numbers of words, a larger one has a lower rate, so a binary search finds the
	// least. An even one can have a higher rate than a smaller number, if it is a power of two or a
	// small multiple of one. The loop below looks for a smaller number, odd or even.
	words := 1 + 2*sort.Search(form.MaxWords/2+1, func(i int) bool { return enough(1 + 2*i) })
	if words > form.MaxWords {
		return 0, 0, tooStrict(n, p, limit)
	}
	for less := max(1, words-8); less < words; less++ {
		if enough(less) {
			words = less
		}
	}
	m = 64 * uint64(words)
	k, _ = strictK(m, n, limit)
	return m, k, nil
}

// tooStrict returns the error of StrictSize if the largest filter of n keys, with up to maxK
// hashes, has a rate above p.
func tooStrict(n uint64, p float64, maxK int) error {
	fits := func(n uint64) bool {
		_, rate := strictK(64*form.MaxWords, n, maxK)
		return rate <= p
	}
	if !fits(1) {
		bad := form.NewParam("p", p, "too low: double hashing adds more, even to the largest filter")
		return bad.In("bloom")
	}
	return form.CheckKeys("n", n, p, fits).Advise(adviceFor(n, p)).In("bloom")
}

// strictK returns the number of hashes, up to maxK, with which a filter of m bits and n keys has
// the lowest rate, and that rate.
func strictK(m, n uint64, maxK int) (k int, rate float64) {
	rate = 1
	for i := 1; i <= maxK; i++ {
		if r := strictRate(m, i, n); r < rate {
			k, rate = i, r
		}
	}
	return k, rate
}

// strictRate returns the mean rate of Mitz64 filters of m bits, k hashes and n keys. Some of them
// are fuller than others and have more false positives, so the mean of fill^k is higher than the
// k-th power of the mean fill, by the factor spread.
func strictRate(m uint64, k int, n uint64) float64 {
	indexes := float64(k) * float64(n)
	// fillRatio would be too low: by half a percent of the rate for m = 64 and k = 1.
	fill := portable.OneMinusExp(float64(-indexes * portable.LogOneMinus(1/float64(m))))
	clear, load := 1-fill, indexes/float64(m)
	variance := max(0, clear*(1-float64((1+load)*clear))/float64(m))
	spread := 1 + float64(float64(k)*float64(k-1)/2*variance)/(fill*fill)
	margin := 1.25
	if m&(m-1) == 0 {
		margin = 1.15 // for these m, doubleHashing is closer to the measured rate
	}
	return float64(portable.Power(fill, uint64(k))*spread) + float64(margin*doubleHashing(fill, m, k))
}

// FalsePositiveRate returns the probability that a filter of m bits and k hashes, holding n keys,
// reports a key that was never added: (1 - e^(-kn/m))^k. This is Bloom's approximation; double
// hashing makes the rate of a filter higher, see [Filter.FPR]. It is 1 for k < 1, and for m = 0 and
// n > 0. It is the same on every architecture, with a relative error below k * 1e-15.
func FalsePositiveRate(m uint64, k int, n uint64) float64 {
	switch {
	case k < 1:
		return 1
	case n == 0:
		return 0
	}
	return portable.Power(fillRatio(m, k, n), uint64(k))
}

// fillRatio returns 1 - e^(-kn/m), the expected fraction of bits set.
func fillRatio(m uint64, k int, n uint64) float64 {
	return portable.OneMinusExp(float64(k) * float64(n) / float64(m))
}

// currentRate returns the rate of a Mitz64 filter of m bits and k hashes in which the given
// fraction of bits are set. Double hashing is counted for the keys that chance alone does not
// report.
func currentRate(m uint64, k int, fill float64) float64 {
	chance := portable.Power(fill, uint64(k))
	return chance + float64(min(doubleHashing(fill, m, k), 1)*(1-chance))
}

// doubleHashing returns by how much the mean rate of Mitz64 filters exceeds fill^k, to about a
// fifth, because the indexes of a key are not independent, and keys may share several indexes. For
// Mitz32 filters the excess is between a sixth of that and all of it.
//
// If m is a power of two, there are four causes:
//
//   - A key has only d different indexes if H2 has the order d modulo m. d is a power of two, with
//     probability d/2m, or 1/m for d = 1.
//   - An added key has the same H2 as the key that is looked up, or -H2, with probability 2/m. The
//     two share all k indexes in one of m cases and, for each o below k, o indexes in two of m.
//     One common index (o = 1) does not count, because it is no more likely than by chance.
//   - An added key whose H2 has the order d <= k has every (m/d)-th index from its first one on,
//     and thus all indexes of any key of at most this order that begins at one of them. d of m
//     keys have at most this order, and d of m of these begin so. The sum over all d was measured.
//   - Different indexes are drawn from the set bits without replacement. This makes the rate lower.
//
// Otherwise, each overflow of 63 bits shifts the later indexes of a key by a constant, which breaks
// the cycles above and makes others. The sum of all cases was measured; that of keys whose indexes
// are among those of an added one is nearly in proportion to k^3/m^3. The sum of several shifts has
// as many values as odd, the largest odd divisor of m, so if odd is small, some keys have only odd
// or 2*odd different indexes. TestDoubleHashing and TestStrictSize measure all this.
//
// A key's first two indexes are independent, so with k <= 2 there is no excess.
func doubleHashing(fill float64, m uint64, k int) float64 {
	if k <= 2 {
		return 0
	}
	fill = min(fill, 0.9) // in fuller filters fill^k is nearly all of the rate
	clear, all := 1-fill, portable.Power(fill, uint64(k))
	n := -portable.LogOneMinus(fill) / float64(k) // number of keys, divided by m
	hashes := float64(k) / float64(m)
	odd := m >> bits.TrailingZeros64(m)
	if odd > 1 {
		few := 2 * (portable.Power(fill, odd) + portable.Power(fill, 2*odd))
		cycles := (0.8 + float64(2.2*fill) + float64((3.9+float64(5.6*fill))/float64(k))) *
			fill / (clear * clear * float64(k))
		covered := 0.11 * n * float64(k) * hashes / clear
		excess := cycles + few + float64(covered*float64(k))
		return excess * (1 - portable.Power(fill, uint64(k-1))) / float64(m)
	}
	cycles := fill - all
	for d := uint64(2); d < uint64(k); d *= 2 {
		cycles += float64(float64(d/2) * (portable.Power(fill, d) - all))
	}
	same, rest := 0.0, 1.0 // rest is fill^(k-o)
	for o := k; o > 1; o, rest = o-1, rest*fill {
		allSet := portable.Power(fill, uint64(o))
		allButOne := float64(float64(o) * clear * portable.Power(fill, uint64(o-1)))
		chance := allSet + allButOne
		cases := 2.0
		if o == k {
			cases = 1
		}
		same += float64(cases * rest * (1 - chance))
	}
	d := float64(uint64(1) << (bits.Len(uint(k)) - 1)) // the largest power of two up to k
	// A key of order 2d has a share of every (m/2d)-th index, and may have all indexes of another
	// key.
	share := float64(k) / (2 * d)
	partly := 0.11 * float64(k*k*k) * portable.Power(share, 4)
	covered := n * (float64(0.37*d*d*d) + float64(partly)) / float64(m)
	replaced := float64(k*(k-1)/2) * clear * portable.Power(fill, uint64(k-1))
	return (cycles + float64(2*n*same) + covered - float64(replaced)) / float64(m)
}

// approxCount returns the number of keys with which a filter of m bits and k hashes has that many
// ones on average. If all bits are set, half a bit counts as clear.
func approxCount(m uint64, k int, ones uint64) uint64 {
	fill := float64(ones) / float64(m)
	if ones == m {
		fill = (float64(m) - 0.5) / float64(m)
	}
	return uint64(math.Round(-math.Log1p(-fill) * float64(m) / float64(k)))
}

// capacity implements Filter.Capacity. If New uses k hashes for the result, it inverts OptimalM,
// and otherwise FalsePositiveRate.
func capacity(m uint64, k int, p float64) uint64 {
	switch {
	case !(p > 0) || k < 1:
		return 0
	case p >= 1:
		return math.MaxUint64
	}
	if n := float64(m+1) * math.Ln2 * math.Ln2 / -portable.Log(p); n < 1<<52 {
		n := uint64(n)
		for ; n > 0 && OptimalM(n, p) > m; n-- { // at most two rounds, because OptimalM truncates
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
