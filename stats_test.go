package bloom_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

const (
	statKeys   = 150_000
	statProbes = 100_000
	// statZ is the largest accepted number of standard deviations. The tests make about 400
	// comparisons. Each fails by chance once in 150,000 times.
	statZ = 4.5
)

// statKinds returns digests of keys of several kinds. All keys differ.
func statKinds() map[string][]bloom.Hash {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := map[string][]bloom.Hash{}
	for i := range uint64(statKeys + statProbes) {
		random := make([]byte, 8+rnd.IntN(40))
		for i := range random {
			random[i] = byte(rnd.Uint32())
		}
		for kind, key := range map[string][]byte{
			"integers": binary.LittleEndian.AppendUint64(nil, i),
			"random":   random,
			// These keys have long common prefixes, and numbers that differ in a digit.
			"URLs": fmt.Appendf(nil, "https://en.example.org/%d/%02d/search?q=bloom+filter&page=%d",
				i%25, i%12, i),
		} {
			kinds[kind] = append(kinds[kind], bloom.Sum(key))
		}
	}
	return kinds
}

// TestStatistics measures false positives and ApproxCount at half, full and one and a half times
// the capacity. A SyncFilter has the same bits and estimates: see TestFilterPlain and
// TestPromises.
func TestStatistics(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	for kind, hs := range statKinds() {
		for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
			for _, n := range []int{1000, 10_000, 100_000} {
				for _, p := range []float64{0.1, 0.01, 0.001} {
					for _, load := range []float64{0.5, 1, 1.5} {
						for what, z := range measured(t, strategy, hs, n, p, load) {
							if math.Abs(z) > statZ {
								t.Errorf(
									"%s, %s, n = %d, p = %v, filled to %v: %.1f standard "+
										"deviations off: %s", strategy, kind, n, p, load, z, what)
							}
						}
					}
				}
			}
		}
	}
}

// measured returns by how many standard deviations each figure is wrong. If the bits are given, an
// absent key is a false positive with probability FPR. So the number of false positives is
// binomial, and its square root has a standard deviation of at most 1/2.
func measured(
	t *testing.T, strategy bloom.Strategy, hs []bloom.Hash, n int, p, load float64,
) map[string]float64 {
	f, keys := bloom.Must(bloom.NewWithStrategy(strategy, uint64(n), p)), hs[:int(load*float64(n))]
	f.AddBatch(nil, keys)
	m, k := float64(f.M()), float64(f.K())
	count := func(hs []bloom.Hash) float64 {
		return float64(filtertest.Count(filtertest.Found(f, hs)))
	}
	require.EqualValues(t, len(keys), count(keys), "a key is missing")
	probes := hs[max(len(keys), len(hs)-statProbes):]
	num, found := float64(len(probes)), count(probes)
	// Double hashing adds this at most. There are two cases; see TestDoubleHashing. If H2 of a
	// probe is 0, or m divided by a small number, the probe has fewer different bits. If H2 is that
	// of a key, or its negative, the probe may share several bits with the key. Each case happens
	// to about one probe in m.
	excess := 2 / m
	root := func(x float64) float64 { return 2 * math.Sqrt(x+3.0/8) } // Anscombe
	off := map[string]float64{
		"fewer found than by FPR": min(0, root(found)-root(num*max(0, f.FPR()-excess))),
		"more found than by FPR":  max(0, root(found)-root(num*(f.FPR()+excess))),
	}
	fill, variance := onesVariance(k * float64(len(keys)) / m)
	if load == 1 {
		// Because the number of hashes is whole, the rate is up to 1 % higher at these p. FPR =
		// fill^k, so its relative deviation is k times that of fill.
		asked := num * (1.01*p + excess)
		deviation := math.Hypot(math.Sqrt(asked), asked*k*math.Sqrt(variance/m)/fill)
		off["more found than asked for"] = max(0, (found-asked)/deviation)
	}
	// The estimate is g(fill) = -m/k ln(1-fill). Let c = kn/m. The deviation of the estimate is the
	// first derivative of g times the deviation of fill, which is sqrt(m (e^c-1-c))/k. The bias of
	// the estimate is half the second derivative of g times the variance of fill, which is
	// (e^c-1-c)/2k.
	slope := m / k / (1 - fill)
	bias, sigma := slope/(1-fill)*variance/m/2, slope*math.Sqrt(variance/m)
	// Subtract one key for rounding, and for bits that double hashing sets twice.
	off["ApproxCount"] = max(0, math.Abs(float64(f.ApproxCount())-bias-float64(len(keys)))-1) / sigma
	return off
}

