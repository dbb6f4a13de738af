package counting

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed79a3ff49/bloom"
)

// BenchmarkWhole measures the calls that read all counters. A plain sum of the words shows how fast
// memory is.
func BenchmarkWhole(b *testing.B) {
	for _, n := range []uint64{1e6, 3e7} {
		if testing.Short() && n > 1e6 {
			continue
		}
		f, g := bloom.Must(New(n, 0.01)), bloom.Must(New(n, 0.01))
		rnd := rand.New(rand.NewPCG(1, 2))
		for i := range f.counters.words {
			f.counters.words[i] = rnd.Uint64() & rnd.Uint64() & rnd.Uint64()
		}
		var sum uint64
		for _, op := range []struct {
			name string
			do   func()
		}{
			{"sum", func() {
				for w := f.counters.words; len(w) >= 4; w = w[4:] {
					sum += w[0] + w[1] + w[2] + w[3]
				}
			}},
			{"count", func() { sum += f.counters.onesCount() }},
			{"bloom", func() { sum += f.Bloom().M() }},
			{"merge", func() { _ = g.Merge(f) }},
			{"clone", func() { sum += f.Clone().M() }},
		} {
			b.Run(fmt.Sprintf("n=%.0e/op=%s", float64(n), op.name), func(b *testing.B) {
				b.SetBytes(int64(8 * len(f.counters.words)))
				for b.Loop() {
					op.do()
				}
			})
		}
		_ = sum
	}
}
