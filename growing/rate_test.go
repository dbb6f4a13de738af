package growing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// allocated returns the bits of all layers, those included that are being made.
func (f *Filter) allocated() (m uint64) {
	for i := range f.shards {
		s := &f.shards[i]
		list := s.list()
		for _, l := range list {
			m += l.filter.M()
		}
		if s.next != nil {
			m += nextBits(list)
		}
	}
	return m
}

func (f *Filter) layers() (n int) {
	for i := range f.shards {
		n += len(f.shards[i].list())
	}
	return n
}

// TestWhileGrowing measures rate, memory and count from the first key on: at five
// points between a number of keys and ten times as many, and right after the first
// shard began a layer.
func TestWhileGrowing(t *testing.T) {
	most := 1_000_000
	if testing.Short() {
		most = 100_000
	}
	for _, p := range []float64{0.1, 0.01, 0.001} {
		t.Run(fmt.Sprint("p=", p), func(t *testing.T) {
			probes := min(100_000, int(2000/p))
			keys, absent := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4))
			f := bloom.Must(New(p))
			check := func(n int) {
				found := 0
				for range probes {
					if f.ContainsHash(bloom.NewHash(absent.Uint64(), absent.Uint64())) {
						found++
					}
				}
				require.LessOrEqual(t, float64(found), testkit.RateBound(probes, p), "%d keys", n)
				require.InEpsilon(t, n, f.ApproxCount(), 0.01, "%d keys", n)
				var decoded Filter // which knows of its keys only what the bits say
				require.NoError(t, decoded.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
				require.InEpsilon(t, n, decoded.ApproxCount(), 0.01, "%d keys", n)
				ratio := float64(f.allocated()) / float64(bloom.OptimalM(uint64(n), p))
				t.Logf("%8d keys, %3d layers, rate %.4f p, FPR %.4f p, count %.4f, memory %.3f", n, f.layers(), float64(found)/float64(probes)/p, f.FPR()/p, float64(f.ApproxCount())/float64(n), ratio)
				if n >= 25_000 && p <= 0.01 {
					require.LessOrEqual(t, ratio, 2.6, "%d keys", n)
				}
			}
			next, begun := 1.0, 0
			for n := 1; n <= most; n++ {
				f.AddHash(bloom.NewHash(keys.Uint64(), keys.Uint64()))
				if now := len(f.shards[0].list()); n == int(math.Ceil(next)) || now != begun {
					begun = now
					check(n)
					if n >= int(math.Ceil(next)) {
						next *= math.Pow(10, 0.2)
					}
				}
			}
			// A full layer has the rate that is its share. That of a small one is off by
			// 10 %, so that the mean of these is by 2 %.
			sum, full := 0.0, 0.0
			for i := range f.shards {
				list := f.shards[i].list()
				for j, l := range list[:len(list)-1] {
					sum += l.filter.FPR() / rate(p, j)
					full++
				}
			}
			require.Greater(t, full, 30.0)
			require.InDelta(t, 1, sum/full, 0.09)
		})
	}
}

// TestMemory follows the sizes of layers, without their bits, to 1e9 keys. It holds the
// memory beside a classic filter of the same rate, made for exactly the keys, to the table
// in the package comment: at its worst, right after a layer was made, and on average while
// the keys double.
func TestMemory(t *testing.T) {
	const first, last = 50_000, 1e9
	step := math.Log(1.001)
	at := func(keys float64) int { return max(0, int(math.Log(keys/first)/step)) }
	for _, test := range []struct{ p, worst, mean float64 }{
		{1e-1, 3.58, 3.51},
		{1e-2, 2.51, 2.46},
		{1e-3, 2.15, 2.11},
		{1e-6, 1.84, 1.80},
		{1e-9, 1.75, 1.71},
	} {
		r := rates{p: test.p}
		bits := make([]float64, at(last)+1) // at each step, or those that it adds
		for shard := range shards {
			// Of all shards, if they were alike.
			m, all, capacity, made := firstBits*stagger(shard), 0.0, 0.0, 0.0
			for i := 0; made < last; i++ {
				m = 256 * math.Ceil(m/256)
				bits[at(made)] += m
				all += m
				capacity += shards * m / r.sizing(i).bits
				made = capacity - shards*m/r.sizing(i).bits/lead
				m = growth * all
			}
		}
		worst, mean, sum, keys := 0.0, 0.0, make([]float64, len(bits)+1), make([]float64, len(bits)+1)
		for i := range bits {
			if i > 0 {
				bits[i] += bits[i-1]
			}
			n := first * math.Exp(float64(i)*step)
			ratio := bits[i] / (n * -math.Log(test.p) / (math.Ln2 * math.Ln2))
			worst = max(worst, ratio)
			sum[i+1], keys[i+1] = sum[i]+ratio*n, keys[i]+n
			if from := i - at(2*first); from >= 0 {
				mean = max(mean, (sum[i+1]-sum[from])/(keys[i+1]-keys[from]))
			}
		}
		t.Logf("p = %v: worst %.3f, mean %.3f", test.p, worst, mean)
		assert.InDelta(t, test.worst, worst, 0.0051, "p = %v", test.p)
		assert.InDelta(t, test.mean, mean, 0.0051, "p = %v", test.p)
	}
}

