package alltypes

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// batchAsker looks digests up one by one, and as a batch.
type batchAsker interface {
	ContainsHash(bloom.Hash) bool
	ContainsBatch(found []bool, hs []bloom.Hash)
}

// adders returns the methods of f that add digests. They are nil if f has no batches.
func adders(f Filter) (add func(bloom.Hash) bool, addBatch func([]bool, []bloom.Hash)) {
	switch f := f.(type) {
	case interface {
		AddHash(bloom.Hash) bool
		AddBatch([]bool, []bloom.Hash)
	}:
		return f.AddHash, f.AddBatch
	case interface {
		InsertHash(bloom.Hash) bool
		InsertBatch([]bool, []bloom.Hash)
	}:
		return f.InsertHash, f.InsertBatch
	}
	return nil, nil
}

// TestBatchesOfLargeFilters: batches give the answers of single calls in filters that no fast cache
// holds, where batches read ahead. The lengths lie on both sides of each type's chunks.
func TestBatchesOfLargeFilters(t *testing.T) {
	const n = 5_000_000
	lengths := []int{1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 63, 64, 65, 95, 96, 97, 511, 512, 513, 4095, 4097}
	for _, typ := range All {
		add, _ := adders(typ.New(1))
		if add == nil {
			continue
		}
		t.Run(typ.Name, func(t *testing.T) {
			one, batch := typ.New(n), typ.New(n)
			add, _ := adders(one)
			_, addBatch := adders(batch)
			single, found := one.(batchAsker), batch.(batchAsker)
			hs := filtertest.Digests(1, 30_000)
			start := 0
			for _, length := range lengths {
				again := hs[max(0, start-length/3):start]
				some := slices.Concat(hs[start:start+length], again)
				start += length
				var want []bool
				for _, h := range some {
					want = append(want, add(h))
				}
				added := slices.Repeat([]bool{length%2 == 0}, len(some))
				addBatch(added, some)
				require.Equal(t, want, added, "AddBatch of %d", len(some))
			}
			require.Equal(t, one.Stats(), batch.Stats())
			askers := []batchAsker{found}
			if typ.NewView != nil {
				v, err := typ.NewView(bloom.Must(batch.MarshalBinary()))
				require.NoError(t, err)
				askers = append(askers, v.(batchAsker))
			}
			for _, length := range lengths {
				// Half of these were added, and the others never are.
				some := hs[start-length/2:][:length]
				var want []bool
				for _, h := range some {
					want = append(want, single.ContainsHash(h))
				}
				for _, asker := range askers {
					found := slices.Repeat([]bool{length%2 == 0}, length)
					asker.ContainsBatch(found, some)
					require.Equal(t, want, found, "ContainsBatch of %d of %T", length, asker)
				}
			}
		})
	}
}
