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
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/window"
)

// TestOneIsNew: of calls that add one new key concurrently, at most one gets true, whichever ways
// of adding meet. One gets true unless the key is a false positive. Each call finds its key
// immediately.
func TestOneIsNew(t *testing.T) {
	const n, group = 20_000, 16 // keys, and how many are added at a time
	keys := make([][]byte, n)
	hs := make([]bloom.Hash, n)
	for i := range keys {
		keys[i] = binary.LittleEndian.AppendUint64(nil, uint64(i))
		hs[i] = bloom.Sum(keys[i])
	}
	mitz32 := func(p float64) *bloom.SyncFilter {
		return bloom.NewSyncFrom(bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, n, p)))
	}
	for _, test := range []struct {
		name string
		p    float64 // a rate that the filter keeps
		set  batches
	}{
		{"bloom, 7 bits", 0.01, bloom.Must(bloom.NewSync(n, 0.01))},
		{"bloom, 20 bits", 1e-6, bloom.Must(bloom.NewSync(n, 1e-6))},
		{"bloom, 70 bits", 1e-6, bloom.NewSyncFrom(bloom.Must(bloom.NewSize(200*n, 70)))},
		{"bloom, Mitz32", 0.01, mitz32(0.01)},
		{"blocked, 1 line", 0.01, blocked.NewSyncFrom(bloom.Must(blocked.NewSize(16*n, 1)))},
		{"blocked, 2 lines", 1e-3, blocked.NewSyncFrom(bloom.Must(blocked.NewSize(32*n, 2)))},
		{"blocked, 3 lines", 1e-4, blocked.NewSyncFrom(bloom.Must(blocked.NewSize(48*n, 3)))},
		{"blocked, 4 lines", 1e-4, blocked.NewSyncFrom(bloom.Must(blocked.NewSize(64*n, 4)))},
		{"counting", 0.01, bloom.Must(counting.New(n, 0.01))},
		{"growing", 0.01, bloom.Must(growing.New(0, 0.01))},
		{"window", 0.01, bloom.Must(window.New(window.Config{N: n, P: 0.01, Span: time.Hour}))},
	} {
		t.Run(test.name, func(t *testing.T) {
			ways := []func(from int) []bool{
				func(from int) []bool {
					isNew := make([]bool, group)
					for i := range isNew {
						isNew[i] = test.set.AddHash(hs[from+i])
					}
					return isNew
				},
				func(from int) []bool {
					isNew := make([]bool, group)
					for i := range isNew {
						isNew[i] = test.set.Add(keys[from+i])
					}
					return isNew
				},
				func(from int) []bool { return filtertest.Added(test.set, hs[from:from+group]) },
				func(from int) []bool { return filtertest.Added(test.set, hs[from:from+group]) },
			}
			told := make([]atomic.Int32, n)
			var arrived, lost atomic.Int64
			filtertest.AtOnce(len(ways), func(w int) {
				for from := 0; from < n; from += group {
					// The goroutines wait for each other, so that they add the same keys.
					turn := int64(from/group + 1)
					arrived.Add(1)
					filtertest.Becomes(t, "the other goroutine arrives",
						func() bool { return arrived.Load() >= 2*turn })
					for i, isNew := range ways[(w+from/group)%len(ways)](from) {
						if isNew {
							told[from+i].Add(1)
						}
						if !test.set.ContainsHash(hs[from+i]) {
							lost.Add(1)
						}
					}
				}
			})
			require.Zero(t, lost.Load(), "keys that were not found")
			several, nobody := 0, 0
			for i := range told {
				switch n := told[i].Load(); {
				case n > 1:
					several++
				case n == 0:
					nobody++
				}
			}
			assert.Zero(t, several, "keys that several calls told to be new")
			// If no call told that a key was new, other keys had all its bits.
			mean := n * test.p
			assert.Less(t, float64(nobody), mean+4.5*math.Sqrt(mean)+2, "keys that no call told to be new")
		})
	}
}

// TestWritersKeepEachOthersBits: if two goroutines write to the same words in parallel, neither
// clears a bit that the other has set. The race detector would not notice that, because an atomic
// load and an atomic store are no race.
func TestWritersKeepEachOthersBits(t *testing.T) {
	if filtertest.Race {
		t.Skip("go test -tags purego has the same code, and is faster")
	}
	t.Run("Mitz64", func(t *testing.T) {
		keepEachOthersBits(t, func() *bloom.Filter {
			return bloom.Must(bloom.NewSize(1<<15, 1))
		}, bloom.NewSyncFrom)
	})
	t.Run("Mitz32", func(t *testing.T) {
		keepEachOthersBits(t, func() *bloom.Filter {
			return bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 10_000, 0.1))
		}, bloom.NewSyncFrom)
	})
	t.Run("blocked", func(t *testing.T) {
		keepEachOthersBits(t, func() *blocked.Filter {
			return bloom.Must(blocked.NewSize(1<<17, 2))
		}, blocked.NewSyncFrom)
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
	enough := time.Second
	if testing.Short() {
		enough /= 5
	}
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
	for name, writers := range map[string][2]func(S, []bloom.Hash){
		"Add": {one, key}, "AddBatch": {batch, batch}, "Merge": {merge, one},
	} {
		t.Run(name, func(t *testing.T) {
			// A round counts if each writer saw the other move during a quarter of its chunks.
			atOnce, begun := 0, time.Now()
			for atOnce < 2 && time.Since(begun) < enough {
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

// TestSyncFigures: ApproxCount and FPR are those of a Filter with the same keys.
func TestSyncFigures(t *testing.T) {
	f, s := bloom.Must(bloom.New(1000, 0.01)), bloom.Must(bloom.NewSync(1000, 0.01))
	for i := range uint64(700) {
		f.AddHash(bloom.SumUint64(i))
		s.AddHash(bloom.SumUint64(i))
	}
	require.Equal(t, f.ApproxCount(), s.ApproxCount())
	require.Equal(t, f.FPR(), s.FPR())
	require.Zero(t, new(bloom.SyncFilter).ApproxCount())
	require.Zero(t, new(bloom.SyncFilter).FPR())
}
