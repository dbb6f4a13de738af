package blocked_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestReader: a Reader answers as the filter does, in one request for nearly every absent key,
// and in one for each line of a present key.
func TestReader(t *testing.T) {
	const n = 200_000
	hs := filtertest.Digests(1, 2*n)
	for lines := 1; lines <= 4; lines++ {
		f := bloom.Must(blocked.NewSize(12*n*uint64(lines), lines))
		f.UpdateInfo(func(i *bloom.Info) {
			i.N = n
			i.P = 0.01
			i.Hash = "h"
			i.Comment = string(make([]byte, 4096))
		})
		f.AddBatch(nil, hs[:n])
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, f.SaveFile(path))
		s := &filtertest.Store{Data: bloom.Must(os.ReadFile(path))}
		r, err := blocked.NewReader(s, int64(len(s.Data)))
		require.NoError(t, err)
		require.Len(t, s.Asked(), 2)

		want, got := make([]bool, 2*n), make([]bool, 2*n)
		f.ContainsBatch(want, hs)
		for i := n - 500; i < n+500; i++ {
			found, err := r.ContainsHash(hs[i])
			require.NoError(t, err)
			require.Equal(t, want[i], found)
			if i == n-1 {
				require.InDelta(t, 0.95*500*float64(lines), len(s.Asked()), 0.05*500*float64(lines),
					"for 500 present keys, some with near lines")
			}
		}
		asked := s.Asked()
		require.Equal(t, 32, asked[0])
		require.Less(t, len(asked), 550, "for 500 absent keys")
		require.NoError(t, r.ContainsBatch(got[n-10_000:], hs[n-10_000:][:20_000]))
		require.True(t, slices.Equal(want[n-10_000:][:20_000], got[n-10_000:][:20_000]))
		require.LessOrEqual(t, len(s.Asked()), min(lines, 3)*(len(s.Data)>>18+1),
			"all ranges are near, in at most three rounds")
	}
}
