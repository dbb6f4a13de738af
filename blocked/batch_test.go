package blocked

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestBatches: batches of all lengths do what one key after the other does, in filters for
// which assembly fetches ahead and in small ones.
func TestBatches(t *testing.T) {
	for _, blocks := range []uint64{100, 40_000} {
		for lines := 1; lines <= maxLines; lines++ {
			one := bloom.Must(NewSize(blocks*256, lines))
			batch, s := one.Clone(), NewSyncFrom(one.Clone())
			rest := testkit.Digests[bloom.Hash](blocks, 2500)
			absent := testkit.Digests[bloom.Hash](2, 2500)
			for _, n := range []int{0, 1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 500} {
				hs := rest[:n]
				rest = rest[n/2:] // half of them come again
				want := 0
				for _, h := range hs {
					if one.AddHash(h) {
						want++
					}
				}
				require.Equal(t, want, testkit.Count(testkit.Added(batch, hs)))
				require.Equal(t, want, testkit.Count(testkit.Added(s, hs)))
				probes := append(hs[:n/2:n/2], absent[:n]...)
				found := []bool{}
				for _, h := range probes {
					found = append(found, one.ContainsHash(h))
				}
				require.Equal(t, found, testkit.Found(batch, probes))
				require.Equal(t, found, testkit.Found(s, probes))
			}
			require.True(t, one.Equal(batch))
			require.True(t, one.Equal(s.Snapshot()))
		}
	}
}
