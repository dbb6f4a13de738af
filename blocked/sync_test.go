package blocked

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/blocks"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestSync: a SyncFilter does what a Filter does, in every way to add and look up.
func TestSync(t *testing.T) {
	for lines := 1; lines <= blocks.MaxLines; lines++ {
		f := bloom.Must(NewSize(300*256, lines))
		s := NewSyncFrom(f)
		for i, h := range testkit.Digests[bloom.Hash](1, 2000) {
			changed := f.AddHash(h)
			require.Equal(t, changed, s.AddHash(h))
			require.Equal(t, f.ContainsHash(h), s.ContainsHash(h), i)
		}
		batch := testkit.Digests[bloom.Hash](2, 500)
		require.Equal(t, testkit.Found(f, batch), testkit.Found(s, batch))
		require.Equal(t, testkit.Added(f, batch), testkit.Added(s, batch))
		require.True(t, f.Equal(s.Snapshot()))
		for i := range 200 {
			key := bytes.Repeat([]byte{'a'}, i) // the long ones are not for assembly
			require.Equal(t, f.Add(key), s.Add(key))
			require.True(t, s.Contains(key))
			require.False(t, s.AddString(string(key)))
			require.True(t, s.ContainsString(string(key)))
		}
		require.True(t, f.Equal(s.Snapshot()))
		require.Equal(t, f.FPR(), s.FPR())
		require.Equal(t, f.ApproxCount(), s.ApproxCount())
		require.Equal(t, f.FillRatio(), s.FillRatio())
		require.Equal(t, f.M(), s.M())
		require.Equal(t, lines, s.Lines())

		g := bloom.Must(NewSize(300*256, lines))
		g.AddBatch(nil, testkit.Digests[bloom.Hash](3, 500))
		require.NoError(t, f.Merge(g))
		require.NoError(t, s.Merge(g))
		require.True(t, f.Equal(s.Snapshot()))
		require.Error(t, s.Merge(bloom.Must(NewSize(256, lines))))
		s.Reset()
		require.Zero(t, s.FillRatio())
	}
}
