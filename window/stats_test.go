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
		Name: "Filter", Make: newStat, Fill: fillStat, Deviation: deviation,
	})
}

const statGenerations = 7

// newStat returns a filter that is full when its live generations, one more than in
// a span, hold n keys.
func newStat(n uint64, p float64) testkit.StatSet[bloom.Hash] {
	return bloom.Must(New(Config{
		Capacity:    n * statGenerations / (statGenerations + 1),
		FPR:         p,
		Span:        statGenerations * time.Hour,
		Generations: statGenerations,
		Now:         new(testkit.Clock).Now,
	}))
}

// fillStat spreads keys over the live generations.
func fillStat(s testkit.StatSet[bloom.Hash], keys []bloom.Hash) {
	f, hand := s.(*Filter), new(testkit.Clock)
	f.clock.now = hand.Now
	for g := range statGenerations + 1 {
		for _, h := range keys[g*len(keys)/(statGenerations+1) : (g+1)*len(keys)/(statGenerations+1)] {
			f.AddHash(h)
		}
		if g < statGenerations {
			hand.Advance(time.Hour)
		}
	}
}

// deviation is a classic filter's for one of several generations, which deviate
// independently.
func deviation(s testkit.StatSet[bloom.Hash], n float64) float64 {
	f := s.(*Filter)
	m, k := float64(f.blockCount*f.lanes), float64(f.k)
	fill, variance := testkit.OnesVariance(k * n / (statGenerations + 1) / m)
	return k * math.Sqrt(variance/m/(statGenerations+1)) / fill
}
