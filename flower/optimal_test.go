package flower

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

func TestOptimal(t *testing.T) {
	for _, test := range []struct {
		t           uint64
		recall, fpr float64
	}{
		{1, 0.5, 0.5}, {1000, 0.5, 0.5}, {1000, 0.003, 0.01}, {100, 0.99, 0.01}, {3000, 0.9, 0.01},
		{3000, 0.99, 0.001}, {1000, 0.999, 0.0001}, {1000, 0.9, 1e-6}, {1000, 1 - 1e-12, 0.3},
		{1000, 0.5, 1 / 255.5}, // 8 bits have 1/255
	} {
		t.Run(fmt.Sprintf("t=%d/recall=%v/fpr=%v", test.t, test.recall, test.fpr), func(t *testing.T) {
			c, err := Optimal(test.t, test.recall, test.fpr)
			require.NoError(t, err)
			require.GreaterOrEqual(t, c.recall(test.t), test.recall)
			require.LessOrEqual(t, 1-math.Pow(1-1/(math.Ldexp(1, c.Bits)-1), float64(c.Ways)), test.fpr)

			// No smaller filter suffices: for any ways and bits, the next smaller size has too few
			// slots.
			for _, bits := range []int{8, 16, 32} {
				for ways := 1; ways <= maxWays &&
					1-math.Pow(1-1/(math.Ldexp(1, bits)-1), float64(ways)) <= test.fpr; ways++ {
					high := c.Slots * uint64(c.Bits) / uint64(bits)
					if high*uint64(bits) == c.Slots*uint64(c.Bits) {
						high--
					}
					if high >= uint64(ways) {
						c := Config{Slots: high, Ways: ways, Bits: bits}
						require.Less(t, c.recall(test.t), test.recall,
							"%d slots of %d bits, %d ways are enough", high, bits, ways)
					}
				}
			}
		})
	}
}

// TestOptimalSizes: the sizes in the comments of Optimal and of the package are true.
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

// TestRecallOfFew adds a key, then as many other keys as its age, and looks up the key. The result
// does not depend on keys that were added before. So the trials are independent, and the number of
// keys that are found has a binomial distribution with the probability Recall.
func TestRecallOfFew(t *testing.T) {
	key := uint64(0)
	for _, age := range []uint64{1, 2, 5, 10, 100} {
		for _, recall := range []float64{0.9, 0.99, 0.999} {
			for _, fpr := range []float64{0.01, 1e-4} {
				c, err := Optimal(age, recall, fpr)
				require.NoError(t, err)
				f := bloom.Must(New(c))
				require.GreaterOrEqual(t, f.Recall(age), recall)
				trials := min(100_000, 2_000_000/int(age))
				if testing.Short() {
					trials /= 40
				}
				missed := 0.0
				for range trials {
					h := bloom.SumUint64(key)
					for range age + 1 {
						f.AddHash(bloom.SumUint64(key))
						key++
					}
					if !f.ContainsHash(h) {
						missed++
					}
				}
				p := 1 - f.Recall(age)
				want := p * float64(trials)
				assert.InDelta(t, want, missed, 4.75*math.Sqrt(want*(1-p))+1,
					"age %d, recall %v, %+v", age, recall, c)
			}
		}
	}
}

func TestRecallFormula(t *testing.T) {
	// This is the formula of the comment, for ways of 333 slots.
	f := bloom.Must(New(Config{Slots: 1000, Ways: 3, Bits: 8}))
	missed := (1 - math.Pow(332.0/333, 500)) * 254 / 255
	assert.InEpsilon(t, 1-math.Pow(missed, 3), f.Recall(500), 1e-12)
	assert.Equal(t, 1.0, f.Recall(0))
	assert.InEpsilon(t, 1-math.Pow(254.0/255, 3), f.Recall(math.MaxUint64), 1e-12)
	one := bloom.Must(New(Config{Slots: 1, Ways: 1, Bits: 8}))
	assert.Equal(t, 1.0, one.Recall(0))
	assert.InEpsilon(t, 1.0/255, one.Recall(1), 1e-12)
	most := Config{Slots: 1 << 40, Ways: 64, Bits: 8}
	assert.Equal(t, 1.0, most.recall(1), "a miss is less likely than a float64 can say")
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{Slots: 0, Ways: 2, Bits: 8}, "flower: Slots = 0 "},
		{Config{Slots: math.MaxUint64, Ways: 2, Bits: 8}, "flower: Slots = 18446744073709551615 "},
		{Config{Slots: 1 << 60, Ways: 2, Bits: 8}, "flower: Slots = 1152921504606846976 "},
		{Config{Slots: 2*form.MaxFrameWords + 1, Ways: 2, Bits: 32},
			fmt.Sprintf("flower: Slots = %d is outside ", uint64(2*form.MaxFrameWords+1))},
		{Config{Slots: 4, Ways: 5, Bits: 8},
			fmt.Sprintf("flower: Slots = 4 is outside [5, %d] for 5 ways of 8 bits",
				uint64(8*form.MaxFrameWords))},
		{Config{Slots: 100, Ways: 0, Bits: 8}, "flower: Ways = 0 "},
		{Config{Slots: 100, Ways: -1, Bits: 8}, "flower: Ways = -1 "},
		{Config{Slots: 100, Ways: 65, Bits: 8}, "flower: Ways = 65 "},
		{Config{Slots: 100, Ways: 2, Bits: 0}, "flower: Bits = 0 "},
		{Config{Slots: 100, Ways: 2, Bits: 7}, "flower: Bits = 7 "},
		{Config{Slots: 100, Ways: 2, Bits: -8}, "flower: Bits = -8 "},
		{Config{Slots: 100, Ways: 2, Bits: 64}, "flower: Bits = 64 "},
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
		{math.MaxUint64, 0.9, 0.1, "flower: t = 18446744073709551615 is outside [1, "},
		{1 << 50, 1 - 1e-16, 1e-9,
			"flower: t = 1125899906842624 is outside [1, "},
		{1 << 39, 0.5, 1e-9, "flower: t = 549755813888 is outside [1, "}, // only 8 bits suffice
	} {
		c, err := Optimal(test.t, test.recall, test.fpr)
		assert.ErrorContains(t, err, test.want)
		assert.Zero(t, c)
	}
}

// TestLimits: the largest number of slots and the lowest rates are accepted.
func TestLimits(t *testing.T) {
	words, bad := Config{Slots: 2 * form.MaxFrameWords, Ways: 2, Bits: 32}.words()
	require.Nil(t, bad)
	require.EqualValues(t, form.MaxFrameWords, words)
	for _, bits := range []int{8, 16, 32} {
		c, err := Optimal(1000, 0.5, Config{Ways: 1, Bits: bits}.fpr())
		require.NoError(t, err)
		require.Equal(t, bits, c.Bits)
		require.Equal(t, 1, c.Ways)
	}
}
