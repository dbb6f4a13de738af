package bloom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

func TestParameters(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		want string
	}{
		{10, 0, "bloom: p = 0 is outside (0, 1)"},
		{10, math.Copysign(0, -1), "bloom: p = -0 is outside (0, 1)"},
		{10, 1, "bloom: p = 1 is outside (0, 1)"},
		{10, -0.5, "bloom: p = -0.5 is outside (0, 1)"},
		{10, 1.5, "bloom: p = 1.5 is outside (0, 1)"},
		{10, math.NaN(), "bloom: p = NaN is outside (0, 1)"},
		{10, math.Inf(1), "bloom: p = +Inf is outside (0, 1)"},
		{10, math.Inf(-1), "bloom: p = -Inf is outside (0, 1)"},
		{1, 0.99, "bloom: p = 0.99 is too close to 1: a filter for so few keys would have no bits"},
		{10, 1e-300, "bloom: p = 1e-300 is too low: it needs 997 hashes, and the limit is 255"},
		{0, 0.01, "bloom: n = 0 is outside [1, "},
		{math.MaxUint64, 0.01, "bloom: n = 18446744073709551615 is outside [1, "},
		{14_340_000_000, 0.01, "bloom: n = 14340000000 is outside [1, "},
	} {
		for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
			f, err := bloom.NewWithStrategy(s, test.n, test.p)
			require.ErrorContains(t, err, test.want)
			require.Nil(t, f)
		}
		require.Less(t, filtertest.Allocated(func() {
			_, _ = bloom.New(test.n, test.p)
		}), uint64(100_000))
		_, err := bloom.NewSync(test.n, test.p)
		require.ErrorContains(t, err, test.want)
	}
	for _, test := range []struct {
		m    uint64
		k    int
		want string
	}{
		{64, 0, "bloom: k = 0 is outside [1, 255]"},
		{64, -1, "bloom: k = -1 is outside [1, 255]"},
		{64, 256, "bloom: k = 256 is outside [1, 255]"},
		{64, math.MaxInt, fmt.Sprintf("bloom: k = %d is outside [1, 255]", math.MaxInt)},
		{0, 1, "bloom: m = 0 is outside [1, "},
		{form.MaxWords*64 + 1, 1,
			fmt.Sprintf("bloom: m = %d is outside [1, ", uint64(form.MaxWords*64+1))},
		{math.MaxUint64, 1, "bloom: m = 18446744073709551615 is outside [1, "},
	} {
		_, err := bloom.NewSize(test.m, test.k)
		require.ErrorContains(t, err, test.want)
	}
	_, err := bloom.NewWithStrategy(2, 10, 0.01)
	require.EqualError(t, err, "bloom: strategy = 2 is neither Mitz32 nor Mitz64")

	for _, test := range []struct{ m, want uint64 }{{1, 64}, {63, 64}, {64, 64}, {65, 128}} {
		require.Equal(t, test.want, bloom.Must(bloom.NewSize(test.m, 1)).M())
	}
	// NewSize would allocate memory for so many words.
	words, bad := form.WordsFor(form.MaxWords*64, 255, form.MaxWords)
	require.Nil(t, bad)
	require.EqualValues(t, form.MaxWords, words)
	_, err = bloom.NewSize(7, 200)
	require.EqualError(t, err, "bloom: k = 200 is more than m = 7; are the two swapped?")
	require.Equal(t, 7, bloom.Must(bloom.NewSize(7, 7)).K())
	require.Panics(t, func() { bloom.Must(bloom.New(1, 2)) })
}

func TestSizing(t *testing.T) {
	for _, test := range []struct {
		n uint64
		p float64
		m uint64
		k int
	}{
		{100, 0.01, 958, 7},
		{1e6, 0.01, 9585058, 7},
		{1e9, 0.0001, 19170116754, 13},
	} {
		m := bloom.OptimalM(test.n, test.p)
		k := bloom.OptimalK(m, test.n)
		assert.Equal(t, test.m, m)
		assert.Equal(t, test.k, k)
		// k is rounded by at most half a hash. Here that costs at most this much.
		assert.InEpsilon(t, test.p, bloom.FalsePositiveRate(m, k, test.n), 1e-2)
	}
	for _, test := range []struct {
		n    uint64
		p    float64
		want uint64
	}{
		{0, 0.01, bloom.OptimalM(1, 0.01)},
		{10, 0, bloom.OptimalM(10, math.SmallestNonzeroFloat64)},
		{10, 1, 0},
		{10, 2, 0},
		{10, math.NaN(), 0},
		{math.MaxUint64, 0.01, math.MaxInt64},
		{10, -1, 0},
	} {
		require.Equal(t, test.want, bloom.OptimalM(test.n, test.p), "n = %d, p = %v", test.n, test.p)
	}
	require.Equal(t, bloom.OptimalK(100, 1), bloom.OptimalK(100, 0))
	require.Equal(t, 1, bloom.OptimalK(0, 100))
	require.Equal(t, math.MaxInt32, bloom.OptimalK(math.MaxUint64, 1))
	require.Zero(t, bloom.FalsePositiveRate(100, 3, 0))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(0, 3, 1))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(100, 0, 0))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(100, -1, 5))
	require.Equal(t, 1.0, bloom.FalsePositiveRate(64, 3, math.MaxUint64))
	require.Equal(t, [2]bloom.Stats{}, [2]bloom.Stats{bloom.StatsOf(0, 3, 0), bloom.StatsOf(64, 0, 0)})
}

