package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestFull: a filter with as many lines as it was made for is not full, whatever its rate, and one
// with twice as many is, also if it does not record for how many it was made.
func TestFull(t *testing.T) {
	const n = 3000
	add := func(f hashFilter, begin, end int) {
		for i := begin; i < end; i++ {
			f.AddBatch(nil, []bloom.Hash{bloom.SumUint64(uint64(i))})
		}
	}
	for _, k := range kinds {
		if k.flag == "" || k.keeps {
			continue
		}
		for _, p := range []float64{0.001, 0.01, 0.1, 0.172, 0.3, 0.33, 0.35, 0.36, 0.49} {
			f := bloom.Must(k.create(n, p))
			add(f, 0, n)
			require.False(t, full(f), "%s: %g", k.name, p)
			add(f, n, 2*n)
			require.True(t, full(f), "%s: %g", k.name, p)
		}
	}
	f := bloom.Must(bloom.New(n, 0.01))
	f.UpdateInfo(func(info *bloom.Info) { *info = bloom.Info{} })
	add(f, 0, n)
	require.False(t, full(f))
	add(f, n, 2*n)
	require.True(t, full(f))
}

// TestKinds: what the rows say of types that build makes is what their filters and files do.
func TestKinds(t *testing.T) {
	made := 0
	for _, k := range kinds {
		if k.flag == "" {
			continue
		}
		made++
		f := bloom.Must(k.create(1000, 0.01))
		require.True(t, k.matches(f))
		require.Equal(t, k.name, kindOfFilter(f).name)
		_, removes := f.(interface{ RemoveHash(bloom.Hash) bool })
		require.Equal(t, removes, k.remove != nil, k.name)
		if k.remove != nil {
			key := bloom.SumString("twice")
			f.AddBatch(nil, []bloom.Hash{key, key})
			require.True(t, k.remove(f, key))
			require.Equal(t, f.ContainsHash(key), k.counts, k.name)
		}
		for i := range uint64(10_000) {
			f.AddBatch(nil, []bloom.Hash{bloom.SumUint64(i)})
		}
		require.Equal(t, f.Stats().FPR > 0.011, !k.keeps, "%s: %v", k.name, f.Stats().FPR)
		require.Equal(t, !k.keeps, full(f), k.name)
		if k.guava != nil {
			require.True(t, k.guava(f).ContainsHash(bloom.SumUint64(1)), k.name)
		}
		if k.merge != nil {
			g := bloom.Must(k.create(1000, 0.01))
			require.NoError(t, k.merge(g, f))
			require.Equal(t, f.Stats().ApproxCount, g.Stats().ApproxCount)
		}
		path := filepath.Join(t.TempDir(), "filter")
		require.NoError(t, (&target{path: path}).save(f))
		back := bloom.Must(load(path))
		require.Equal(t, k.name, back.kind.name)
		require.InEpsilon(t, f.Stats().ApproxCount, back.Stats().ApproxCount, 0.01)
		require.True(t, replaceable(path))
		for _, name := range []string{k.flag, k.name} {
			named, ok := kindFor(name)
			require.True(t, ok)
			require.Equal(t, k.name, named.name)
		}
		if k.least > 0 {
			_, err := k.create(1000, k.least)
			require.NoError(t, err)
			_, err = k.create(1000, k.least*0.99)
			require.Error(t, err, "%s: the lowest rate", k.name)
		}
	}
	require.Equal(t, 5, made)
}
