package window

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

func TestConfig(t *testing.T) {
	good := Config{N: 1000, P: 0.01, Span: time.Hour}
	f, err := New(good)
	require.NoError(t, err)
	want := good
	want.Generations = 7
	require.Equal(t, want, f.Config())
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.N = 0 }, "window: N = 0 "},
		{func(c *Config) { c.N = math.MaxUint64 }, "window: N = 18446744073709551615 is outside [1, "},
		{func(c *Config) { c.N, c.P = 1e16, 1e-9 }, "window: N = 10000000000000000 is outside [1, "},
		{func(c *Config) { c.P = 0 }, "window: P = 0 "},
		{func(c *Config) { c.P = 1 }, "window: P = 1 "},
		{func(c *Config) { c.P = -0.5 }, "window: P = -0.5 "},
		{func(c *Config) { c.P = math.NaN() }, "window: P = NaN "},
		{func(c *Config) { c.Span = -time.Hour }, "window: Span = -1h0m0s "},
		{func(c *Config) {
			c.Span = 7*time.Millisecond - 1
		}, "window: Span = 6.999999ms is outside [7ms, 36 years); 0 means without a clock"},
		{func(c *Config) { c.Span = math.MaxInt64 }, "window: Span = 2562047h47m16.854775807s "},
		{func(c *Config) { c.Generations = -1 }, "window: Generations = -1 is outside [0, 31]"},
		{func(c *Config) { c.Generations = 32 }, "window: Generations = 32 is outside [0, 31]"},
		{func(c *Config) {
			c.Generations = math.MinInt
		}, fmt.Sprintf("window: Generations = %d ", math.MinInt)},
	} {
		c := good
		test.change(&c)
		f, err := New(c)
		require.ErrorContains(t, err, test.want)
		require.Nil(t, f)
		_, err = c.SizeBytes()
		require.ErrorContains(t, err, test.want)
	}
	require.Equal(t, f.SizeBytes(), bloom.Must(good.SizeBytes()))
	for _, span := range []time.Duration{0, 7 * time.Millisecond, maxSpan - 1} {
		good.Span = span
		bloom.Must(New(good)).AddString("key")
	}
}

// TestPrice: a key takes as many bits as the comments of the package and of Config say.
func TestPrice(t *testing.T) {
	bits := func(c Config) float64 {
		c.Span = time.Hour
		return 8 * float64(bloom.Must(c.SizeBytes())) / float64(c.N)
	}
	for p, most := range map[float64][2]float64{
		1e-2: {23, 27}, 1e-3: {28, 32.1}, 1e-6: {46, 53.3}, 1e-9: {64, 74.6},
	} {
		for _, n := range []uint64{1e5, 123_456, 3e5, 1e6, 77e5} {
			for i, renew := range []bool{false, true} {
				got := bits(Config{N: n, P: p, Renew: renew})
				assert.LessOrEqual(t, got, most[i], "N = %d, P = %v", n, p)
				assert.GreaterOrEqual(t, got, most[i]-1, "N = %d, P = %v", n, p)
			}
		}
		for generations, ratios := range map[int][2]float64{
			3: {0.93, 1.02}, 15: {1.17, 1.09}, 31: {1.75, 1.6},
		} {
			for i, renew := range []bool{false, true} {
				assert.InDelta(t, ratios[i],
					bits(Config{N: 1e6, P: p, Renew: renew,
						Generations: generations})/bits(Config{N: 1e6, P: p, Renew: renew}), 0.01)
			}
		}
	}
}

// TestLargest finds the largest N that has a layout, without its memory.
func TestLargest(t *testing.T) {
	lanes := func(n uint64) uint64 {
		l, err := Config{N: n, P: 0.01, Generations: 7}.layout()
		if err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("window: N = %d is outside [1, ", n))
			return 0
		}
		require.LessOrEqual(t, l.pages*l.lanes, uint64(form.MaxFrameWords))
		return l.pages * l.lanes
	}
	least, most := uint64(1), uint64(math.MaxUint64)
	for least+1 < most {
		if middle := least + (most-least)/2; lanes(middle) > 0 {
			least = middle
		} else {
			most = middle
		}
	}
	require.Greater(t, lanes(least), uint64(form.MaxFrameWords/100*98))
}

