package window

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

type keySet interface {
	AddHash(bloom.Hash) bool
	ContainsHash(bloom.Hash) bool
}

func BenchmarkFilter(b *testing.B) {
	for _, n := range []uint64{1e5, 1e7} {
		c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 31}
		var clock testkit.Clock
		c.Now = clock.Now
		window, filter := bloom.Must(New(c)), bloom.Must(bloom.NewSync(n, c.FPR))
		unused := fill(window, &clock, c)
		for i := range n {
			filter.AddHash(bloom.SumUint64(i))
		}
		window.clock.now = nil
		window.clock.set(uint64(c.Span), uint64(c.Generations), time.Now().Add(-c.Span), window.clock.gen.Load())
		miss, hit := make([]bloom.Hash, 1<<16), make([]bloom.Hash, 1<<16)
		for i := range miss {
			miss[i] = bloom.SumUint64(unused + uint64(i))
			hit[i] = bloom.SumUint64(miss[i].H1 % n)
		}
		for _, set := range []struct {
			name string
			keySet
		}{{"window", window}, {"sync", filter}} {
			for _, keys := range []struct {
				name string
				hs   []bloom.Hash
			}{{"hit", hit}, {"miss", miss}} {
				b.Run(fmt.Sprintf("n=%.0e/op=contains/keys=%s/set=%s", float64(n), keys.name, set.name), func(b *testing.B) {
					for i := 0; b.Loop(); i++ {
						set.ContainsHash(keys.hs[i%len(keys.hs)])
					}
				})
			}
			b.Run(fmt.Sprintf("n=%.0e/op=add/set=%s", float64(n), set.name), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					set.AddHash(hit[i%len(hit)])
				}
			})
		}
	}
}

// BenchmarkWorstAdd reports the time of Adds after a generation's end:
// those that find a block to clear, half of which take less than the median,
// and the slowest of all the others, which is the machine's doing.
func BenchmarkWorstAdd(b *testing.B) {
	for _, n := range []uint64{1e5, 1e7} {
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			var clock testkit.Clock
			c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 31, Now: clock.Now}
			w := bloom.Must(New(c))
			var clearing []time.Duration
			var steady time.Duration
			for key := uint64(0); b.Loop(); {
				clock.Advance(c.Span / 31)
				g := w.clock.generation()
				for range 10000 {
					key++
					h := bloom.SumUint64(key)
					block, _ := bits.Mul64(h.H1, uint64(len(w.blocks)))
					stale := w.blocks[block].gen < g
					start := time.Now()
					w.AddHash(h)
					if took := time.Since(start); stale {
						clearing = append(clearing, took)
					} else {
						steady = max(steady, took)
					}
				}
			}
			slices.Sort(clearing)
			b.ReportMetric(float64(clearing[len(clearing)/2].Nanoseconds()), "median-clearing-ns")
			b.ReportMetric(float64(clearing[len(clearing)-1].Nanoseconds()), "worst-clearing-ns")
			b.ReportMetric(float64(steady.Nanoseconds()), "worst-other-ns")
		})
	}
}
