package blocked

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/friend"
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
			require.Equal(t, changed, alone.AddAlone(friend.Growing{}, h))
			require.Equal(t, changed, portableAlone.add(h, true))
			if changed {
				added++
			}
		}
		require.Equal(t, added, testkit.Count(batch.AddBatch(nil, keys)))
		require.Equal(t, added, testkit.Count(batchAlone.AddBatchAlone(friend.Growing{}, nil, keys)))
		for _, s := range []*SyncFilter{s, portable, batch, alone, portableAlone, batchAlone} {
			require.True(t, f.Equal(s.Snapshot()))
		}
		probes := append(keys, testkit.Digests[bloom.Hash](2, 2000)...)
		got := s.ContainsBatch([]bool{true}, probes)
		first, found := s.FirstLine(friend.Growing{}), 0
		require.True(t, got[0])
		for i, h := range probes {
			want := f.ContainsHash(h)
			require.Equal(t, want, s.ContainsHash(h))
			require.Equal(t, want, s.contains(h))
			require.Equal(t, want, got[1+i])
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

// TestSyncForms writes what a Filter reads, and the other way round.
func TestSyncForms(t *testing.T) {
	f := bloom.Must(New(500, 1e-5))
	f.AddBatch(nil, testkit.Digests[bloom.Hash](1, 500))
	s := NewSyncFrom(f.Clone())
	want := bloom.Must(f.MarshalBinary())
	require.Equal(t, want, bloom.Must(s.MarshalBinary()))
	require.EqualValues(t, len(want), s.SizeBytes())
	var out bytes.Buffer
	bloom.Must(s.WriteTo(&out))
	require.Equal(t, want, out.Bytes())
	var a, b, c SyncFilter
	bloom.Must(a.ReadFrom(&out))
	require.NoError(t, b.UnmarshalBinary(want))
	require.NoError(t, json.Unmarshal(bloom.Must(json.Marshal(s)), &c))
	path := filepath.Join(t.TempDir(), "filter")
	require.NoError(t, s.SaveFile(path))
	for _, got := range []*Filter{a.Snapshot(), b.Snapshot(), c.Snapshot(), bloom.Must(LoadFile(path))} {
		require.True(t, f.Equal(got))
	}

	var zero SyncFilter
	require.False(t, zero.ContainsString(""))
	require.False(t, zero.ContainsHash(bloom.Hash{}))
	require.Equal(t, []bool{false}, zero.ContainsBatch(nil, make([]bloom.Hash, 1)))
	require.True(t, zero.Snapshot().Equal(new(Filter)))
	require.PanicsWithValue(t, errZero, func() { zero.AddString("") })
	require.PanicsWithValue(t, errZero, func() { zero.AddBatch(nil, make([]bloom.Hash, 1)) })
	_, err := zero.MarshalBinary()
	require.Equal(t, errNoForm, err)
	_, err = NewSync(1, 0)
	require.Error(t, err)
}

// TestTaken: whoever uses a filter that a SyncFilter took over hears of it.
func TestTaken(t *testing.T) {
	f := bloom.Must(New(10, 0.1))
	f.AddString("key")
	data, want := bloom.Must(f.MarshalBinary()), f.Clone()
	s := NewSyncFrom(f)
	require.True(t, s.Snapshot().Equal(want))
	require.Equal(t, bloom.Info{N: 10, P: 0.1}, s.Info())
	for name, use := range map[string]func(){
		"Add":             func() { f.Add(nil) },
		"AddString":       func() { f.AddString("key") },
		"AddHash":         func() { f.AddHash(bloom.Hash{}) },
		"Contains":        func() { f.Contains(nil) },
		"ContainsString":  func() { f.ContainsString("key") },
		"ContainsHash":    func() { f.ContainsHash(bloom.Hash{}) },
		"AddBatch":        func() { f.AddBatch(nil, nil) },
		"ContainsBatch":   func() { f.ContainsBatch(nil, nil) },
		"Merge":           func() { _ = f.Merge(want) },
		"Merge of it":     func() { _ = want.Merge(f) },
		"Intersect":       func() { _ = f.Intersect(want) },
		"Fold":            func() { _, _ = f.Fold(1) },
		"Clone":           func() { f.Clone() },
		"Equal":           func() { f.Equal(want) },
		"Equal to it":     func() { want.Equal(f) },
		"Reset":           func() { f.Reset() },
		"Bitset":          func() { f.Bitset() },
		"M":               func() { f.M() },
		"Lines":           func() { f.Lines() },
		"Stats":           func() { f.Stats() },
		"Info":            func() { f.Info() },
		"SetInfo":         func() { f.SetInfo(bloom.Info{}) },
		"SizeBytes":       func() { f.SizeBytes() },
		"MarshalBinary":   func() { _, _ = f.MarshalBinary() },
		"MarshalText":     func() { _, _ = f.MarshalText() },
		"WriteTo":         func() { _, _ = f.WriteTo(io.Discard) },
		"UnmarshalBinary": func() { _ = f.UnmarshalBinary(data) },
		"UnmarshalText":   func() { _ = f.UnmarshalText(nil) },
		"ReadFrom":        func() { _, _ = f.ReadFrom(bytes.NewReader(data)) },
		"SaveFile":        func() { _ = f.SaveFile(filepath.Join(t.TempDir(), "f")) },
		"NewSyncFrom":     func() { NewSyncFrom(f) },
	} {
		require.PanicsWithValue(t, "blocked: use of a Filter that was taken over by NewSyncFrom", use, name)
	}
	require.Equal(t, "blocked.Filter(taken over)", fmt.Sprint(f))
	require.Equal(t, "blocked.SyncFilter(m=256, lines=1)", fmt.Sprint(s))
}

// TestSyncWriters has goroutines set different bits of the same words.
func TestSyncWriters(t *testing.T) {
	const writers, perWriter = 4, 5000
	hs := testkit.Digests[bloom.Hash](1, writers*perWriter)
	want := bloom.Must(NewSize(512*256, 2))
	s := NewSyncFrom(want.Clone())
	want.AddBatch(nil, hs)
	var writing sync.WaitGroup
	for w := range writers {
		writing.Add(1)
		go func() {
			defer writing.Done()
			for _, h := range hs[w*perWriter:][:perWriter] {
				s.AddHash(h)
				if !s.ContainsHash(h) {
					t.Error("a key is missing")
				}
			}
		}()
	}
	writing.Wait()
	require.True(t, want.Equal(s.Snapshot()))
}
