package window

import (
	"fmt"
	"iter"
	"math"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestConfig(t *testing.T) {
	good := Config{Capacity: 1000, FPR: 0.01, Span: time.Hour}
	f, err := New(good)
	require.NoError(t, err)
	want := good
	want.Generations = 15
	require.Equal(t, want, f.Config())
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Capacity = 0 }, "window: Capacity = 0 "},
		{func(c *Config) { c.Capacity = math.MaxUint64 }, "window: Capacity = 18446744073709551615, "},
		{func(c *Config) { c.Capacity, c.FPR = 1e16, 1e-9 }, "window: Capacity = 10000000000000000, "},
		{func(c *Config) { c.FPR = 0 }, "window: FPR = 0 "},
		{func(c *Config) { c.FPR = 1 }, "window: FPR = 1 "},
		{func(c *Config) { c.FPR = -0.5 }, "window: FPR = -0.5 "},
		{func(c *Config) { c.FPR = math.NaN() }, "window: FPR = NaN "},
		{func(c *Config) { c.Span = 0 }, "window: Span = 0s "},
		{func(c *Config) { c.Span = -time.Hour }, "window: Span = -1h0m0s "},
		{func(c *Config) { c.Span = 3600 }, "window: Span = 3.6µs is less than a millisecond for each of 15 generations"},
		{func(c *Config) { c.Span = 15*time.Millisecond - 1 }, "window: Span = 14.999999ms "},
		{func(c *Config) { c.Generations = -1 }, "window: Generations = -1 is outside [0, 63]"},
		{func(c *Config) { c.Generations = 64 }, "window: Generations = 64 is outside [0, 63]"},
		{func(c *Config) { c.Generations = math.MinInt }, fmt.Sprintf("window: Generations = %d ", math.MinInt)},
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
	good.Span = 15 * time.Millisecond
	bloom.Must(New(good))
}

// TestLargest finds the largest capacity that is laid out, without its memory.
func TestLargest(t *testing.T) {
	words := func(capacity int) uint64 {
		c := Config{Capacity: uint64(capacity), FPR: 0.01, Span: time.Hour, Generations: 7}
		l, err := c.layout()
		if err != nil {
			require.ErrorContains(t, err, fmt.Sprintf("window: Capacity = %d, FPR = 0.01 need ", capacity))
			return form.MaxFrameWords + 1
		}
		require.LessOrEqual(t, l.blockCount*l.words(), uint64(form.MaxFrameWords))
		return l.blockCount * l.words()
	}
	first := sort.Search(math.MaxInt, func(n int) bool { return words(n) > form.MaxFrameWords })
	require.Greater(t, words(first-1), uint64(form.MaxFrameWords)*99/100)
}

// TestSizes has the table of the package comment, which is for a million keys.
func TestSizes(t *testing.T) {
	for _, row := range []struct {
		p    float64
		bits map[int]float64
	}{
		{0.01, map[int]float64{1: 90.2, 3: 34.9, 7: 16.2, 15: 16.9, 31: 17.6, 63: 19.0}},
		{0.001, map[int]float64{1: 131.7, 3: 46.8, 7: 22.0, 15: 22.5, 31: 22.9, 63: 24.3}},
	} {
		for generations, want := range row.bits {
			const n = 1e6
			f := bloom.Must(New(Config{Capacity: n, FPR: row.p, Span: time.Hour, Generations: generations}))
			assert.InDelta(t, want, 8*float64(f.SizeBytes())/n, 0.05, "p = %v, %d generations", row.p, generations)
		}
	}
}

// fill fills every generation, and returns keys that are not in f from then on.
func fill(f *Filter, hand *testkit.Clock, c Config) (unused uint64) {
	for g := range uint64(c.Generations) + 1 {
		for ; unused < (g+1)*c.Capacity/uint64(c.Generations); unused++ {
			f.AddHash(bloom.SumUint64(unused))
		}
		if g < uint64(c.Generations) {
			hand.Advance(c.Span / time.Duration(c.Generations))
		}
	}
	return unused
}

