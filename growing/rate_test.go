package growing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/limits"
)

// allocated returns the number of bits of all layers, including layers that are being made.
func (f *Filter) allocated() (m uint64) {
	for i := range f.shards {
		s := &f.shards[i]
		list := s.list()
		for _, l := range list {
			m += l.bits()
		}
		if s.pending != nil {
			m += f.rates.following(i, list)
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

// TestWhileGrowing measures rate, memory and count from the first key on. It measures five times
// while the number of keys grows tenfold, and whenever the first shard has begun a layer.
func TestWhileGrowing(t *testing.T) {
	most := 1_000_000
	if testing.Short() {
		most = 100_000
	}
	for _, p := range []float64{0.1, 0.01, 0.001} {
		t.Run(fmt.Sprint("p=", p), func(t *testing.T) {
			keys, absent := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4))
			f := bloom.Must(New(0, p))
			check := func(n int) {
				found, probes := 0, min(n, 100_000, int(2000/p))
				for range probes {
					if f.ContainsHash(bloom.NewHash(absent.Uint64(), absent.Uint64())) {
						found++
					}
				}
				require.LessOrEqual(t, float64(found), filtertest.RateBound(probes, p), "%d keys", n)
				require.InEpsilon(t, n, f.Stats().ApproxCount, 0.01, "%d keys", n)
				var decoded Filter // estimates its number of keys from the bits alone
				require.NoError(t, decoded.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
				require.InEpsilon(t, n, decoded.Stats().ApproxCount, 0.01, "%d keys", n)
				ratio := float64(f.allocated()) / float64(bloom.OptimalM(uint64(n), p))
				t.Logf("%8d keys, %3d layers, rate %.4f p, FPR %.4f p, count %.4f, memory %.3f", n,
					f.layers(), float64(found)/float64(probes)/p, f.Stats().FPR/p,
					float64(f.Stats().ApproxCount)/float64(n), ratio)
				if n >= 25_000 && p <= 0.01 {
					require.LessOrEqual(t, ratio, 3.2, "%d keys", n)
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
			// A full layer has its share of p as its rate. The rate of a small layer differs by 10
			// %. So the mean over these layers differs by 2 %.
			sum, full := 0.0, 0.0
			for i := range f.shards {
				list := f.shards[i].list()
				for j, l := range list[:len(list)-1] {
					sum += l.blocks.Stats(0).FPR / f.rates.rate(j)
					full++
				}
			}
			require.Greater(t, full, 20.0)
			require.InDelta(t, 1, sum/full, 0.09)
		})
	}
}

// TestMemory: a filter takes about the memory in the table of the package comment. Up to a million
// keys, the test measures real filters. Up to 1e9 keys, it computes only the sizes of the layers.
// Each layer is made when the one before is nearly full.
func TestMemory(t *testing.T) {
	most := 1_000_000
	if testing.Short() {
		most = 100_000
	}
	for _, test := range []struct{ p, about float64 }{
		{1e-1, 3.7}, {1e-2, 2.9}, {1e-3, 2.4}, {1e-6, 2.0}, {1e-9, 1.9},
	} {
		t.Run(fmt.Sprint("p=", test.p), func(t *testing.T) {
			check := func(n, bits float64) {
				classic := n * -math.Log(test.p) / (math.Ln2 * math.Ln2)
				ratio := bits / classic / test.about
				filtertest.Equal(t, true, 0.85 < ratio && ratio < 1.1, "%.0f keys: %.3f", n, bits/classic)
			}
			f := bloom.Must(New(0, test.p))
			for n := range most {
				if f.AddHash(bloom.SumUint64(uint64(n))); n >= 50_000 && n%1000 == 0 {
					check(float64(n), 8*float64(f.SizeBytes()))
					check(float64(n), float64(f.allocated()))
				}
			}

			r := rates{p: test.p}
			var made [shards]struct{ bits, next, capacity, soon float64 }
			var layers [shards]int
			for n := 50_000.0; n < 1e9; n *= 1.001 {
				bits := 0.0
				for i := range made {
					s := &made[i]
					for s.soon < n/shards {
						s.next = s.bits
						if layers[i] == 0 {
							s.next = r.first(i)
						}
						keys := s.next / r.sizing(layers[i]).bits
						s.bits, s.capacity, s.soon = s.bits+s.next, s.capacity+keys,
							s.capacity+keys*(1-1.0/limits.LayerLead)
						layers[i]++
					}
					bits += s.bits
				}
				check(n, bits)
			}
			require.LessOrEqual(t, layers[0], 19)

			most := 1.45 // for a filter that was made for n keys
			if test.p == 0.1 {
				most = 1.65
			}
			for n := 50_000.0; n < 1e6; n *= 1.1 {
				made := 8 * float64(bloom.Must(New(uint64(n), test.p)).SizeBytes())
				ratio := made / float64(bloom.OptimalM(uint64(n), test.p))
				filtertest.Equal(t, true, 1.15 < ratio && ratio < most, "for %.0f keys: %.3f", n, ratio)
			}
		})
	}
}

// TestMemoryNearN: a filter that was made for n keys makes its second layers between 0.96 n and
// 1.01 n keys. They are as large as the first ones.
func TestMemoryNearN(t *testing.T) {
	const n = 1_000_000
	f := bloom.Must(New(n, 0.01))
	made := float64(f.allocated())
	for i := range uint64(n * 101 / 100) {
		if i == n*96/100 {
			require.EqualValues(t, made, f.allocated())
		}
		f.AddHash(bloom.SumUint64(i))
	}
	require.InEpsilon(t, 2*made, f.allocated(), 0.01)
}

// TestCountOfManyLayers: the count is right although Add returns false for one new key in ten.
func TestCountOfManyLayers(t *testing.T) {
	const n = 200_000
	f := sized(0.5, 2560)
	added := 0
	for _, h := range filtertest.Digests(8, n) {
		if f.AddHash(h) {
			added++
		}
	}
	require.Less(t, added, n*95/100)
	require.InEpsilon(t, n, f.Stats().ApproxCount, 0.01)
}

// TestCountOfKnownN: the count is right although the first layer has half of p. It reports more
// absent keys as present than any other layer.
func TestCountOfKnownN(t *testing.T) {
	for p, off := range map[float64]float64{0.1: 0.01, 0.5: 0.1} {
		f := bloom.Must(New(100_000, p))
		for i, h := range filtertest.Digests(9, 200_000) {
			if f.AddHash(h); (i+1)%50_000 != 0 {
				continue
			}
			var decoded Filter
			require.NoError(t, decoded.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			require.InEpsilon(t, i+1, f.Stats().ApproxCount, off, "p = %v", p)
			require.InEpsilon(t, i+1, decoded.Stats().ApproxCount, off, "p = %v", p)
		}
	}
}

// TestRates: the sum of the rates of all layers is p, for as many keys as New promises.
func TestRates(t *testing.T) {
	for _, n := range []uint64{0, 1, 1e6} {
		for _, test := range []struct{ p, keys float64 }{
			{0.9, 1 << 40}, {1e-3, 1 << 40}, {1e-8, 1 << 40}, {minP, 1e10},
		} {
			r := rates{n: n, p: test.p}
			sum, keys, m := 0.0, 0.0, r.first(0)
			layers := 0
			for ; keys < test.keys; layers++ {
				assert.LessOrEqual(t, r.rate(layers), r.rate(max(0, layers-1)))
				assert.Equal(t, newSizing(r.rate(layers)), r.sizing(layers))
				keys += shards * m / r.sizing(layers).bits
				sum += r.rate(layers)
				m = max(m, 2*m)
			}
			assert.LessOrEqual(t, sum, 1.001*test.p)
			assert.Greater(t, sum, 0.85*test.p)
			assert.Less(t, layers, maxLayers)
			if n > 0 { // half of p is the first layer's; the others share the rest
				unknown := rates{p: test.p / 2}
				assert.Equal(t, unknown.rate(evenLayers), r.rate(1+evenLayers))
			}
		}
	}
}
