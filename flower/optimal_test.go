package flower

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestOptimal(t *testing.T) {
	for _, test := range []struct {
		t           uint64
		recall, fpr float64
	}{
		{1, 0.5, 0.5}, {1000, 0.5, 0.5}, {1000, 0.003, 0.01}, {100, 0.99, 0.01}, {3000, 0.9, 0.01},
		{3000, 0.99, 0.001}, {1000, 0.999, 0.0001}, {1000, 0.9, 1e-6},
	} {
		t.Run(fmt.Sprintf("t=%d/recall=%v/fpr=%v", test.t, test.recall, test.fpr), func(t *testing.T) {
			c, err := Optimal(test.t, test.recall, test.fpr)
			require.NoError(t, err)
			f := bloom.Must(New(c))
			require.GreaterOrEqual(t, f.Recall(test.t), test.recall)

			// No smaller one does it, by bisection over each setting.
			for _, bits := range []int{8, 16, 32} {
				for ways := 1; ways <= maxWays && 1-math.Pow(1-1/(math.Ldexp(1, bits)-1), float64(ways)) <= test.fpr; ways++ {
					low, high := uint64(0), c.Slots*uint64(c.Bits)/uint64(bits)
					if high*uint64(bits) == c.Slots*uint64(c.Bits) {
						high--
					}
					if high > low {
						require.Less(t, recall(float64(test.t), float64(high), float64(ways), uint(bits)), test.recall,
							"%d slots of %d bits, %d ways are enough", high, bits, ways)
					}
				}
			}

			// And the one found does it, keys of age t in an array long full.
			const trials = 30000
			added := 20*c.Slots/uint64(c.Ways) + test.t
			found, hits := 0, 0
			for i := range added + trials {
				f.AddHash(bloom.SumUint64(i))
				if i >= added {
					if f.ContainsHash(bloom.SumUint64(i - test.t)) {
						found++
					}
					if f.ContainsHash(bloom.SumUint64(1<<40 + i)) {
						hits++
					}
				}
			}
			assert.GreaterOrEqual(t, float64(found), trials*test.recall-4.75*math.Sqrt(trials*test.recall*(1-test.recall)))
			assert.LessOrEqual(t, float64(hits), testkit.RateBound(trials, test.fpr)+1)
		})
	}
}

// TestOptimalSizes holds the sizes that the documentation tells.
func TestOptimalSizes(t *testing.T) {
	for _, test := range []struct {
		recall float64
		bytes  float64
	}{{0.9, 5.2e6}, {0.99, 18.9e6}} {
		c, err := Optimal(1e6, test.recall, 0.01)
		require.NoError(t, err)
		assert.InDelta(t, test.bytes, float64(c.Slots)*float64(c.Bits)/8, 0.05e6)
	}
}

func TestRecallFormula(t *testing.T) {
	// The formula as it is written.
	f := bloom.Must(New(Config{Slots: 1000, Ways: 3, Bits: 8}))
	q := math.Pow(1-1.0/1000, 3*500)
	assert.InEpsilon(t, 1-math.Pow(1-(q+(1-q)/256), 3), f.Recall(500), 1e-12)
	assert.Equal(t, 1.0, f.Recall(0))
	assert.InEpsilon(t, 1-math.Pow(1-1.0/256, 3), f.Recall(math.MaxUint64), 1e-12)
	one := bloom.Must(New(Config{Slots: 1, Ways: 1, Bits: 8}))
	assert.Equal(t, 1.0, one.Recall(0))
	assert.InEpsilon(t, 1.0/256, one.Recall(1), 1e-12)
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{0, 2, 8}, "flower: Slots = 0 "},
		{Config{math.MaxUint64, 2, 8}, "flower: Slots = 18446744073709551615 "},
		{Config{1 << 60, 2, 8}, "flower: Slots = 1152921504606846976 "},
		{Config{100, 0, 8}, "flower: Ways = 0 "},
		{Config{100, -1, 8}, "flower: Ways = -1 "},
		{Config{100, 65, 8}, "flower: Ways = 65 "},
		{Config{100, 2, 0}, "flower: Bits = 0 "},
		{Config{100, 2, 7}, "flower: Bits = 7 "},
		{Config{100, 2, -8}, "flower: Bits = -8 "},
		{Config{100, 2, 64}, "flower: Bits = 64 "},
	} {
		f, err := New(test.config)
		assert.ErrorContains(t, err, test.want)
		assert.Nil(t, f)
	}
	for _, test := range []struct {
		t           uint64
		recall, fpr float64
		want        string
	}{
		{0, 0.9, 0.1, "flower: t = 0 "},
		{10, 0, 0.1, "flower: recall = 0 "},
		{10, 1, 0.1, "flower: recall = 1 "},
		{10, math.NaN(), 0.1, "flower: recall = NaN "},
		{10, 0.9, -1, "flower: fpr = -1 "},
		{10, 0.9, math.NaN(), "flower: fpr = NaN "},
		{10, 0.9, 1e-10, "flower: fpr = 1e-10 "},
		{math.MaxUint64, 0.9, 0.1, "flower: t = 18446744073709551615, recall = 0.9, fpr = 0.1 "},
		{1 << 50, 1 - 1e-16, 1e-9, "flower: t = 1125899906842624, recall = 0.9999999999999999, fpr = 1e-09 "},
	} {
		c, err := Optimal(test.t, test.recall, test.fpr)
		assert.ErrorContains(t, err, test.want)
		assert.Zero(t, c)
	}
}
