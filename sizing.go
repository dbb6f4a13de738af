package bloom

import (
	"math"
	"math/bits"
	"sort"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

// OptimalM returns the number of bits that a filter with n keys needs for a false-positive rate of
// p with the best number of hash functions: -n ln p / (ln 2)^2, truncated. It does not round up to
// whole 64-bit words. [Size] returns the size that [New] uses, and [StrictSize] a size with a rate
// of at most p.
//
// For n > 0 and 0 <= p < 1, this is the formula of Guava's optimalNumOfBits. The result is the same
// on every architecture. An n of 0 counts as 1, and a p of 0 as the smallest positive float64.
// Results above math.MaxInt64 become math.MaxInt64. If p is negative, NaN, or at least 1, the
// result is 0.
func OptimalM(n uint64, p float64) uint64 {
	if p == 0 {
		p = math.SmallestNonzeroFloat64
	}
	var ln2 = math.Ln2 // a variable, so that ln2*ln2 is rounded, as in Java
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

// OptimalK returns the number of hash functions that gives a filter with m bits and n keys about
// the fewest false positives: m/n ln 2, rounded, from 1 to math.MaxInt32. m should be the result of
// OptimalM. If n is 0, it counts as 1. This is Guava's rule up to version 33.3; see docs/java.md.
func OptimalK(m, n uint64) int {
	k := math.Round(float64(m) / float64(max(n, 1)) * math.Ln2)
	return int(min(max(k, 1), math.MaxInt32))
}

// Size returns the numbers of bits and of hash functions in the filter that New(n, p) returns. It
// returns the same errors as New. For a small n and a low p, [StrictSize] may return more bits, so
// that the rate is at most p.
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

func adviceFor(n uint64, p float64) string {
	if n == 0 {
		return "package growing needs no n"
	}
	// At these rates, a large blocked filter needs at most twice as many bits as a classic one.
	if limits.BlockedRate <= p && p <= 0.4 && OptimalM(n, p) <= 64*form.MaxFrameWords/2 {
		return "package blocked has larger filters"
	}
	return ""
}

// size is like Size, for filters of at most maxWords words.
func size(n uint64, p float64, maxWords uint64) (m uint64, k int, bad *form.Param) {
	if bad := form.CheckRate("p", p); bad != nil {
		return 0, 0, bad
	}
	m = OptimalM(n, p)
	k = OptimalK(m, n)
	if m == math.MaxInt64 { // m is cut off; fewer keys need the same k
		const fewer = 1 << 40
		k = OptimalK(OptimalM(fewer, p), fewer)
	}
	switch {
	case m == 0:
		return 0, 0, form.NewParam("p", p, "too close to 1: a filter for so few keys would have no bits")
	case k > form.MaxK:
		return 0, 0, form.NewParam(
			"p", p, "too low: it needs %d hashes, and the limit is %d", k, form.MaxK)
	}
	fits := func(n uint64) bool { return OptimalM(n, p) <= 64*maxWords }
	if bad := form.CheckKeys("n", n, p, fits); bad != nil {
		return 0, 0, bad
	}
	return (m + 63) &^ 63, k, nil
}

// StrictSize returns about the smallest size at which a filter that contains n distinct keys has a
// false-positive rate of at most p. The rate is the mean for many such filters. It includes what
// double hashing adds (see [Filter.FPR]), raised by up to a quarter to be safe. m is the number of
// bits, a multiple of 64, and k is the number of hash functions; pass both to [NewSize]. StrictSize
// returns the same errors as New, and also an error if even the largest filter has a rate above p.
func StrictSize(n uint64, p float64) (m uint64, k int, err error) {
	_, limit, err := Size(n, p)
	if err != nil {
		return 0, 0, err
	}
	enough := func(words int) bool {
		_, rate := strictK(64*uint64(words), n, limit)
		return rate <= p
	}
	// The rate falls as the number of words grows, except that a power of two and its small
	// multiples have higher rates. So search the odd numbers, and then try the eight numbers before
	// the result.
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

func tooStrict(n uint64, p float64, maxK int) error {
	fits := func(n uint64) bool {
		_, rate := strictK(64*form.MaxWords, n, maxK)
		return rate <= p
	}
	if !fits(1) {
		bad := form.NewParam("p", p,
			"too low: double hashing alone exceeds it, even in the largest filter")
		return bad.In("bloom")
	}
	return form.CheckKeys("n", n, p, fits).Advise(adviceFor(n, p)).In("bloom")
}

// strictK returns the k, up to maxK, with the lowest strictRate, and that rate. If no rate is below
// 1, it returns 0 and 1.
func strictK(m, n uint64, maxK int) (k int, rate float64) {
	rate = 1
	for i := 1; i <= maxK; i++ {
		if r := strictRate(m, i, n); r < rate {
			k, rate = i, r
		}
	}
	return k, rate
}

// strictRate returns the mean rate of Mitz64 filters, with a safety margin. Some filters are fuller
// than others, so the mean of fill^k is about spread times the k-th power of the mean fill.
func strictRate(m uint64, k int, n uint64) float64 {
	indexes := float64(k) * float64(n)
	// fillRatio would be too low, by up to 0.8 % for m = 64.
	fill := portable.OneMinusExp(float64(-indexes * portable.LogOneMinus(1/float64(m))))
	clear, load := 1-fill, indexes/float64(m)
	variance := max(0, clear*(1-float64((1+load)*clear))/float64(m))
	spread := 1 + float64(float64(k)*float64(k-1)/2*variance)/(fill*fill)
	margin := 1.25
	if m&(m-1) == 0 {
		margin = 1.15 // doubleHashing is more precise for powers of two
	}
	return float64(portable.Power(fill, uint64(k))*spread) + float64(margin*doubleHashing(fill, m, k))
}

// FalsePositiveRate returns the probability that a filter with m bits, k hash functions and n keys
// reports an absent key as present: (1 - e^(-kn/m))^k. This is Bloom's approximation. Because of
// double hashing, the actual rate is usually higher for k >= 3; see [Filter.FPR]. The result is 1
// if k < 1, and if m = 0 and n > 0. It is the same on every architecture, with a relative error
// below k * 1e-15 unless it is close to the smallest positive float64.
func FalsePositiveRate(m uint64, k int, n uint64) float64 {
	switch {
	case k < 1:
		return 1
	case n == 0:
		return 0
	}
	return portable.Power(fillRatio(m, k, n), uint64(k))
}

func fillRatio(m uint64, k int, n uint64) float64 {
	return portable.OneMinusExp(float64(k) * float64(n) / float64(m))
}

// currentRate implements Filter.FPR.
func currentRate(m uint64, k int, fill float64) float64 {
	chance := portable.Power(fill, uint64(k))
	return chance + float64(min(doubleHashing(fill, m, k), 1)*(1-chance))
}

// doubleHashing estimates by how much the mean rate of Mitz64 filters exceeds fill^k. There is an
// excess because the indexes of a key are not independent, and because two keys may share several
// indexes. For Mitz32 filters, the estimate is up to six times too high.
//
// If m is a power of two, there are four effects:
//
//   - If H2 has an order d < k modulo m, the indexes of a key are a cycle of length d, a power of
//     two. The probability of an order d is d/(2m), or 1/m for d = 1.
//   - An added key may have the same H2 as the key that is looked up, or -H2. The probability is
//     2/m. The two keys then share all k indexes with probability 1/m and, for each o below k, o
//     indexes with probability 2/m. A single common index (o = 1) does not count, because it is no
//     more likely than by chance.
//   - If the H2 of an added key has an order d <= k, the key has every (m/d)-th index. It then
//     sets all bits of each key whose H2 has an order that divides d, and whose first index is one
//     of these. Each of these two conditions has the probability d/m. The sum over all d was
//     measured.
//   - Different indexes are drawn from the set bits without replacement, which lowers the rate.
//
// For other m, each overflow of 63 bits shifts the later indexes of a key by a constant. This
// breaks the cycles above and makes other ones. Their effect was measured. An added key sets all
// bits of another key with a probability nearly proportional to k^3/m^3. Let oddPart be the largest
// odd divisor of m. A sum of shifts has oddPart possible values. If oddPart is small, some keys
// have only oddPart or 2*oddPart different indexes. TestDoubleHashing and TestStrictSize measure
// all this.
func doubleHashing(fill float64, m uint64, k int) float64 {
	if k <= 2 {
		return 0 // the first two indexes of a key are independent
	}
	fill = min(fill, 0.9) // in fuller filters, fill^k is nearly the whole rate
	clear, all := 1-fill, portable.Power(fill, uint64(k))
	n := -portable.LogOneMinus(fill) / float64(k) // number of keys divided by m
	hashes := float64(k) / float64(m)
	oddPart := m >> bits.TrailingZeros64(m)
	if oddPart > 1 {
		few := 2 * (portable.Power(fill, oddPart) + portable.Power(fill, 2*oddPart))
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
	// A key of order 2d has only k of the 2d indexes in its cycle, but these may include all
	// indexes of another key.
	share := float64(k) / (2 * d)
	partly := 0.11 * float64(k*k*k) * portable.Power(share, 4)
	covered := n * (float64(0.37*d*d*d) + float64(partly)) / float64(m)
	replaced := float64(k*(k-1)/2) * clear * portable.Power(fill, uint64(k-1))
	return (cycles + float64(2*n*same) + covered - float64(replaced)) / float64(m)
}

// approxCount implements Filter.ApproxCount.
func approxCount(m uint64, k int, ones uint64) uint64 {
	fill := float64(ones) / float64(m)
	if ones == m {
		fill = (float64(m) - 0.5) / float64(m)
	}
	return uint64(math.Round(-math.Log1p(-fill) * float64(m) / float64(k)))
}

// capacity implements Filter.Capacity. If the result is below 2^52, and New would use k hash
// functions for it, capacity inverts OptimalM, and otherwise FalsePositiveRate.
func capacity(m uint64, k int, p float64) uint64 {
	switch {
	case !(p > 0) || k < 1:
		return 0
	case p >= 1:
		return math.MaxUint64
	}
	if n := float64(m+1) * math.Ln2 * math.Ln2 / -portable.Log(p); n < 1<<52 {
		n := uint64(n)
		for ; n > 0 && OptimalM(n, p) > m; n-- { // at most a few rounds
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