func TestRate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, and many under emulation")
	}
	for _, c := range []Config{
		{Capacity: 2000, FPR: 0.3, Generations: 1},
		{Capacity: 2000, FPR: 0.01, Generations: 63},
		{Capacity: 2000, FPR: 0.01, Generations: 7},
		{Capacity: 100000, FPR: 0.01, Generations: 24},
		{Capacity: 300000, FPR: 0.001, Generations: 15},
		{Capacity: 100000, FPR: 0.02, Generations: 63},
	} {
		t.Run(fmt.Sprintf("n=%d/p=%v/generations=%d", c.Capacity, c.FPR, c.Generations), func(t *testing.T) {
			var hand testkit.Clock
			c.Span, c.Now = 63*24*time.Hour, hand.Now
			f := bloom.Must(New(c))
			unused := fill(f, &hand, c)
			const trials = 200000
			hits := 0
			for i := range uint64(trials) {
				if f.ContainsHash(bloom.SumUint64(unused + i)) {
					hits++
				}
			}
			assert.LessOrEqual(t, float64(hits), testkit.RateBound(trials, c.FPR))
			// Not much under it either, or memory is wasted: 31 keys, the fewest of a
			// generation here, have a little more than they need.
			assert.GreaterOrEqual(t, float64(hits), trials*0.8*c.FPR-4.75*math.Sqrt(trials*c.FPR))
			assert.InEpsilon(t, float64(hits)/trials, f.FPR(), 0.05+4.75/math.Sqrt(float64(hits)))
		})
	}
	// A rate too low to be counted, by the bits set: here the blocks' shares of
	// the keys matter.
	var hand testkit.Clock
	c := Config{Capacity: 300000, FPR: 1e-6, Span: 24 * time.Hour, Generations: 15, Now: hand.Now}
	f := bloom.Must(New(c))
	fill(f, &hand, c)
	assert.InEpsilon(t, 1e-6, f.FPR(), 0.15)
}

// TestRateOfSmall takes many small filters of different keys. Their own rates
// differ widely; the mean's deviation is estimated from what they are.
func TestRateOfSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, and many under emulation")
	}
	for _, c := range []Config{
		{Capacity: 1, FPR: 0.01, Generations: 1},
		{Capacity: 63, FPR: 1e-4, Generations: 63},
		{Capacity: 2 * 63, FPR: 1e-4, Generations: 63},
		{Capacity: 3 * 31, FPR: 1e-4, Generations: 31},
		{Capacity: 5 * 15, FPR: 1e-4, Generations: 15},
		{Capacity: 10 * 63, FPR: 1e-4, Generations: 63},
		{Capacity: 4 * 7, FPR: 1e-3, Generations: 7},
		{Capacity: 10, FPR: 1e-4, Generations: 1},
		{Capacity: 5 * 63, FPR: 1e-3, Generations: 63},
		{Capacity: 20 * 3, FPR: 0.1, Generations: 3},
	} {
		t.Run(fmt.Sprintf("n=%d/p=%v/generations=%d", c.Capacity, c.FPR, c.Generations), func(t *testing.T) {
			const filters, probes = 300, 4000
			var sum, squares float64
			var hand testkit.Clock
			c.Span, c.Now = time.Duration(c.Generations)*time.Hour, hand.Now
			for seed := range uint64(filters) {
				f := bloom.Must(New(c))
				keys := testkit.Digests[bloom.Hash](seed, int(c.Capacity)*2+probes)
				for range c.Generations + 1 {
					hand.Advance(time.Hour)
					for range c.Capacity / uint64(c.Generations) {
						f.AddHash(keys[0])
						keys = keys[1:]
					}
				}
				hits := 0.0
				for _, h := range keys[:probes] {
					if f.ContainsHash(h) {
						hits++
					}
				}
				sum += hits
				squares += hits * hits
			}
			mean := sum / filters
			deviation := math.Sqrt(max(squares/filters-mean*mean, probes*c.FPR) / filters)
			assert.LessOrEqual(t, mean, probes*c.FPR+4.75*deviation, "%.2f times the rate", mean/probes/c.FPR)
			t.Logf("%.2f times the rate, bound %.2f", mean/probes/c.FPR, 1+4.75*deviation/probes/c.FPR)
		})
	}
}

// sequence returns one of the two sequences of positions that h has among lanes.
func sequence(h bloom.Hash, half, k int, lanes uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		h1, h2 := h.Words()
		x, step := uint32(h1>>(32*half)), uint32(h2>>(32*half))
		for i := 0; i < k/2 && yield(uint64(x)*lanes>>32); i++ {
			x += step
			step += uint32(uint64(curve) >> (32 * half))
		}
	}
}

