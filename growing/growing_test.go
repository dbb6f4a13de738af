package growing

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// tiny returns a filter whose first layers are one block each: it begins a layer every
// few keys.
func tiny() *Filter { return newFilter(0.01, 256) }

func TestNew(t *testing.T) {
	for _, p := range []float64{minP, 1e-6, 0.01, 0.999} {
		f, err := New(p)
		require.NoError(t, err)
		require.LessOrEqual(t, f.SizeBytes(), int64(64<<10))
		require.Greater(t, f.SizeBytes(), int64(60<<10))
		require.Zero(t, f.FPR())
		require.Zero(t, f.ApproxCount())
	}
	for _, p := range []float64{-1, 0, 0.99e-9, 1, 2} {
		_, err := New(p)
		require.EqualError(t, err, fmt.Sprintf("growing: p = %v is outside [1e-09, 1)", p))
	}
	require.Equal(t, "growing.Filter(p=0.01, bytes=2268)", fmt.Sprint(tiny()))
}

func TestZero(t *testing.T) {
	var f Filter
	assert.False(t, f.ContainsString("key"))
	assert.Zero(t, f.FPR())
	assert.Zero(t, f.ApproxCount())
	assert.Zero(t, f.SizeBytes())
	assert.Equal(t, "growing.Filter(zero)", f.String())
	assert.PanicsWithValue(t, "growing: Add to a zero Filter: make it with New, or decode into it",
		func() { f.AddString("key") })
	_, err := f.MarshalBinary()
	assert.Equal(t, errZeroForm, err)
	assert.Equal(t, errZeroForm, f.SaveFile(t.TempDir()+"/f"))
}

// TestKeys holds the ways to pass a key to each other, and Add to its answers.
func TestKeys(t *testing.T) {
	f, g := tiny(), tiny()
	for i := range 5000 {
		key := binary.BigEndian.AppendUint32(nil, uint32(i))
		before := f.Contains(key)
		require.Equal(t, !before, f.Add(key), "key %d", i)
		require.True(t, f.ContainsString(string(key)) && f.ContainsHash(bloom.Sum(key)))
		require.False(t, f.AddString(string(key)))
		require.Equal(t, !before, g.AddHash(bloom.Sum(key)))
	}
	require.Equal(t, bloom.Must(f.MarshalBinary()), bloom.Must(g.MarshalBinary()))
}

// TestShards shows that picking a shard leaves both halves of a digest as random as
// they were: within each shard, the high bits of each are evenly spread.
func TestShards(t *testing.T) {
	const n, cells = 1 << 20, shards * 16
	var h1, h2 [cells]float64
	for _, h := range testkit.Digests[bloom.Hash](3, n) {
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
		require.InDelta(t, cells-1, square, 4.5*23) // chi-squared, of standard deviation sqrt(2*255)
	}
}

// TestLayersBegin has goroutines add the same keys at the same time to a filter in
// which a layer begins all the time. A key whose Add has returned is found, and at
// least one goroutine is told that it was new.
func TestLayersBegin(t *testing.T) {
	const goroutines = 4
	keys := testkit.Digests[bloom.Hash](5, 20_000)
	added := make([]atomic.Int32, len(keys))
	f := tiny()
	var done sync.WaitGroup
	for g := range goroutines {
		done.Add(1)
		go func() {
			defer done.Done()
			for i := range keys {
				i ^= g / 2 // two in step, two almost
				if f.AddHash(keys[i]) {
					added[i].Add(1)
				}
				if !f.ContainsHash(keys[i]) {
					t.Errorf("key %d is missing", i)
				}
			}
		}()
	}
	done.Wait()
	refused := 0
	for i := range keys {
		if !f.ContainsHash(keys[i]) {
			t.Errorf("key %d is lost", i)
		}
		if added[i].Load() == 0 {
			refused++
		}
	}
	// Keys that are new may be taken for old ones, but not more than the rate says.
	require.LessOrEqual(t, float64(refused), testkit.RateBound(len(keys), f.FPR()))
	for i := range f.shards {
		list := f.shards[i].list()
		for _, l := range list[:len(list)-1] {
			// Goroutines that had the list of before add a key each.
			require.LessOrEqual(t, l.count.Load(), l.capacity+goroutines)
			require.GreaterOrEqual(t, l.count.Load(), l.capacity, "a layer began too soon")
		}
	}
}

func TestAllocations(t *testing.T) {
	f := bloom.Must(New(0.01))
	keys := testkit.Digests[bloom.Hash](7, 2000)
	key := []byte("key")
	i := 0
	require.Zero(t, testing.AllocsPerRun(len(keys)-1, func() {
		f.AddHash(keys[i])
		f.ContainsHash(keys[len(keys)-1-i])
		f.Add(key)
		f.AddString("string")
		f.Contains(key)
		f.ContainsString("other")
		i++
	}))
}

// TestNewFor: a filter does not grow until about n keys are there. Then it grows, and
// keeps its rate.
func TestNewFor(t *testing.T) {
	const n = 50_000
	for _, p := range []float64{0.01, 1e-6} {
		f := bloom.Must(NewFor(n, p))
		hs := testkit.Digests[bloom.Hash](5, 4*n)
		f.AddBatch(nil, hs[:n*97/100]) // four standard deviations of a shard's keys are 7 %
		require.LessOrEqual(t, f.layers(), shards+2)
		require.Less(t, f.SizeBytes(), int64(f.shards[0].list()[0].filter.SizeBytes()*shards*14/10))
		f.AddBatch(nil, hs)
		require.Greater(t, f.layers(), 2*shards)
		require.LessOrEqual(t, f.FPR(), p)
		for _, found := range f.ContainsBatch(nil, hs) {
			require.True(t, found)
		}
	}
	same := bloom.Must(NewFor(0, 0.01))
	require.Equal(t, bloom.Must(New(0.01)).SizeBytes(), same.SizeBytes())
	for _, test := range []struct {
		n    uint64
		p    float64
		says string
	}{
		{1<<40 + 1, 0.01, "growing: n = 1099511627777 is more than 1099511627776"},
		{1, 1, "growing: p = 1 is outside [1e-09, 1)"},
	} {
		_, err := NewFor(test.n, test.p)
		require.EqualError(t, err, test.says)
	}
}
