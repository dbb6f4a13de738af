package window

import (
	"math"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestStatistics(t *testing.T) {
	testkit.Statistics(t, bloom.Sum, testkit.Stat[bloom.Hash]{
		Name: "Filter", Make: newStatWindow, Fill: fillStatWindow, Deviation: windowDeviation,
	})
}

const statGenerations = 7

// newStatWindow returns a Window that is full when its live generations, one
// more than in a span, hold n keys.
func newStatWindow(n uint64, p float64) testkit.StatSet[bloom.Hash] {
	return bloom.Must(New(Config{
		Capacity:    n * statGenerations / (statGenerations + 1),
		FPR:         p,
		Span:        statGenerations * time.Hour,
		Generations: statGenerations,
		Now:         new(testkit.Clock).Now,
	}))
}

// fillStatWindow spreads keys over the live generations.
func fillStatWindow(s testkit.StatSet[bloom.Hash], keys []bloom.Hash) {
	w, clock := s.(*Filter), new(testkit.Clock)
	w.now = clock.Now
	for g := range statGenerations + 1 {
		addAll(w, keys[g*len(keys)/(statGenerations+1):(g+1)*len(keys)/(statGenerations+1)])
		if g < statGenerations {
			clock.Advance(time.Hour)
		}
	}
}

// windowDeviation is classicDeviation for one of several generations, which
// deviate independently.
func windowDeviation(s testkit.StatSet[bloom.Hash], n float64) float64 {
	w := s.(*Filter)
	m, k := float64(uint64(len(w.blocks))*w.lanes), float64(w.k)
	fill, variance := testkit.OnesVariance(k * n / (statGenerations + 1) / m)
	return k * math.Sqrt(variance/m/(statGenerations+1)) / fill
}

func addAll(w *Filter, keys []bloom.Hash) {
	for _, h := range keys {
		w.AddHash(h)
	}
}
