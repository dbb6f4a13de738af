package window

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestBatches: a batch does and answers what its keys do one by one.
func TestBatches(t *testing.T) {
	for _, n := range []uint64{10, 100000, 5e6} { // the last with fetching
		c := Config{Capacity: n, FPR: 0.01, Span: time.Hour, Now: new(testkit.Clock).Now}
		f, g := bloom.Must(New(c)), bloom.Must(New(c))
		for seed, size := range []int{0, 1, ahead, ahead + 1, 1000} {
			hs := testkit.Digests[bloom.Hash](uint64(seed), size)
			hs = append(hs, hs[:size/2]...)
			want, added := []bool{true}, []bool{true}
			for _, h := range hs[:size] {
				want = append(want, g.ContainsHash(h))
			}
			require.Equal(t, want, f.ContainsBatch([]bool{true}, hs[:size]))
			for _, h := range hs {
				added = append(added, g.AddHash(h))
			}
			require.Equal(t, added, f.AddBatch([]bool{true}, hs))
		}
		require.True(t, bytes.Equal(bloom.Must(g.MarshalBinary()), bloom.Must(f.MarshalBinary())))
	}
	var zero Filter
	hs := testkit.Digests[bloom.Hash](1, 10)
	require.Equal(t, make([]bool, 10), zero.ContainsBatch(nil, hs))
	require.PanicsWithValue(t, errZero, func() { zero.AddBatch(nil, hs) })
}
