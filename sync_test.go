package bloom_test

import (
	"encoding/binary"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestSyncAdders: several goroutines add the same keys in parallel. Add reports to at least one of them
// that a key is new, unless the key is a false positive. Each goroutine finds its key immediately.
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

		// If Add told no goroutine that a key was new, other keys had set all its bits. For the
		// last key, the probability of that is FPR. For earlier keys it is less.
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

// TestWritersKeepEachOthersBits: if two goroutines write to the same words in parallel, neither clears
// a bit that the other has set. The race detector would not notice that, because an atomic load and
// an atomic store are no race.
func TestWritersKeepEachOthersBits(t *testing.T) {
	if filtertest.Race {
		t.Skip("go test -tags purego has the same code, and is faster")
	}
	t.Run("Mitz64", func(t *testing.T) {
		keepEachOthersBits(t, func() *bloom.Filter { return bloom.Must(bloom.NewSize(1<<15, 1)) }, bloom.NewSyncFrom)
	})
	t.Run("Mitz32", func(t *testing.T) {
		keepEachOthersBits(t, func() *bloom.Filter { return bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 10_000, 0.1)) }, bloom.NewSyncFrom)
	})
	t.Run("blocked", func(t *testing.T) {
		keepEachOthersBits(t, func() *blocked.Filter { return bloom.Must(blocked.NewSize(1<<17, 2)) }, blocked.NewSyncFrom)
	})
}

type batches interface {
	bloom.Set
	Add(key []byte) bool
	AddBatch(dst []bool, hs []bloom.Hash)
}

func keepEachOthersBits[F batches, S interface {
	batches
	Merge(F) error
}](t *testing.T, make func() F, sync func(F) S) {
	const n, chunk = 10_000, 100 // number of keys of each writer, and of a chunk
	hs := filtertest.Digests(11, n)
	parts, keys := map[*bloom.Hash]F{}, map[*bloom.Hash][][]byte{}
	for i := range uint64(n) {
		hs = append(hs, bloom.SumUint64(i))
	}
	for i := range uint64(n) {
		first := &hs[n+i/chunk*chunk]
		keys[first] = append(keys[first], binary.LittleEndian.AppendUint64(nil, i))
	}
	for part := range slices.Chunk(hs[:n], chunk) {
		parts[&part[0]] = make()
		parts[&part[0]].AddBatch(nil, part)
	}
	one := func(s S, hs []bloom.Hash) {
		for _, h := range hs {
			s.AddHash(h)
		}
	}
	key := func(s S, hs []bloom.Hash) {
		for _, key := range keys[&hs[0]] {
			s.Add(key)
		}
	}
	batch := func(s S, hs []bloom.Hash) { s.AddBatch(nil, hs) }
	merge := func(s S, hs []bloom.Hash) { require.NoError(t, s.Merge(parts[&hs[0]])) }
	for name, writers := range map[string][2]func(S, []bloom.Hash){"Add": {one, key}, "AddBatch": {batch, batch}, "Merge": {merge, one}} {
		t.Run(name, func(t *testing.T) {
			// A round counts if each writer saw the other move during a quarter of its chunks.
			atOnce, begun := 0, time.Now()
			for atOnce < 2 && time.Since(begun) < time.Second {
				s := sync(make())
				var done, seen [2]atomic.Int64 // numbers of chunks
				filtertest.AtOnce(2, func(i int) {
					for part := range slices.Chunk(hs[i*n:(i+1)*n], chunk) {
						before := done[1-i].Load()
						writers[i](s, part)
						done[i].Add(1)
						if done[1-i].Load() > before {
							seen[i].Add(1)
						}
					}
				})
				if min(seen[0].Load(), seen[1].Load()) > n/chunk/4 {
					atOnce++
				}
				for _, h := range hs {
					if !s.ContainsHash(h) {
						t.Fatalf("a key is lost, after %d rounds of both in parallel", atOnce)
					}
				}
			}
			if atOnce == 0 {
				t.Log("not shown: both never ran in parallel")
			}
		})
	}
}