// TestRateOfPages computes the mean rate of a page whose number of keys has a Poisson distribution.
func TestRateOfPages(t *testing.T) {
	for _, p := range []float64{1e-2, 1e-3, 1e-6, 1e-9, 1e-12} {
		c := Config{N: 1e7, P: p, Generations: 7}
		l, err := c.layout()
		require.NoError(t, err)
		share, _ := c.share(l.pages)
		mean, rate := float64(share)/float64(l.pages), 0.0
		for keys := 1.0; keys < 4*mean; keys++ {
			logGamma, _ := math.Lgamma(keys + 1)
			chance := math.Pow(-math.Expm1(-float64(l.k)*keys/float64(l.lanes)), float64(l.k))
			rate += math.Exp(keys*math.Log(mean)-mean-logGamma) * chance
		}
		assert.LessOrEqual(t, rate*planes, 1.002*p)
		assert.GreaterOrEqual(t, rate*planes, 0.95*p)
	}
}

// TestRateOfFew: the rate is kept by windows of few keys. The share of lanes that such keys set
// varies. If a page had few different sequences of positions, such keys would also share sequences.
func TestRateOfFew(t *testing.T) {
	for _, test := range []struct {
		n uint64
		p float64
	}{{1, 0.3}, {1, 1e-3}, {10, 0.01}, {60, 1e-4}, {150, 1e-4}, {500, 0.01}, {2000, 1e-5}} {
		const probes = 5000
		filters := 40
		if !testing.Short() {
			filters = 400
		}
		var sum, squares float64
		for seed := range uint64(filters) {
			f := bloom.Must(New(Config{N: test.n, P: test.p}))
			keys := filtertest.Digests(seed, int(f.ring.share)*planes+probes)
			for _, h := range keys[probes:] {
				f.AddHash(h)
			}
			hits := float64(filtertest.Count(filtertest.Found(f, keys[:probes])))
			sum += hits
			squares += hits * hits
		}
		mean, n := sum/float64(filters), float64(filters)
		deviation := math.Sqrt(max(squares/n-mean*mean, probes*test.p) / n)
		t.Logf("N = %d: %.2f p, bound %.2f", test.n, mean/probes/test.p, 1+4.75*deviation/probes/test.p)
		assert.LessOrEqual(t, mean, probes*test.p+4.75*deviation, "%v", test)
	}
}

// TestPositions: all lanes are equally likely, and the positions of a key are independent.
func TestPositions(t *testing.T) {
	const lanes, keys = 64, 200_000
	for _, step := range []func(i uint64) (uint64, uint64){
		func(i uint64) (uint64, uint64) { h1, h2 := bloom.SumUint64(i).Words(); return h1, h2 },
		func(i uint64) (uint64, uint64) { h1, _ := bloom.SumUint64(i).Words(); return h1, 0 },
		func(i uint64) (uint64, uint64) { h1, h2 := bloom.SumUint64(i).Words(); return h1 << 20, h2 },
	} {
		var pairs [6][lanes * lanes]float64
		for i := range uint64(keys) {
			x, step := step(i)
			var at [6]uint32
			for j := 0; j < 6; j += 2 {
				at[j], at[j+1], x = twoPositions(x, step, lanes)
			}
			for j := range at {
				pairs[j][at[j]*lanes+at[(j+1)%6]]++
			}
		}
		for j := 2; j < 5; j++ {
			square := 0.0
			for _, n := range pairs[j] {
				square += (n - keys/lanes/lanes) * (n - keys/lanes/lanes) / (keys / lanes / lanes)
			}
			cells := float64(lanes*lanes - 1)
			assert.InDelta(t, 0, (square-cells)/math.Sqrt(2*cells), 6, "positions %d", j)
		}
	}
}

// TestStatsOfAnIdleWindow: the figures are those of the keys that are remembered now, even if no
// other call has noticed that planes are due to die.
func TestStatsOfAnIdleWindow(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 0.01, Span: time.Hour, Now: hand.Now}))
	f.AddBatch(nil, filtertest.Digests(1, 500))
	require.InEpsilon(t, 500, f.Stats().ApproxCount, 0.05)
	hand.Advance(2 * time.Hour)
	s := f.Stats()
	require.Zero(t, s.ApproxCount, "all keys are forgotten")
	require.Zero(t, s.FPR, "nothing is reported")
}

// TestStats: the figures are right for windows of few pages, and of more pages than Stats reads.
func TestStats(t *testing.T) {
	for _, n := range []uint64{10_000, 1_000_000} {
		f := bloom.Must(New(Config{N: n, P: 0.01}))
		require.Equal(t, n > 1e5, f.pages > 16)
		added := 0
		for f.ring.planes().len() < planes {
			f.AddHash(bloom.SumUint64(uint64(added)))
			added++
		}
		s := f.Stats()
		require.Equal(t, f.pages*f.lanes*planes, s.M)
		require.Equal(t, f.k, s.K)
		require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
		require.InEpsilon(t, added, s.ApproxCount, 0.02)
		require.InEpsilon(t, 0.01, s.FPR, 0.05)
		require.Equal(t, f.SizeBytes(), s.SizeBytes)
	}
}
