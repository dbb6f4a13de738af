package blocked_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

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
	inBlocks := make([]*blocked.Filter, parts)
	for i := range parts {
		inBlocks[i] = bloom.Must(blocked.NewSize(1<<17, 1))
		inBlocks[i].AddBatch(nil, one[i*n/parts:][:n/parts])
	}
	for _, test := range []struct {
		name  string
		start func() (bloom.Set, [2]func())
	}{
		{"AddHash", func() (bloom.Set, [2]func()) {
			s := blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<17, 1)))
			return s, [2]func(){each(s.AddHash, one), each(s.AddHash, two)}
		}},
		{"AddBatch", func() (bloom.Set, [2]func()) {
			s := blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<17, 2)))
			return s, [2]func(){func() { s.AddBatch(nil, one) }, func() { s.AddBatch(nil, two) }}
		}},
		{"Merge", func() (bloom.Set, [2]func()) {
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
				testkit.Together(functions[:]...)
				for _, h := range hs {
					if !set.ContainsHash(h) {
						t.Fatal("lost in round", round)
					}
				}
			}
		})
	}
}
