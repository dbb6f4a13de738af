package portable

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLn compares Ln with an exponential of 300 bits. Ln(x) is rounded correctly if x lies between
// the exponentials of the midpoints on both sides of Ln(x).
func TestLn(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	xs := []float64{0.01, 0.5, 1, math.Nextafter(1, 0), math.Nextafter(1, 2),
		math.SmallestNonzeroFloat64, math.MaxFloat64, math.Sqrt2 / 2}
	for range 300 {
		xs = append(xs, math.Exp(-r.ExpFloat64()*10), r.Float64(), 1-r.Float64()*1e-6)
	}
	for _, x := range xs {
		y := Ln(x)
		require.Equal(t, y, Ln(x))
		if x == 1 {
			require.Zero(t, y)
			continue
		}
		for _, neighbour := range []float64{math.Inf(1), math.Inf(-1)} {
			mid := newBig(0).SetPrec(400).Add(new(big.Float).SetFloat64(y),
				new(big.Float).SetFloat64(math.Nextafter(y, neighbour)))
			mid.Quo(mid, big.NewFloat(2))
			cmp := bigExp(mid).Cmp(new(big.Float).SetFloat64(x))
			require.Equal(t, neighbour > 0, cmp > 0, "Ln(%v) = %v", x, y)
		}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		Ln(xs[0])
	}), "the latest one is not computed again")
	require.True(t, math.IsNaN(Ln(math.NaN())))
	require.True(t, math.IsNaN(Ln(-1)))
	require.Equal(t, math.Inf(-1), Ln(0))
}

// bigExp returns e^x to 300 bits for |x| < 2^11: it computes e^(x/2^30) by Taylor's series and
// squares that 30 times.
func bigExp(x *big.Float) *big.Float {
	const halvings = 30
	z := new(big.Float).SetPrec(400).SetMantExp(x, -halvings)
	sum, term := big.NewFloat(1).SetPrec(400), big.NewFloat(1).SetPrec(400)
	for i := 1.0; i < 40; i++ {
		term.Mul(term, z)
		term.Quo(term, big.NewFloat(i))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// TestAccuracy compares results with those of package math, which are right to an ulp or two.
func TestAccuracy(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	within := func(want, got, x float64) {
		require.InDelta(t, want, got, 1e-15*math.Abs(want), "x = %v", x)
	}
	for range 10_000 {
		x := math.Exp(40*r.Float64() - 20)
		within(math.Log(x), Log(x), x)
		within(-math.Expm1(-x), OneMinusExp(x), x)
		x = 10*r.Float64() - 5
		within(math.Exp(x), Exp(x), x)
		x = r.Float64()
		within(math.Log1p(-x), LogOneMinus(x), x)
		within(math.Log1p(-x*1e-9), LogOneMinus(x*1e-9), x)
		n := r.Uint64N(4)
		within(math.Pow(x, float64(n)), Power(x, n), x)
	}
	require.Zero(t, Log(1))
	require.Equal(t, math.Inf(-1), Log(0))
	require.Equal(t, math.Inf(-1), LogOneMinus(1))
	require.Zero(t, Exp(math.Inf(-1)))
	for x := -699.5; x < 709; x += 3.7 {
		require.InEpsilon(t, math.Exp(x), Exp(x), 1e-12, "x = %v", x)
	}
	require.Equal(t, 1.0, Exp(0))
	require.Equal(t, 1.0, Power(0, 0))
	require.Equal(t, 1.0, OneMinusExp(math.Inf(1)))
	require.InEpsilon(t, math.Pow(0.999, 5000), Power(0.999, 5000), 1e-12)
}

// TestEverywhere compares results with those of amd64, bit for bit.
func TestEverywhere(t *testing.T) {
	sum := fnv.New64()
	add := func(x float64) {
		require.NoError(t, binary.Write(sum, binary.LittleEndian, x))
	}
	for x := 1e-9; x < 1e9; x *= 1.003 {
		add(Log(x))
		add(OneMinusExp(x))
		add(Exp(min(x, 700)))
		add(Power(1/(1+x), 77))
		add(LogOneMinus(1 / (1 + x)))
	}
	require.Equal(t, uint64(0xdd38359c20260279), sum.Sum64())
}
