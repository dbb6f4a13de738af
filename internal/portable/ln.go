package portable

import (
	"math"
	"math/big"
	"sync/atomic"
)

// precision is the number of bits that Ln computes with. The hardest float64 arguments need 118
// bits (Lefèvre and Muller, Worst Cases for Correct Rounding of the Elementary Functions in Double
// Precision, 2001).
const precision = 192

// Ln returns the natural logarithm of x, correctly rounded to float64. The result of math.Log may
// be off by an ulp, in a direction that depends on the architecture. A filter could then be a word
// longer or shorter than Guava's.
func Ln(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) {
		return math.Log(x) // NaN or an infinity
	}
	if known := latest.Load(); known != nil && known.x == x {
		return known.ln
	}
	f, e := reduce(x)
	bigF := newBig(f)
	one := newBig(1)
	sum := bigAtanh2(newBig(0).Sub(bigF, one), newBig(0).Add(bigF, one))
	ln2 := bigAtanh2(one, newBig(3))
	sum.Add(sum, ln2.Mul(ln2, newBig(e)))
	r, _ := sum.Float64()
	latest.Store(&logarithm{x, r})
	return r
}

type logarithm struct{ x, ln float64 }

// latest is the last logarithm that Ln computed. Programs often make many small filters with the
// same rate, and Ln is by far the slowest step.
var latest atomic.Pointer[logarithm]

// bigAtanh2 returns 2 atanh(num/den) = ln((den+num)/(den-num)) by its power series. |num/den| must
// be at most 1/3.
func bigAtanh2(num, den *big.Float) *big.Float {
	z := newBig(0).Quo(num, den)
	z2 := newBig(0).Mul(z, z)
	power := newBig(0).Add(z, z)
	sum, term := newBig(0), newBig(0)
	for i := 1.0; power.Sign() != 0; i += 2 {
		term.Quo(power, newBig(i))
		if sum.Add(sum, term); term.MantExp(nil) < sum.MantExp(nil)-precision {
			break
		}
		power.Mul(power, z2)
	}
	return sum
}

func newBig(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
