package counting_test

import (
	"bytes"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/promises"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestPromises(t *testing.T) {
	promises.Test(t, promises.Type{
		Name:      "counting.Filter",
		Make:      func() promises.Filter { return bloom.Must(counting.New(14_000, 0.01)) },
		Zero:      func() promises.Filter { return new(counting.Filter) },
		Load:      func(path string) (promises.Filter, error) { return counting.LoadFile(path) },
		LoadOrNew: func(path string, p float64) (promises.Filter, error) { return counting.LoadOrNew(path, 14_000, p) },
		Others: map[string]func(string) (promises.Filter, error){
			"n": func(path string) (promises.Filter, error) { return counting.LoadOrNew(path, 15_000, 0.01) },
			"p": func(path string) (promises.Filter, error) { return counting.LoadOrNew(path, 14_000, 0.0099) },
		},
	})
	promises.TestSets(t, "counting", func() *counting.Filter { return bloom.Must(counting.New(5000, 0.01)) },
		func() *counting.Filter { return bloom.Must(counting.New(5000, 0.001)) })
}

// TestWholeCopies: what a counting filter gives away while others add and remove one key
// has that key or has it not, and no part of it.
func TestWholeCopies(t *testing.T) {
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
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
			testkit.Together(func() {
				for !done.Load() {
					f.AddHash(h)
					f.RemoveHash(h)
					runtime.Gosched()
				}
			}, func() {
				defer done.Store(true)
				for range rounds {
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
