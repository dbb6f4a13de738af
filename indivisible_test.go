package bloom_test

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// together runs all functions from one start.
func together(functions ...func()) {
	var ready atomic.Int32
	var done sync.WaitGroup
	for _, do := range functions {
		done.Add(1)
		go func() {
			defer done.Done()
			for ready.Add(1); int(ready.Load()) < len(functions); {
				runtime.Gosched()
			}
			do()
		}()
	}
	done.Wait()
}

// TestIndivisible: of two that write to the same words at once, neither takes a bit of the
// other's back. The race detector does not see an atomic load that is followed by an atomic
// store.
func TestIndivisible(t *testing.T) {
	const n = 10_000 // of each: enough for both to run at once, whoever starts first
	hs := testkit.Digests[bloom.Hash](11, 2*n)
	one, two := hs[:n], hs[n:]
	each := func(add func(bloom.Hash) bool, hs []bloom.Hash) func() {
		return func() {
			for _, h := range hs {
				add(h)
			}
		}
	}
	const parts = 100 // that are merged one after the other
	plain := make([]*bloom.Filter, parts)
	inBlocks := make([]*blocked.Filter, parts)
	for i := range parts {
		plain[i], inBlocks[i] = bloom.Must(bloom.NewSize(1<<15, 1)), bloom.Must(blocked.NewSize(1<<17, 1))
		plain[i].AddBatch(nil, one[i*n/parts:][:n/parts])
		inBlocks[i].AddBatch(nil, one[i*n/parts:][:n/parts])
	}
	for _, test := range []struct {
		name  string
		start func() (bloom.Set, [2]func())
	}{
		{"SyncFilter.AddHash", func() (bloom.Set, [2]func()) {
			s := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<15, 1)))
			return s, [2]func(){each(s.AddHash, one), each(s.AddHash, two)}
		}},
		{"SyncFilter.AddHash, Mitz32", func() (bloom.Set, [2]func()) {
			s := bloom.NewSyncFrom(bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, n, 0.1)))
			return s, [2]func(){each(s.AddHash, one), each(s.AddHash, two)}
		}},
		{"SyncFilter.Merge", func() (bloom.Set, [2]func()) {
			s := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<15, 1)))
			return s, [2]func(){func() {
				for _, g := range plain {
					bloom.Must(0, s.Merge(g))
				}
			}, each(s.AddHash, two)}
		}},
		{"blocked.SyncFilter.AddHash", func() (bloom.Set, [2]func()) {
			s := blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<17, 1)))
			return s, [2]func(){each(s.AddHash, one), each(s.AddHash, two)}
		}},
		{"blocked.SyncFilter.AddBatch", func() (bloom.Set, [2]func()) {
			s := blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<17, 2)))
			return s, [2]func(){func() { s.AddBatch(nil, one) }, func() { s.AddBatch(nil, two) }}
		}},
		{"blocked.SyncFilter.Merge", func() (bloom.Set, [2]func()) {
			s := blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<17, 1)))
			return s, [2]func(){func() {
				for _, g := range inBlocks {
					bloom.Must(0, s.Merge(g))
				}
			}, each(s.AddHash, two)}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for round := range 50 {
				set, functions := test.start()
				together(functions[:]...)
				for _, h := range hs {
					if !set.ContainsHash(h) {
						t.Fatal("lost in round", round)
					}
				}
			}
		})
	}
}

// TestWholeCopies: what a counting filter gives away while others add and remove one key
// has that key or has it not, and no part of it.
func TestWholeCopies(t *testing.T) {
	f := bloom.Must(counting.New(20_000, 1e-6))
	full := f.Clone()
	h := bloom.SumString("key")
	full.AddHash(h)
	k := uint64(full.Stats().OnesCount)
	decoded := func(data []byte, err error) *counting.Filter {
		g := new(counting.Filter)
		bloom.Must(0, err)
		bloom.Must(0, g.UnmarshalBinary(data))
		return g
	}
	for name, copied := range map[string]func() *counting.Filter{
		"Clone":         f.Clone,
		"MarshalBinary": func() *counting.Filter { return decoded(f.MarshalBinary()) },
		"WriteTo": func() *counting.Filter {
			var w bytes.Buffer
			_, err := f.WriteTo(&w)
			return decoded(w.Bytes(), err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var done atomic.Bool
			together(func() {
				for !done.Load() {
					f.AddHash(h)
					f.RemoveHash(h)
					runtime.Gosched()
				}
			}, func() {
				defer done.Store(true)
				for range 100 {
					if ones := copied().Stats().OnesCount; ones != 0 && ones != k {
						t.Errorf("a copy has %d of %d counters of a key", ones, k)
						return
					}
					f.Equal(full) // for the race detector
					runtime.Gosched()
				}
			})
		})
	}
}