// TestAlike counts sequences that are found, less those that chance explains.
func TestAlike(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, and ten under emulation")
	}
	const filters, probes = 1500, 10_000
	absent := testkit.Digests[bloom.Hash](1<<32, probes)
	for _, test := range []struct {
		k        int
		n, lanes uint64
	}{{16, 1, 32}, {24, 1, 72}, {32, 4, 256}} {
		var found, chance, squares float64
		for seed := range uint64(filters) {
			set := make([]bool, test.lanes)
			ones := 0.0
			for _, h := range testkit.Digests[bloom.Hash](seed, int(test.n)) {
				for half := range 2 {
					for i := range sequence(h, half, test.k, test.lanes) {
						if !set[i] {
							ones++
						}
						set[i] = true
					}
				}
			}
			hits := 0.0
			for i, h := range absent {
				hit := true
				for i := range sequence(h, i%2, test.k, test.lanes) {
					if hit = set[i]; !hit {
						break
					}
				}
				if hit {
					hits++
				}
			}
			found += hits
			squares += hits * hits
			chance += probes * math.Pow(ones/float64(test.lanes), float64(test.k/2))
		}
		deviation := math.Sqrt(squares - found*found/filters)
		want := filters * probes * alike(test.k, float64(test.n), float64(test.lanes))
		t.Logf("%+v: %.0f, %.0f expected, deviation %.0f", test, found-chance, want, deviation)
		assert.LessOrEqual(t, found-chance, want+4.75*deviation, "%+v", test)
		assert.GreaterOrEqual(t, found-chance, want/2.5-4.75*deviation, "%+v", test)
	}
}

// TestRateOfBlocks adds up what chance and look-alikes make of a block with each number of
// keys, by Poisson's distribution.
func TestRateOfBlocks(t *testing.T) {
	for _, p := range []float64{1e-3, 1e-6, 1e-9, 1e-10, 1e-11, 1e-12} {
		const n = 1e7
		k, blocks, lanes := size(n, p)
		mean, rate := n/blocks, 0.0
		for keys := 1.0; keys < 4*mean; keys++ {
			logGamma, _ := math.Lgamma(keys + 1)
			chance := math.Pow(-math.Expm1(-float64(k)*keys/lanes), float64(k)/2)
			rate += math.Exp(keys*math.Log(mean)-mean-logGamma) * math.Pow(chance+alike(k, keys, lanes), 2)
		}
		assert.LessOrEqual(t, rate, 1.01*p)
		assert.GreaterOrEqual(t, rate, 0.7*p)
	}
}

// TestLeastRate makes windows for rates that nothing holds.
func TestLeastRate(t *testing.T) {
	for _, capacity := range []uint64{1, 100, 1e5} {
		c := Config{Capacity: capacity, FPR: 2 * leastRate, Span: time.Hour, Generations: 1}
		least := bloom.Must(New(c)).SizeBytes()
		for _, c.FPR = range []float64{1e-13, 1e-84, 5e-324} {
			require.Equal(t, least, bloom.Must(New(c)).SizeBytes(), "%v", c)
		}
		c.FPR = 3 * leastRate
		require.LessOrEqual(t, bloom.Must(New(c)).SizeBytes(), least)
	}
}

// TestRateOfFew is for rates too low to be counted. An absent key's two sequences do not
// depend on each other, so each is counted by itself.
func TestRateOfFew(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, and ten under emulation")
	}
	const rate, probes, filters = 1e-10, 30_000, 500 // a sequence is found once in 1e5 times
	const n = 5
	absent := testkit.Digests[bloom.Hash](1<<32, probes)
	var sum, squares float64
	for seed := range uint64(filters) {
		f := bloom.Must(New(Config{Capacity: n, FPR: 2 * rate, Span: time.Hour, Generations: 1}))
		for _, h := range testkit.Digests[bloom.Hash](seed, n) {
			f.AddHash(h)
		}
		var found [2]float64
		for half := range found {
			for _, h := range absent {
				hit := true
				for i := range sequence(h, half, f.k, f.lanes) {
					if hit = f.array[i/8]>>(i%8*8)&1 == 1; !hit {
						break
					}
				}
				if hit {
					found[half]++
				}
			}
		}
		times := found[0] * found[1] / (rate * probes * probes)
		sum += times
		squares += times * times
	}
	mean := sum / filters
	deviation := math.Sqrt((squares/filters - mean*mean) / filters)
	t.Logf("%.2f times the rate, bound %.2f", mean, 1+4.75*deviation)
	assert.LessOrEqual(t, mean, 1+4.75*deviation, "times the rate")
}