// onesVariance returns the mean of the share of m bins that load*m balls hit, and its variance
// times m. To first order in 1/m, a bin stays clear with probability (1-1/m)^(load m) = e^-load,
// and two bins both stay clear with probability (1-2/m)^(load m) = e^(-2 load) (1 - load/m). That
// the k balls of a key hit different bins does not matter to this order.
func onesVariance(load float64) (mean, variance float64) {
	clear := math.Exp(-load)
	return 1 - clear, clear * (1 - (1+load)*clear)
}

// falsePositives adds random keys to f and returns how many of the random probes f then contains.
func falsePositives(f *bloom.Filter, rnd *rand.Rand, keys, probes int) (found int) {
	for range keys {
		f.AddHash(bloom.NewHash(rnd.Uint64(), rnd.Uint64()))
	}
	for range probes {
		if f.ContainsHash(bloom.NewHash(rnd.Uint64(), rnd.Uint64())) {
			found++
		}
	}
	return found
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
		for _, s := range []bloom.Strategy{bloom.Mitz64, bloom.Mitz32} {
			const filters, probes = 50, 40_000
			var model, plain, found float64
			for range filters {
				f := bloom.NewFilter(s, int(c.m/64), c.k)
				found += float64(falsePositives(f, rnd, int(c.n), probes))
				model += probes * bloom.DoubleHashing(f.FillRatio(), c.m, c.k)
				plain += probes * math.Pow(f.FillRatio(), float64(c.k))
			}
			noise := statZ * math.Sqrt(found+1)
			t.Logf("%+v %v: %.0f found, %.1f by fill^k, %.1f more by the model", c, s, found, plain, model)
			least, most := model/1.4, 1.4*model
			if s == bloom.Mitz32 {
				least, most = model/6, 1.1*model
			}
			require.Greater(t, found-plain, least-noise, "%+v %v", c, s)
			require.Less(t, found-plain, most+noise, "%+v %v", c, s)
		}
	}
}

// TestFPROfNew: the mean rate of many filters that New made, and that hold half of their keys or
// all of them, is within a fifth of the mean of their FPR. The test allows 4.5 standard errors of
// the mean rate, which it measures from filter to filter.
func TestFPROfNew(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	rnd := rand.New(rand.NewPCG(3, 6))
	for p, ns := range map[float64][]uint64{
		0.2:  {1, 20},
		0.1:  {1, 10, 20},
		1e-3: {1, 20},
		1e-4: {4, 14, 29},
		1e-5: {1, 4, 20, 60},
		1e-6: {8, 10, 20, 100},
		1e-7: {2, 20},
		1e-9: {1, 2, 4, 6, 10},
	} {
		for _, n := range ns {
			m, k, err := bloom.Size(n, p)
			require.NoError(t, err)
			for _, keys := range []uint64{max(1, n/2), n} {
				fill := 1 - math.Exp(-float64(k)*float64(keys)/float64(m))
				excess := bloom.DoubleHashing(fill, m, k)
				probes := max(2e5, 1500/(excess+math.Pow(fill, float64(k))))
				rate, told, deviation := measure(rnd, m, k, keys, int(probes))
				about := fmt.Sprintf("New(%d, %v) with %d keys: rate %.2g, FPR %.2g", n, p, keys, rate, told)
				require.InDelta(t, told, rate, 0.2*told+statZ*deviation, about)
				require.Less(t, statZ*deviation, 0.3*rate, about)
			}
		}
	}
}

