package bloom

import (
	"bytes"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestSyncAdders: of goroutines that race to add the same keys, at least one is
// told that a key was new, unless it is a false positive; and every addition is
// found at once by whoever made it.
func TestSyncAdders(t *testing.T) {
	const goroutines = 4
	for _, strategy := range []Strategy{Mitz32, Mitz64} {
		f, err := NewWithStrategy(strategy, 20_000, 0.01)
		require.NoError(t, err)
		keys := testkit.Digests[Hash](1, 20_000)
		s := NewSyncFrom(f.Clone())
		changed := make([]atomic.Int32, len(keys))
		var start, done sync.WaitGroup
		start.Add(1)
		for range goroutines {
			done.Add(1)
			go func() {
				defer done.Done()
				start.Wait()
				for i, h := range keys {
					if s.AddHash(h) {
						changed[i].Add(1)
					}
					if !s.ContainsHash(h) {
						t.Error("a key was lost")
						return
					}
				}
			}()
		}
		start.Done()
		done.Wait()

		f.AddBatch(nil, keys)
		require.True(t, f.Equal(s.Snapshot()), "the same bits as one goroutine sets")
		require.Equal(t, Must(f.MarshalBinary()), Must(s.MarshalBinary()))

		// A key that no goroutine was told of had all its bits set by others.
		// The last key's chance of that is FPR's; all have at most that.
		unnoticed := 0
		for i := range changed {
			if changed[i].Load() == 0 {
				unnoticed++
			}
		}
		mean := float64(len(keys)) * f.FPR()
		assert.Less(t, float64(unnoticed), mean+4.5*math.Sqrt(mean))
	}
}

// TestSyncWhileWriting encodes, estimates and snapshots while others add: what
// was added before must be in each.
func TestSyncWhileWriting(t *testing.T) {
	s := Must(NewSync(50_000, 0.01))
	before, later := testkit.Digests[Hash](2, 10_000), testkit.Digests[Hash](3, 40_000)
	require.Equal(t, len(before), testkit.Count(s.AddBatch(nil, before))+falsePositives(before, 50_000))
	ones := s.OnesCount()

	var adding sync.WaitGroup
	for i := range 2 {
		adding.Add(1)
		go func() {
			defer adding.Done()
			s.AddBatch(nil, later[i*20_000:(i+1)*20_000])
		}()
	}
	for range 5 {
		var decoded, streamed Filter
		require.NoError(t, decoded.UnmarshalBinary(Must(s.MarshalBinary())))
		var out bytes.Buffer
		_, err := s.WriteTo(&out)
		require.NoError(t, err)
		_, err = streamed.ReadFrom(&out)
		require.NoError(t, err)
		for _, f := range []*Filter{&decoded, &streamed, s.Snapshot()} { // in the order of time
			for _, h := range before {
				require.True(t, f.ContainsHash(h))
			}
			require.GreaterOrEqual(t, f.OnesCount(), ones)
			ones = f.OnesCount()
		}
		require.GreaterOrEqual(t, s.OnesCount(), ones)
		require.Positive(t, s.FPR())
		require.Positive(t, s.FillRatio())
	}
	adding.Wait()
	for _, h := range later {
		require.True(t, s.ContainsHash(h))
	}
	f, want := s.Snapshot(), Must(New(50_000, 0.01))
	want.AddBatch(nil, append(before, later...))
	require.True(t, f.Equal(want))
	require.Equal(t, f.OnesCount(), s.OnesCount())
	require.Equal(t, f.ApproxCount(), s.ApproxCount())
	require.Equal(t, f.FPR(), s.FPR())
	require.Equal(t, f.FillRatio(), s.FillRatio())
	require.Equal(t, f.Stats(), s.Stats())
	v := Must(NewView(Must(f.MarshalBinary())))
	require.Equal(t, f.Stats(), v.Stats())
}

func falsePositives(keys []Hash, n uint64) int {
	return len(keys) - testkit.Count(Must(New(n, 0.01)).AddBatch(nil, keys))
}

func TestSyncTakesOver(t *testing.T) {
	f := Must(New(100, 0.01))
	f.AddString("a")
	words := &f.bits.words[0]
	s := NewSyncFrom(f)
	require.Same(t, words, &s.bits.words[0], "no copy")
	require.True(t, s.ContainsString("a"))

	other := Must(New(100, 0.01))
	g := s.Snapshot()
	s.AddString("b")
	require.False(t, g.ContainsString("b"), "a snapshot stands apart")

	other.AddString("c")
	require.NoError(t, s.Merge(other))
	require.True(t, s.ContainsString("c"))
	want := Must(New(100, 0.01))
	for _, key := range []string{"a", "b", "c"} {
		want.AddString(key)
	}
	require.True(t, want.Equal(s.Snapshot()))
}