// TestLeastMemory holds what the package comment says of layers that are classic filters.
// They have so many bits for each of their keys as their rate wants, an equal share of p,
// and no layer is kept in reserve for more than 1e9 keys. A layer that adds the fraction g
// of all keys before it is, while it fills, part of 1+g times the memory in use: on
// average over the logarithm of the keys, that is g/ln(1+g) times.
func TestLeastMemory(t *testing.T) {
	for _, test := range []struct{ p, least float64 }{{1e-1, 2.94}, {1e-2, 2.05}, {1e-3, 1.74}, {1e-6, 1.41}} {
		least := math.Inf(1)
		for g := 0.01; g < 3; g += 0.01 {
			layers := 1.0
			for range 10 { // the first 64 KB hold more keys the fewer layers there are
				first := 8 * (64 << 10) * math.Ln2 / math.Log2(layers/test.p)
				layers = math.Log(1e9/first) / math.Log1p(g)
			}
			least = min(least, math.Log(layers/test.p)/math.Log(1/test.p)*g/math.Log1p(g))
		}
		assert.InDelta(t, test.least, least, 0.006, "p = %v", test.p)
	}
}

// TestCountOfManyLayers counts keys of which one in ten is taken for one that was there,
// and not added.
func TestCountOfManyLayers(t *testing.T) {
	const n = 200_000
	f := newFilter(0.5, 2560)
	added := 0
	for _, h := range testkit.Digests[bloom.Hash](8, n) {
		if f.AddHash(h) {
			added++
		}
	}
	require.Less(t, added, n*95/100)
	require.InEpsilon(t, n, f.ApproxCount(), 0.01)
}

// TestSampledCount counts in layers so large that only one key of many counts.
func TestSampledCount(t *testing.T) {
	const n = 200_000
	f := newFilter(0.01, 4e6)
	weight := float64(f.shards[0].list()[0].weight)
	require.GreaterOrEqual(t, weight, 8.0)
	for _, h := range testkit.Digests[bloom.Hash](8, n) {
		f.AddHash(h)
	}
	require.Equal(t, shards, f.layers())
	// One key of weight counts, or of twice as many in other shards: a binomial number, times weight.
	require.InDelta(t, n, f.ApproxCount(), 4.5*math.Sqrt(n*2*weight))
	for i := range f.shards {
		require.InEpsilon(t, n/shards, f.shards[i].list()[0].count.Load(), 0.3)
	}
	var g Filter
	require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	require.InEpsilon(t, n, g.ApproxCount(), 0.005)
}

// TestSizings holds each layer to its own rate, and stops at the smallest rate.
func TestSizings(t *testing.T) {
	r := rates{p: 0.01}
	for i := range 40 {
		require.Equal(t, newSizing(rate(0.01, i)), r.sizing(i), "layer %d", i)
	}
	require.Equal(t, newSizing(minRate), r.sizing(math.MaxInt32))
	require.Less(t, len(r.known), 100)
}

// TestRates holds the sum of all rates to p, for the numbers of keys that New names.
func TestRates(t *testing.T) {
	for _, test := range []struct{ p, keys float64 }{{0.9, 1 << 40}, {1e-3, 1 << 40}, {1e-8, 1 << 40}, {minP, 1e11}} {
		r := rates{p: test.p}
		sum, keys, all := 0.0, 0.0, 0.0
		for i := 0; keys < test.keys; i++ {
			assert.LessOrEqual(t, rate(test.p, i), rate(test.p, max(0, i-1)))
			m := max(firstBits, growth*all)
			all += m
			keys += shards * m / r.sizing(i).bits
			sum += rate(test.p, i)
		}
		assert.LessOrEqual(t, sum, test.p)
		assert.Greater(t, sum, 0.99*test.p)
	}
}
