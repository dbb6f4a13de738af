package bloom

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

type statSet = testkit.StatSet[Hash]

func classicStat(name string, make func(n uint64, p float64) statSet) testkit.Stat[Hash] {
	return testkit.Stat[Hash]{Name: name, Make: make, Excess: classicExcess, Deviation: classicDeviation, Count: classicCount}
}

// TestStatistics measures no SyncFilter, which has the same bits and estimates: see
// TestFilterPlain and TestPromises.
func TestStatistics(t *testing.T) {
	testkit.Statistics(t, Sum,
		classicStat("Filter", func(n uint64, p float64) statSet { return Must(New(n, p)) }),
		classicStat("Filter/Mitz32", func(n uint64, p float64) statSet { return Must(NewWithStrategy(Mitz32, n, p)) }))
}

// classic returns the number of bits and of hashes.
func classic(s statSet) (m, k float64) {
	f := s.(interface {
		M() uint64
		K() int
	})
	return float64(f.M()), float64(f.K())
}

// classicExcess is what double hashing adds at most. A probe whose H2 is 0 or m
// over a small number comes back to bits it has tested, and one whose H2 is a
// key's, or its negative, falls in with that key's bits; either happens to about
// one probe in m. See TestDoubleHashing.
func classicExcess(s statSet) float64 {
	m, _ := classic(s)
	return 2 / m
}

// classicDeviation: FPR = fill^k, so its relative deviation is k times fill's.
func classicDeviation(s statSet, n float64) float64 {
	m, k := classic(s)
	fill, variance := testkit.OnesVariance(k * n / m)
	return k * math.Sqrt(variance/m) / fill
}

// classicCount follows the ones through the estimate, g(fill) = -m/k ln(1-fill).
// Its first derivative times the deviation of fill is the deviation of the
// estimate, sqrt(m (e^c-1-c))/k where c = kn/m; half its second derivative times
// the variance of fill is the bias, (e^c-1-c)/2k.
func classicCount(s statSet, n float64) (bias, sigma float64) {
	m, k := classic(s)
	fill, variance := testkit.OnesVariance(k * n / m)
	slope := m / k / (1 - fill)
	return slope / (1 - fill) * variance / m / 2, slope * math.Sqrt(variance/m)
}

// TestDoubleHashing measures by how much small filters exceed fill^k, empty and full,
// for few hashes and many, for sizes of all kinds.
func TestDoubleHashing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, and minutes in an emulator")
	}
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, c := range []struct {
		n, m uint64
		k    int
	}{
		{1, 1024, 7}, {100, 960, 7}, {50, 960, 10}, {100, 1024, 7}, {100, 1920, 13},
		{100, 2880, 20}, {100, 3072, 20}, {100, 4096, 20}, {20, 4096, 20}, {300, 14400, 30},
	} {
		for _, s := range []Strategy{Mitz64, Mitz32} {
			const filters, probes = 50, 40_000
			var model, plain, found float64
			for range filters {
				f := newFilter(s, int(c.m/64), c.k)
				for range c.n {
					f.AddHash(NewHash(rnd.Uint64(), rnd.Uint64()))
				}
				for range probes {
					if f.ContainsHash(NewHash(rnd.Uint64(), rnd.Uint64())) {
						found++
					}
				}
				model += probes * doubleHashing(f.FillRatio(), c.m, c.k)
				plain += probes * math.Pow(f.FillRatio(), float64(c.k))
			}
			noise := testkit.StatZ * math.Sqrt(found+1)
			t.Logf("%+v %v: %.0f found, %.1f by fill^k, %.1f more by the model", c, s, found, plain, model)
			least, most := model/1.4, 1.4*model
			if s == Mitz32 {
				least, most = model/6, 1.1*model
			}
			require.Greater(t, found-plain, least-noise, "%+v %v", c, s)
			require.Less(t, found-plain, most+noise, "%+v %v", c, s)
		}
	}
}

// TestNewRate: New's comment has the rates that the model gives. At capacity, double hashing
// adds about 3.5/(n k^2), and 1 + k/6 times that where m is a power of two.
func TestNewRate(t *testing.T) {
	for _, c := range []struct {
		n     uint64
		p     float64
		times float64 // the rate, in p
	}{{100, 0.01, 1.07}, {100, 1e-6, 88.5}, {1e6, 1e-7, 1.07}} {
		m := OptimalM(c.n, c.p)
		k := float64(OptimalK(m, c.n))
		require.InEpsilon(t, c.times, 1+3.5/(float64(c.n)*k*k)/c.p, 0.01)
		require.InEpsilon(t, 3.5/(float64(c.n)*k*k), doubleHashing(0.5, m+64, int(k)), 0.05)
		n := 1 << 20 * math.Ln2 / k
		require.InEpsilon(t, (1+k/6)*3.5/(n*k*k), doubleHashing(0.5, 1<<20, int(k)), 0.15)
	}
	m := OptimalM(1e6, 0.01)
	require.InDelta(t, 0.023, FalsePositiveRate(m, 7, 1.2e6), 0.0005)
	require.InDelta(t, 0.16, FalsePositiveRate(m, 7, 2e6), 0.005)
}

// TestEmptyKey: the digest of no bytes is 0, 0, so a full filter reports it as often as its
// first bit is set. Salted, it is a key like others.
func TestEmptyKey(t *testing.T) {
	require.Equal(t, NewHash(0, 0), Sum(nil))
	r, found, salted := rand.New(rand.NewPCG(3, 4)), 0, 0
	for range 400 {
		f := Must(New(100, 0.001))
		for range 100 {
			f.AddHash(NewHash(r.Uint64(), r.Uint64()))
		}
		if f.Contains(nil) {
			found++
		}
		if f.ContainsHash(Sum(nil).Salt(1)) {
			salted++
		}
	}
	require.InDelta(t, 200, found, 50)
	require.Less(t, salted, 10)
}
