package guava

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLocate: the index is x, without its sign, modulo the number of bits.
func TestLocate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	sizes := []uint64{1, 2, 3, 5, 7, 63, 64, 65, 1<<30 - 1, 1 << 30, 1<<30 + 1, 1<<31 - 2, 1<<31 - 1, 1<<37 - 1, 1 << 37}
	for range 300 {
		sizes = append(sizes, 1+rnd.Uint64()>>rnd.UintN(31)>>33)
	}
	for _, words := range sizes {
		if words > math.MaxInt {
			continue
		}
		bits := 64 * words
		xs := []uint64{0, 1, 63, 64, bits - 1, bits, bits + 1, math.MaxInt64, 1 << 63, math.MaxUint64}
		for range 1000 {
			multiple := rnd.Uint64() >> 1 / bits * bits
			xs = append(xs, rnd.Uint64(), multiple, multiple-1, multiple+1, multiple|1<<63)
		}
		for _, x := range xs {
			word, pos := Locate(x, words, Reciprocal(int(words)))
			testkit.Equal(t, x<<1>>1%bits, 64*word+pos, "%#x modulo 64*%d", x, words)
			testkit.Equal(t, x%64, pos, "%#x", x)
		}
	}
}

// TestEstimates compares the rates and counts with their formulas.
func TestEstimates(t *testing.T) {
	for _, m := range []uint64{64, 960, 1 << 20, 64 * 12345} {
		for _, k := range []int{1, 2, 7, 10, 40, 255} {
			require.Zero(t, ApproxCount(m, k, 0))
			require.Zero(t, Rate(m, k, 0))
			for _, load := range []float64{0.01, 0.3, 1, 3} {
				n := uint64(math.Ceil(load * float64(m) / float64(k)))
				fill := -math.Expm1(-float64(k) * float64(n) / float64(m))
				rate := math.Pow(fill, float64(k))
				if rate < math.SmallestNonzeroFloat64*1e20 {
					continue
				}
				require.InEpsilon(t, rate, Rate(m, k, n), 1e-11, "%d %d %d", m, k, n)
				require.InEpsilon(t, rate+2*DoubleHashing(fill, m, k), Most(m, k, n), 1e-11)

				ones := uint64(fill * float64(m))
				count := -math.Log1p(-float64(ones)/float64(m)) * float64(m) / float64(k)
				require.InDelta(t, count, ApproxCount(m, k, ones), 0.51)
			}
			full := math.Log(2*float64(m)) * float64(m) / float64(k) // as if half a bit were clear
			require.InDelta(t, full, ApproxCount(m, k, m), 0.51+1e-9*full)
		}
	}
}
