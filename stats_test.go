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

func TestStatistics(t *testing.T) {
	testkit.Statistics(t, Sum,
		classicStat("Filter", func(n uint64, p float64) statSet { return Must(New(n, p)) }),
		classicStat("Filter/Mitz32", func(n uint64, p float64) statSet { return Must(NewWithStrategy(Mitz32, n, p)) }),
		classicStat("SyncFilter", func(n uint64, p float64) statSet { return Must(NewSync(n, p)) }))
}

func TestBillion(t *testing.T) {
	testkit.Billion(t, SumUint64, classicStat("Filter", func(n uint64, p float64) statSet { return Must(New(n, p)) }))
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

// TestDoubleHashing measures, over many small filters, by how much their rate
// exceeds FPR: by about 0.7/m. That is 8 % of the rate for n =
// 100 and p = 1 %, 45 % for p = 0.1 %, and a tenth of that for ten times the
// keys.
func TestDoubleHashing(t *testing.T) {
	const filters, probes = 300, 10_000
	rnd := rand.New(rand.NewPCG(3, 3))
	for _, p := range []float64{0.01, 0.001} {
		var m, expected, found float64
		for range filters {
			f := Must(New(100, p))
			for range 100 {
				f.AddHash(Hash{rnd.Uint64(), rnd.Uint64()})
			}
			for range probes {
				if f.ContainsHash(Hash{rnd.Uint64(), rnd.Uint64()}) {
					found++
				}
			}
			m = float64(f.M())
			expected += probes * f.FPR()
		}
		excess, deviation := found-expected, math.Sqrt(found)
		t.Logf("p = %v: %+.1f %%, %.2f/m", p, 100*excess/expected, excess/filters/probes*m)
		require.Greater(t, excess, 3*deviation, "double hashing costs nothing?")
		require.Less(t, excess, filters*probes*classicExcess(Must(New(100, p)))+testkit.StatZ*deviation)
	}
}
