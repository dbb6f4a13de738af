package ln

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLn holds ln to 300 digits: the exponential of the two neighbouring
// midpoints must lie on either side of x.
func TestLn(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	xs := []float64{0.01, 0.5, 1, math.Nextafter(1, 0), math.Nextafter(1, 2), math.SmallestNonzeroFloat64, math.MaxFloat64, math.Sqrt2 / 2}
	for range 300 {
		xs = append(xs, math.Exp(-r.ExpFloat64()*10), r.Float64(), 1-r.Float64()*1e-6)
	}
	for _, x := range xs {
		y := Ln(x)
		if x == 1 {
			require.Zero(t, y)
			continue
		}
		for _, neighbour := range []float64{math.Inf(1), math.Inf(-1)} {
			mid := newBig(0).SetPrec(400).Add(new(big.Float).SetFloat64(y), new(big.Float).SetFloat64(math.Nextafter(y, neighbour)))
			mid.Quo(mid, big.NewFloat(2))
			cmp := bigExp(mid).Cmp(new(big.Float).SetFloat64(x))
			require.Equal(t, neighbour > 0, cmp > 0, "Ln(%v) = %v", x, y)
		}
	}
	require.True(t, math.IsNaN(Ln(math.NaN())))
	require.True(t, math.IsNaN(Ln(-1)))
	require.Equal(t, math.Inf(-1), Ln(0))
}

// bigExp is e^x to 300 bits: (Taylor of x/2^1024)^(2^k) for |x| < 2^11.
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
