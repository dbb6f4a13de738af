package blocked

import (
	"math"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

var stat = testkit.Stat[bloom.Hash]{
	Name:      "Filter",
	Make:      func(n uint64, p float64) testkit.StatSet[bloom.Hash] { return bloom.Must(New(n, p)) },
	Excess:    func(testkit.StatSet[bloom.Hash]) float64 { return 0 },
	Deviation: blockedDeviation,
	Count:     blockedCount,
}

func TestStatistics(t *testing.T) { testkit.Statistics(t, bloom.Sum, stat) }

// blockedDeviation follows the deviation of the blocks' own rates through the power of
// lines.
func blockedDeviation(s testkit.StatSet[bloom.Hash], _ float64) float64 {
	f := s.(*Filter)
	mean, deviation := meanOf(f.blockRates())
	return float64(f.Lines()) * deviation / mean
}

// blockedCount is classicCount for each block, of 8 times 32 bins, with
// g(fill) = ln(1-fill) / ln(31/32), added up over a Poisson-distributed number
// of lines in each.
func blockedCount(s testkit.StatSet[bloom.Hash], n float64) (bias, sigma float64) {
	f := s.(*Filter)
	blocks, lines := float64(f.M())/256, float64(f.Lines())
	mean := n * lines / blocks
	for j := 0.0; j < mean+12*math.Sqrt(mean)+40; j++ {
		lgamma, _ := math.Lgamma(j + 1)
		share := blocks * math.Exp(j*math.Log(mean)-mean-lgamma)
		fill, variance := testkit.OnesVariance(-math.Log1p(-1.0/32) * j)
		variance /= 256
		slope := -1 / math.Log1p(-1.0/32) / (1 - fill)
		bias += share * slope / (1 - fill) * variance / 2
		sigma += share * slope * slope * variance
	}
	return bias / lines, math.Sqrt(sigma) / lines
}