// TestFPROfOne: FPR is near the rate of each single filter, and nearer in larger ones.
func TestFPROfOne(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	rnd := rand.New(rand.NewPCG(3, 7))
	for _, c := range []struct {
		n     uint64
		p     float64
		times float64 // the rate is at most times FPR, and at least FPR/times
	}{{20, 0.01, 2}, {50, 0.01, 2}, {900, 0.01, 1.25}, {600, 1e-3, 1.25}, {10, 1e-4, 4},
		{10, 1e-6, 8}} {
		for range 20 {
			f := bloom.Must(bloom.New(c.n, c.p))
			falsePositives(f, rnd, int(c.n), 0)
			// 5000 found ones are known within 6.4 %. At 1e-6 the rate is 1,000 times p.
			probes := math.Ceil(min(1e6, 5000/f.FPR()))
			found := float64(falsePositives(f, rnd, 0, int(probes)))
			want := probes * f.FPR()
			about := fmt.Sprintf("New(%d, %v): %.0f found, %.0f by FPR", c.n, c.p, found, want)
			require.Less(t, found, c.times*want+statZ*math.Sqrt(c.times*want), about)
			require.Greater(t, found, want/c.times-statZ*math.Sqrt(want/c.times), about)
		}
	}
}

// TestFPR: FPR is the rate that is measured, in filters of 64 to 1.9 million bits that hold from
// half to four times the keys they were made for. The test compares the mean rates of many filters,
// because small ones differ in how full they are.
func TestFPR(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	rnd := rand.New(rand.NewPCG(3, 5))
	for _, c := range []struct {
		n, m uint64
		k    int
	}{
		{2, 64, 2}, {2, 192, 2}, {3, 64, 3}, {10, 128, 7}, {10, 192, 10}, {30, 448, 10},
		{100, 960, 7}, {100, 1024, 7},
		{100, 1920, 13}, {100, 2880, 20}, {100, 3072, 20}, {100, 4096, 20}, {1000, 14400, 10},
		{1000, 24000, 17}, {100_000, 958_528, 7}, {100_000, 1_917_056, 13},
	} {
		within := 0.1
		if c.m < 400 {
			within = 0.2
		}
		for _, load := range []float64{0.5, 1, 2, 4} {
			keys := int(load * float64(c.n))
			filters := max(2, min(1000, 50_000/keys))
			// 5000 found ones are known within 6.4 %.
			fill := 1 - math.Exp(-float64(c.k*keys)/float64(c.m))
			enough := min(2e6, 5000/bloom.DoubleHashing(fill, c.m, c.k))
			probes := max(1, int(enough)/filters)
			var told, plain, found float64
			for range filters {
				f := bloom.Must(bloom.NewSize(c.m, c.k))
				found += float64(falsePositives(f, rnd, keys, probes))
				told += float64(probes) * f.FPR()
				plain += float64(probes) * math.Pow(f.FillRatio(), float64(c.k))
			}
			t.Logf("%+v, %d keys: %.0f found, %.1f by FPR, %.1f by fill^k", c, keys, found, told, plain)
			noise := statZ * math.Sqrt(found+1)
			require.InDelta(t, told, found, within*told+noise, "%+v, %d keys", c, keys)
		}
	}
}

