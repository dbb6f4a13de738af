package bloom_test

import (
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestSyncAdders: of goroutines that race to add the same keys, at least one is
// told that a key was new, unless it is a false positive; and every addition is
// found at once by whoever made it.
func TestSyncAdders(t *testing.T) {
	const goroutines = 4
	for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		f, err := bloom.NewWithStrategy(strategy, 20_000, 0.01)
		require.NoError(t, err)
		keys := filtertest.Digests(1, 20_000)
		s := bloom.NewSyncFrom(f.Clone())
		changed := make([]atomic.Int32, len(keys))
		filtertest.AtOnce(goroutines, func(int) {
			for i, h := range keys {
				if s.AddHash(h) {
					changed[i].Add(1)
				}
				if !s.ContainsHash(h) {
					t.Error("a key was lost")
					return
				}
			}
		})

		f.AddBatch(nil, keys)
		require.True(t, f.Equal(s.Snapshot()), "the same bits as one goroutine sets")
		require.Equal(t, bloom.Must(f.MarshalBinary()), bloom.Must(s.MarshalBinary()))

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

// TestOwnership: what a filter begins with is copied, and nothing is allocated twice.
func TestOwnership(t *testing.T) {
	words := make([]uint64, 4)
	f := bloom.Must(bloom.NewWords(words, 3))
	words[0] = 1
	require.Zero(t, bloom.Must(bloom.NewSize(256, 3)).OnesCount()+f.Stats().OnesCount)
	require.False(t, f.ContainsHash(bloom.NewHash(0, 0)))
	require.Less(t, filtertest.Allocated(func() { _ = bloom.Must(bloom.NewSync(1e6, 0.01)) }), uint64(1.3e6))
	_, err := bloom.NewWords(nil, 3)
	require.ErrorContains(t, err, "bloom: 0 words are outside [1, ")
	_, err = bloom.NewWords(words, 0)
	require.EqualError(t, err, "bloom: k = 0 is outside [1, 255]")
}