// TestFalsePositiveRateBits: the result has the same bits on every architecture, and is near the
// exact value.
func TestFalsePositiveRateBits(t *testing.T) {
	for _, test := range []struct {
		m    uint64
		k    int
		n    uint64
		want uint64
	}{
		{9592955, 7, 1e6, 0x3f847ae11781a6cb},
		{960, 7, 100, 0x3f84689c665fbdb5},
		{28755175, 20, 1e6, 0x3eb0c72e83608832},
		{64, 255, 3, 0x3feff28f5d201896},
		{1 << 37, 3, 1, 0x394afffffffc3400},
	} {
		got := bloom.FalsePositiveRate(test.m, test.k, test.n)
		x := float64(test.k) * float64(test.n) / float64(test.m)
		require.InEpsilon(t, math.Pow(-math.Expm1(-x), float64(test.k)), got, 1e-13)
		require.Equal(t, test.want, math.Float64bits(got), "%v", test)
	}
}

// TestStrictSizeIsLeast tries all smaller sizes. Some are better than larger ones.
func TestStrictSizeIsLeast(t *testing.T) {
	for n := uint64(1); n <= 3000; n += 1 + n/15 {
		for _, p := range []float64{0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5} {
			m, k, err := bloom.StrictSize(n, p)
			require.NoError(t, err)
			least, most := uint64(64), bloom.OptimalK(bloom.OptimalM(n, p), n)
			for !(second(bloom.StrictK(least, n, most)) <= p) {
				least += 64
			}
			require.Equal(t, least, m, "n = %d, p = %v", n, p)
			require.LessOrEqual(t, k, most)
		}
	}
}

func second[T, U any](_ T, u U) U { return u }

// measure returns the mean rate of filters of m bits and k hashes with n keys, the mean of their
// FPR, and the standard error of the mean rate.
func measure(r *rand.Rand, m uint64, k int, n uint64, probes int) (rate, told, deviation float64) {
	f, found, filters := bloom.Must(bloom.NewSize(m, k)), []float64(nil), probes/200
	for range filters {
		f.Reset()
		for range n {
			f.AddHash(bloom.NewHash(r.Uint64(), r.Uint64()))
		}
		count := 0.0
		for range 200 {
			if f.ContainsHash(bloom.NewHash(r.Uint64(), r.Uint64())) {
				count++
			}
		}
		found = append(found, count/200)
		told += f.FPR() / float64(filters)
		rate += count / 200 / float64(filters)
	}
	for _, x := range found {
		deviation += (x - rate) * (x - rate)
	}
	return rate, told, math.Sqrt(deviation) / float64(filters)
}

