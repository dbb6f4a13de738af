package bloom_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestFold compares folded filters with those built small, byte for byte.
func TestFold(t *testing.T) {
	for _, s := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		for _, words := range []uint64{1, 12, 97, 360, 3 * 2100} { // the last by 1 and 3: more than a block of fold
			k := int(words%10) + 1
			hs := append(filtertest.Digests(words, min(int(words)*64/k, 3000)), extremes...)
			f := bloom.NewFilter(s, int(words), k)
			f.AddBatch(nil, hs)
			before := f.Clone()
			for d := uint64(1); d <= words; d++ {
				if words%d != 0 {
					continue
				}
				g, err := f.Fold(int(d))
				require.NoError(t, err)
				small := bloom.NewFilter(s, int(words/d), k)
				small.AddBatch(nil, hs)
				require.Equal(t, bloom.Must(small.MarshalBinary()), bloom.Must(g.MarshalBinary()), "%v, %d words, d = %d", s, words, d)
				require.Equal(t, small.OnesCount(), g.OnesCount())
				for _, h := range filtertest.Digests(words+1, 20) {
					require.Equal(t, small.ContainsHash(h), g.ContainsHash(h))
				}
				g.AddHash(bloom.NewHash(1, 2)) // shares nothing with f
			}
			require.True(t, f.Equal(before))
		}
	}
}

func TestFoldErrors(t *testing.T) {
	f := bloom.Must(bloom.NewSize(128, 3))
	for _, d := range []int{0, -1, math.MinInt, 3, 4, math.MaxInt} {
		_, err := f.Fold(d)
		require.EqualError(t, err, fmt.Sprintf("bloom: d = %d does not divide the filter's 2 words", d))
	}
	_, err := new(bloom.Filter).Fold(1)
	require.EqualError(t, err, "bloom: d = 1 does not divide the filter's 0 words")
}

// TestGuavaFolds compares folded filters of Guava's with those that Guava built small.
func TestGuavaFolds(t *testing.T) {
	for _, v := range jsonVectors[struct {
		D            int
		Keys         uint64 // 0 and up, as longs
		Large, Small []byte
		MightContain []bool // of as many longs from Keys on
	}](t, "folds.json") {
		var f, small bloom.Filter
		require.NoError(t, f.UnmarshalBinary(v.Large))
		require.NoError(t, small.UnmarshalBinary(v.Small))
		g, err := f.Fold(v.D)
		require.NoError(t, err)
		require.Equal(t, v.Small, bloom.Must(g.MarshalBinary()))
		for i := range v.Keys {
			require.True(t, g.ContainsHash(bloom.SumUint64(i)))
		}
		for i, want := range v.MightContain {
			require.Equal(t, want, g.ContainsHash(bloom.SumUint64(v.Keys+uint64(i))))
		}
	}
}
