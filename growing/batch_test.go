package growing

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestBatches: batches of any length do what single calls do, one after the other. Layers begin in
// the middle of batches. Some keys are repeated, some of them in the same batch.
func TestBatches(t *testing.T) {
	one, batch := tiny(), tiny()
	rnd := rand.New(rand.NewPCG(1, 2))
	all := filtertest.Digests(1, 20_000)
	for from := 0; from < len(all); {
		n := []int{0, 1, 15, 16, 17, 100, batchSize - 1, batchSize, batchSize + 1,
			3 * batchSize}[rnd.IntN(10)]
		hs := append([]bloom.Hash(nil), all[from:min(from+n, len(all))]...)
		from += n
		for i := range hs {
			if rnd.IntN(4) == 0 {
				hs[i] = hs[rnd.IntN(i+1)]
			}
			if rnd.IntN(4) == 0 {
				hs[i] = all[rnd.IntN(len(all))]
			}
		}
		found := []bool{}
		for _, h := range hs {
			found = append(found, one.ContainsHash(h))
		}
		require.Equal(t, found, filtertest.Found(batch, hs))
		added := slices.Clone(found) // true where the answer is false
		batch.AddBatch(added, hs)
		for i, h := range hs {
			require.Equal(t, one.AddHash(h), added[i])
		}
	}
	require.Greater(t, batch.layers(), 6*shards)
	require.Equal(t, bloom.Must(one.MarshalBinary()), bloom.Must(batch.MarshalBinary()))
	require.Equal(t, one.Stats().ApproxCount, batch.Stats().ApproxCount)
}

// TestBatchesOfLines: a batch looks up a key's other lines if the first line is there. For one
// absent key in a hundred, it is. The filter has one layer in each shard, then several.
func TestBatchesOfLines(t *testing.T) {
	f := bloom.Must(New(20_000, 1e-4))
	added, hs := filtertest.Digests(1, 40_000), filtertest.Digests(2, 20_000)
	for _, n := range []int{20_000, 40_000} {
		f.AddBatch(nil, added[:n])
		for _, h := range added[:n] {
			require.True(t, f.ContainsHash(h))
		}
		want := make([]bool, len(hs))
		for i, h := range hs {
			want[i] = f.ContainsHash(h)
		}
		require.Equal(t, want, filtertest.Found(f, hs))
	}
	require.GreaterOrEqual(t, f.layers(), 2*shards)
}

// TestBatchesAtOnce: several goroutines add the same batches, while layers begin.
func TestBatchesAtOnce(t *testing.T) {
	const size = shortInCache
	keys := filtertest.Digests(5, 40*size)
	f := tiny()
	filtertest.AtOnce(4, func(int) {
		for i := 0; i < len(keys); i += size {
			f.AddBatch(nil, keys[i:i+size])
			for j, ok := range filtertest.Found(f, keys[:i+size]) {
				if !ok {
					t.Errorf("key %d is missing", j)
				}
			}
		}
	})
}