// TestNewRate: the rates in New's comment agree with the model. In a full filter, double hashing
// adds about (2.6 + 9/k)/(n k^2), and 3.5 (1 + k/6)/(n k^2) if m is a power of two and k >= 10.
func TestNewRate(t *testing.T) {
	for _, c := range []struct {
		n     uint64
		p     float64
		times float64 // the rate, divided by p
	}{{100, 0.01, 1.08}, {100, 1e-6, 77}, {1e6, 1e-7, 1.06}} {
		m := bloom.OptimalM(c.n, c.p)
		k := float64(bloom.OptimalK(m, c.n))
		excess := (2.6 + 9/k) / (float64(c.n) * k * k)
		require.InEpsilon(t, c.times, 1+excess/c.p, 0.01)
		require.InEpsilon(t, excess, bloom.DoubleHashing(0.5, m+64, int(k)), 0.1)
		k = max(k, 10)
		n := 1 << 20 * math.Ln2 / k
		require.InEpsilon(t, (1+k/6)*3.5/(n*k*k), bloom.DoubleHashing(0.5, 1<<20, int(k)), 0.15)
	}
	m := bloom.OptimalM(1e6, 0.01)
	require.InDelta(t, 0.023, bloom.FalsePositiveRate(m, 7, 1.2e6), 0.0005)
	require.InDelta(t, 0.16, bloom.FalsePositiveRate(m, 7, 2e6), 0.005)
}

// TestEmptyKey: the digest of the empty key is 0, 0. So a filter reports the empty key if its first
// bit is set. With a salt, the empty key is a key like any other.
func TestEmptyKey(t *testing.T) {
	require.Equal(t, bloom.NewHash(0, 0), bloom.Sum(nil))
	r, found, salted := rand.New(rand.NewPCG(3, 4)), 0, 0
	for range 400 {
		f := bloom.Must(bloom.New(100, 0.001))
		for range 100 {
			f.AddHash(bloom.NewHash(r.Uint64(), r.Uint64()))
		}
		if f.Contains(nil) {
			found++
		}
		if f.ContainsHash(bloom.Sum(nil).Salt(1)) {
			salted++
		}
	}
	require.InDelta(t, 200, found, 50)
	require.Less(t, salted, 10)
}

func TestEstimates(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	require.Zero(t, f.ApproxCount())
	require.Zero(t, f.FPR())
	require.Zero(t, f.FillRatio())

	last := uint64(0)
	for i := 0; f.OnesCount() < f.M(); i++ {
		f.AddHash(bloom.SumUint64(uint64(i)))
		ones := uint64(0)
		for _, w := range bloom.WordsOf(f) {
			ones += uint64(bits.OnesCount64(w))
		}
		require.Equal(t, ones, f.OnesCount())
		require.GreaterOrEqual(t, f.ApproxCount(), last)
		last = f.ApproxCount()
	}
	// If all bits are set, the estimate is that of a filter with half a bit clear.
	require.Equal(t, 1.0, f.FillRatio())
	require.Equal(t, 1.0, f.FPR())
	require.EqualValues(t, math.Round(9600/7.0*math.Log(2*9600)), f.ApproxCount())
	f.Reset()
	require.True(t, f.Equal(bloom.Must(bloom.New(1000, 0.01))))
}

// TestStatsString: a printed Stats has names.
func TestStatsString(t *testing.T) {
	f := bloom.Must(bloom.New(1000, 0.01))
	f.AddString("a")
	require.Equal(t, "m=9600 k=7 ones=7 fill=0.00073 keys=1 rate=1.5e-08 size=1206",
		f.Stats().String())
	require.Equal(t, f.Stats().String(), fmt.Sprint(f.Stats()))
	require.Equal(t, f.Stats(), f.Stats(), "comparable")
}

// TestRateIsARate: FPR is in [0, 1] for every size, number of hashes and fill, and 1 in a full
// filter.
func TestRateIsARate(t *testing.T) {
	for _, m := range []uint64{64, 128, 192, 320, 448, 576, 1024, 1088, 4096} {
		for k := 1; k <= 255; k++ {
			least, most := 1.0, 0.0 // or NaN
			for ones := uint64(0); ones <= m; ones += 8 {
				rate := bloom.StatsOf(m, k, ones).FPR
				least, most = min(least, rate), max(most, rate)
			}
			require.GreaterOrEqual(t, least, 0.0, "m=%d k=%d", m, k)
			require.LessOrEqual(t, most, 1.0, "m=%d k=%d", m, k)
			require.Equal(t, 1.0, bloom.StatsOf(m, k, m).FPR)
		}
	}
}
