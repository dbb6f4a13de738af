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

// BenchmarkFilter takes keys that are new, beside a SyncFilter of as many.
func BenchmarkFilter(b *testing.B) {
	type set interface {
		AddHash(bloom.Hash) bool
		ContainsHash(bloom.Hash) bool
		AddBatch([]bool, []bloom.Hash)
		ContainsBatch([]bool, []bloom.Hash)
	}
	for _, n := range []uint64{1e4, 1e6, 1e8} {
		if testing.Short() && n > 1e6 {
			continue
		}
		window := bloom.Must(New(Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 31}))
		sync := bloom.Must(bloom.NewSync(n, 0.01))
		for i := range n / 31 {
			window.AddHash(bloom.SumUint64(i))
			sync.AddHash(bloom.SumUint64(i))
		}
		key := n
		hs, dst := make([]bloom.Hash, 256), make([]bool, 256)
		for _, s := range []struct {
			name string
			set
		}{{"window", window}, {"sync", sync}} {
			for _, op := range []struct {
				name string
				do   func()
			}{
				{"op=add/batch=1", func() {
					for _, h := range hs {
						s.AddHash(h)
					}
				}},
				{"op=add/batch=256", func() { s.AddBatch(dst, hs) }},
				{"op=contains/batch=1", func() {
					for _, h := range hs {
						s.ContainsHash(h)
					}
				}},
				{"op=contains/batch=256", func() { s.ContainsBatch(dst, hs) }},
			} {
				b.Run(fmt.Sprintf("n=%.0e/%s/set=%s", float64(n), op.name, s.name), func(b *testing.B) {
					for b.Loop() {
						for i := range hs {
							hs[i] = bloom.SumUint64(key)
							key++
						}
						op.do()
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(hs)), "ns/key")
				})
			}
		}
	}
}

// BenchmarkWorstAdd reports the time of Adds after a generation's end: the median of those
// that find a block to clear, and the slowest of all the others, which is the machine's doing.
func BenchmarkWorstAdd(b *testing.B) {
	for _, n := range []uint64{1e5, 1e7} {
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			var clock testkit.Clock
			c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 31, Now: clock.Now}
			w := bloom.Must(New(c))
			var clearing []time.Duration
			var steady time.Duration
			for key := uint64(0); b.Loop(); {
				clock.Advance(c.Span/31 + 1) // the quotient, rounded up
				g := w.clock.generation()
				for range 10000 {
					key++
					h := bloom.SumUint64(key)
					h1, _ := h.Words()
					block, _ := bits.Mul64(h1, uint64(len(w.blocks)))
					stale := w.blocks[block].gen.Load() < g
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
