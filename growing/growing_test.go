package growing

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// sized returns a filter whose smallest first layer has m bits.
func sized(p, m float64) *Filter {
	s := newState(0, p)
	for i := range s.shards {
		s.shards[i].set(newLayer(&s.rates, 0, uint64(m*stagger(i))))
	}
	return &Filter{filter: filter{state: s}}
}

// tiny returns a filter whose first layers are one block each: it begins a layer every
// few keys.
func tiny() *Filter { return sized(0.01, 256) }

func TestNew(t *testing.T) {
	for _, p := range []float64{minP, 1e-6, 0.01, 0.999} {
		f, err := New(0, p)
		require.NoError(t, err)
		require.LessOrEqual(t, f.SizeBytes(), int64(64<<10))
		require.Greater(t, f.SizeBytes(), int64(60<<10))
	}
	for _, test := range []struct {
		n    uint64
		p    float64
		says string
	}{
		{1<<40 + 1, 0.01, "n = 1099511627777 is outside [0, 1099511627776]"},
		{0, -1, "p = -1 is outside [1e-09, 1)"},
		{0, 0.99e-9, "p = 9.9e-10 is outside [1e-09, 1)"},
		{1, 1, "p = 1 is outside [1e-09, 1)"},
		{1, math.NaN(), "p = NaN is outside [1e-09, 1)"},
	} {
		_, err := New(test.n, test.p)
		require.EqualError(t, err, "growing: "+test.says)
	}
	require.Equal(t, "growing.Filter(n=0, p=0.01, bytes=2276)", fmt.Sprint(tiny()))
	var zero Filter
	require.Equal(t, "growing.Filter(zero)", fmt.Sprint(&zero))
}

// TestKnownNumberTakesOneLayer: a filter for n keys has one layer in each shard while there are n
// keys, and takes little more memory than a blocked filter. Then it grows, and finds all keys.
func TestKnownNumberTakesOneLayer(t *testing.T) {
	for _, p := range []float64{0.01, 1e-6} {
		for _, n := range []uint64{1, 100, 4000} {
			f := bloom.Must(New(n, p))
			if n == 4000 {
				m, _, err := blocked.Size(n, p/2)
				require.NoError(t, err)
				require.InEpsilon(t, m, f.allocated(), 0.3)
			}
			hs := filtertest.Digests(n, 14*int(n))
			f.AddBatch(nil, hs[:n])
			require.Equal(t, shards, f.layers())
			require.LessOrEqual(t, f.Stats().FPR, p/2*1.1)
			f.AddBatch(nil, hs[n:])
			require.NotContains(t, filtertest.Found(f, hs), false)
			require.LessOrEqual(t, f.Stats().FPR, p*1.1)
			begun := map[int]bool{}
			for i := range f.shards {
				begun[len(f.shards[i].list())] = true
			}
			if n > 1 {
				require.Len(t, begun, 2, "shards begin their layers one after the other")
			}
			require.Equal(t, bloom.Info{N: n, P: p}, f.Info())
			f.Reset()
			require.Zero(t, f.Stats().ApproxCount)
			require.NotContains(t, filtertest.Found(f, hs), true)
			require.Equal(t, bloom.Must(New(n, p)).SizeBytes(), f.SizeBytes())
		}
	}
}

// TestShards: the choice of a shard does not depend on either half of a digest. In each shard, the
// high bits of each half are evenly spread.
func TestShards(t *testing.T) {
	const n, cells = 1 << 20, shards * 16
	var h1, h2 [cells]float64
	for _, h := range filtertest.Digests(3, n) {
		x := pick(h) >> shardShift
		a, b := h.Words()
		h1[x*16+a>>60]++
		h2[x*16+b>>60]++
	}
	for _, got := range [][cells]float64{h1, h2} {
		square := 0.0
		for _, c := range got {
			square += (c - n/cells) * (c - n/cells) / (n / cells)
		}
		require.InDelta(t, cells-1, square, 4.5*23) // 23 is the standard deviation of chi-squared
	}
}

// TestLayersBegin: several goroutines add the same keys at the same time, while layers begin all
// the time. A key whose Add has returned is found. At most one Add of a key returns true.
func TestLayersBegin(t *testing.T) {
	const goroutines = 4
	keys := filtertest.Digests(5, 20_000)
	added := make([]atomic.Int32, len(keys))
	f := tiny()
	filtertest.AtOnce(goroutines, func(g int) {
		for i := range keys {
			i ^= g / 2 // two goroutines swap each pair of keys
			if f.AddHash(keys[i]) {
				added[i].Add(1)
			}
			if !f.ContainsHash(keys[i]) {
				t.Errorf("key %d is missing", i)
			}
		}
	})
	refused := 0
	for i := range keys {
		if !f.ContainsHash(keys[i]) {
			t.Errorf("key %d is lost", i)
		}
		require.LessOrEqual(t, added[i].Load(), int32(1), "key %d", i)
		if added[i].Load() == 0 {
			refused++
		}
	}
	// For some new keys, Add returns false by mistake, but not for more than the rate allows.
	require.LessOrEqual(t, float64(refused), filtertest.RateBound(len(keys), f.Stats().FPR))
	for i := range f.shards {
		list := f.shards[i].list()
		for _, l := range list[:len(list)-1] {
			require.Equal(t, max(1, l.capacity), l.count)
		}
	}
}

// TestMostKeys: mostKeys is accepted.
func TestMostKeys(t *testing.T) {
	require.Nil(t, (&rates{p: 0.01, n: mostKeys}).check())
	require.NotNil(t, (&rates{p: 0.01, n: mostKeys + 1}).check())
}
