package window

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestBatches: a batch does and answers what single calls do, in filters with and without reading
// ahead, while planes begin, end, die, and are given up.
func TestBatches(t *testing.T) {
	for _, c := range []Config{
		{N: 10, P: 0.01, Span: time.Hour}, {N: 100_000, P: 1e-3, Span: time.Hour, Renew: true},
		{N: 2_000_000, P: 0.01, Span: time.Hour}, {N: 1_000_000, P: 1e-12, Span: time.Hour, Renew: true},
	} {
		var hand filtertest.Clock
		c.Now = hand.Now
		f, g := bloom.Must(New(c)), bloom.Must(New(c))
		for step := range 30 {
			hs := filtertest.Digests(uint64(step), []int{0, 1, chunk, chunk + 1, 1000}[step%5])
			hs = slices.Concat(hs, hs[:len(hs)/2], filtertest.Digests(uint64(step/2), 50))
			want, added := make([]bool, 0, len(hs)), make([]bool, 0, len(hs))
			for _, h := range hs {
				want = append(want, g.ContainsHash(h))
			}
			require.Equal(t, want, filtertest.Found(f, hs))
			for _, h := range hs {
				added = append(added, g.AddHash(h))
			}
			require.Equal(t, added, filtertest.Added(f, hs))
			hand.Advance(7 * time.Minute)
		}
		require.True(t, bytes.Equal(bloom.Must(g.MarshalBinary()), bloom.Must(f.MarshalBinary())))
	}
}