// TestStrictSize measures rates. Sizes of StrictSize keep the rate. The next smaller size does not
// keep four fifths of the rate, with any number of hashes. New's filter of 100 keys at 0.1 % does
// not keep its rate.
func TestStrictSize(t *testing.T) {
	for _, test := range []struct {
		n    uint64
		p    float64
		m    uint64
		most bool
	}{{3, 0.01, 64, false}, {50, 0.3, 128, false}, {50, 0.001, 832, true}, {10, 0.01, 128, false},
		{100, 0.01, 1024, false}} {
		m, _, err := bloom.StrictSize(test.n, test.p)
		require.NoError(t, err)
		if test.most {
			require.LessOrEqual(t, m, test.m, "%+v", test)
		} else {
			require.Equal(t, test.m, m, "%+v", test)
		}
	}
	_, _, err := bloom.StrictSize(100, 1)
	require.EqualError(t, err, "bloom: p = 1 is outside (0, 1)")
	_, _, err = bloom.StrictSize(1e6, 1e-30)
	require.EqualError(t, err,
		"bloom: p = 1e-30 is too low: double hashing alone exceeds it, even in the largest filter")
	_, _, err = bloom.StrictSize(1, 1e-90)
	require.ErrorContains(t, err, "bloom: p = 1e-90 is too low: ")
	if testing.Short() {
		return
	}
	r := rand.New(rand.NewPCG(8, 9))
	ns, ps := []uint64{1, 3, 8, 20, 50, 100, 200}, []float64{0.5, 0.1, 0.01, 1e-3}
	if filtertest.Long() {
		ns = append(ns, 2, 5, 13, 33, 77, 150)
		ps = append(ps, 0.3, 0.03, 3e-3, 3e-4)
	}
	for _, n := range ns {
		for _, p := range ps {
			m, k, err := bloom.StrictSize(n, p)
			require.NoError(t, err)
			probes := int(min(1e6, 2000/p))
			rate, _, deviation := measure(r, m, k, n, probes)
			require.Less(t, rate, p+4.5*deviation, "n = %d, p = %v: m = %d, k = %d", n, p, m, k)
			if m == 64 {
				continue
			}
			most := bloom.OptimalK(bloom.OptimalM(n, p), n)
			k, _ = bloom.StrictK(m-64, n, most)
			for k := max(1, k-1); k <= min(k+1, most); k++ {
				rate, _, deviation = measure(r, m-64, k, n, probes)
				require.Greater(t, rate, 0.8*p-4.5*deviation,
					"n = %d, p = %v: m = %d is too large, k = %d", n, p, m, k)
			}
		}
	}
	for _, n := range []uint64{2, 3} { // light filters of few hashes
		m, k, err := bloom.StrictSize(n, 1e-4)
		require.NoError(t, err)
		rate, _, deviation := measure(r, m, k, n, 3e7)
		require.Less(t, rate, 1e-4+statZ*deviation, "n = %d: m = %d, k = %d", n, m, k)
	}
	f := bloom.Must(bloom.New(100, 1e-3))
	rate, _, deviation := measure(r, f.M(), f.K(), 100, 4e6)
	require.Greater(t, rate, 1e-3+6*deviation)
}

// TestCapacity: Capacity of a filter that New made is its n, or a little more because M is rounded
// up.
func TestCapacity(t *testing.T) {
	sizes := []uint64{949_125, 1e6, 1e9}
	for n := uint64(1); n < 250; n++ {
		sizes = append(sizes, n, 73*n)
	}
	for _, p := range []float64{0.991, 0.5, 0.3, 0.1, 0.02, 0.01, 1e-3, 1e-6, 1e-9} {
		perBit := math.Ln2 * math.Ln2 / -math.Log(p)
		for _, n := range sizes {
			m := bloom.OptimalM(n, p)
			if m == 0 {
				continue
			}
			got := bloom.Capacity((m+63)/64*64, bloom.OptimalK(m, n), p)
			filtertest.Equal(t, true, got >= n, "n = %d, p = %v: %d", n, p, got)
			// With a few keys, K is not the best number of hashes for the rounded M.
			filtertest.Equal(t, true, n < 100 || float64(got) <= float64(n)+65*perBit,
				"n = %d, p = %v: %d", n, p, got)
		}
	}
	// For other K, the rate passes p at the capacity.
	for _, k := range []int{1, 3, 12} {
		n := bloom.Capacity(9600, k, 0.01)
		require.LessOrEqual(t, bloom.FalsePositiveRate(9600, k, n), 0.01)
		require.Greater(t, bloom.FalsePositiveRate(9600, k, n+1), 0.01)
	}
	f := bloom.Must(bloom.New(1000, 0.01))
	for _, p := range []float64{0, -1, math.NaN()} {
		require.Zero(t, f.Capacity(p))
	}
	for _, p := range []float64{1, 2, math.Inf(1)} {
		require.EqualValues(t, uint64(math.MaxUint64), f.Capacity(p))
	}
	for _, p := range []float64{0, -1, math.NaN(), 1e-9, 0.01, 1, 2, math.Inf(1)} {
		require.Zero(t, new(bloom.Filter).Capacity(p), "a zero Filter at %v", p)
	}
	require.Less(t, f.Capacity(0.999), uint64(1e5))
	// Here New's n would be too large for a uint64, and FalsePositiveRate's n would be infinite.
	almost := math.Nextafter(1, 0)
	require.InEpsilon(t, 53*math.Ln2*(1<<20), bloom.Capacity(1<<20, 1, almost), 1e-6)
	require.Equal(t, uint64(math.MaxInt64), bloom.Capacity(1<<20, 10, almost))
}

// TestString: the text of a filter names the type and has no keys. TestNewSizeOfOneHash: New makes
// filters of one hash and any number of bits, too. So NewSize cannot refuse the results of
// blocked.Size, which look like the size of such a filter.
func TestNewSizeOfOneHash(t *testing.T) {
	for _, n := range []uint64{10, 1e5, 1e6} {
		f := bloom.Must(bloom.New(n, 0.5))
		require.Equal(t, 1, f.K(), "n = %d", n)
		require.True(t, f.Equal(bloom.Must(bloom.NewSize(f.M(), f.K()))), "n = %d", n)
	}
}
