package blocked

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestSync: a SyncFilter does what a Filter does, in every way to add and look up.
func TestSync(t *testing.T) {
	for lines := 1; lines <= maxLines; lines++ {
		f := bloom.Must(NewSize(300*256, lines))
		sync := func() *SyncFilter { return NewSyncFrom(f.Clone()) }
		s, portable, batch, alone, portableAlone, batchAlone := sync(), sync(), sync(), sync(), sync(), sync()
		keys := append(testkit.Digests[bloom.Hash](1, 2000), edges...)
		keys = append(keys, keys[:10]...)
		added := 0
		for _, h := range keys {
			changed := f.AddHash(h)
			require.Equal(t, changed, s.AddHash(h))
			require.Equal(t, changed, portable.add(h, false))
			require.Equal(t, changed, alone.addAlone(h))
			require.Equal(t, changed, portableAlone.add(h, true))
			if changed {
				added++
			}
		}
		require.Equal(t, added, testkit.Count(testkit.Added(batch, keys)))
		isNew := make([]bool, len(keys))
		batchAlone.addBatchAlone(isNew, keys)
		require.Equal(t, added, testkit.Count(isNew))
		for _, s := range []*SyncFilter{s, portable, batch, alone, portableAlone, batchAlone} {
			require.True(t, f.Equal(s.Snapshot()))
		}
		probes := append(keys, testkit.Digests[bloom.Hash](2, 2000)...)
		got := testkit.Found(s, probes)
		first, found := s.firstLine(), 0
		for i, h := range probes {
			want := f.ContainsHash(h)
			require.Equal(t, want, s.ContainsHash(h))
			require.Equal(t, want, s.contains(h))
			require.Equal(t, want, got[i])
			require.True(t, !want || first.ContainsHash(h))
			found += testkit.Count([]bool{first.ContainsHash(h)})
		}
		require.Less(t, found, 2020+400)
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
