// Package portable provides arithmetic that gives the same results on every architecture. The sizes
// of filters and the numbers in files depend on it.
//
// Functions of package math may be implemented in assembly, and compilers may fuse a multiplication
// with an addition. Both can change the last bits of a result. Go does not fuse a product that is
// explicitly converted to float64, so this code converts every product that it adds.
package portable

import "math"

// Log returns the natural logarithm of x to within two ulps. x must be finite and not negative. See
// also [Ln].
func Log(x float64) float64 {
	if x == 0 {
		return math.Inf(-1)
	}
	f, e := reduce(x)
	return atanh2((f-1)/(f+1)) + float64(e*math.Ln2)
}

// LogOneMinus returns the natural logarithm of 1 - x for 0 <= x <= 1.
func LogOneMinus(x float64) float64 {
	if x > 0.25 {
		return Log(1 - x)
	}
	return atanh2(-x / (2 - x))
}

// atanh2 returns 2 atanh(z) = ln((1+z)/(1-z)) for |z| < 0.172.
func atanh2(z float64) float64 {
	sum := 0.0
	for i := 23.0; i > 0; i -= 2 { // 1 + z^2/3 + z^4/5 + ..., from the last term
		sum = 1/i + float64(sum*z*z)
	}
	return float64(2 * z * sum)
}

// reduce returns f in [sqrt(1/2), sqrt(2)) and e such that x = f * 2^e. For all x near 1, e is 0,
// so the two terms of ln f + e ln 2 cannot cancel.
func reduce(x float64) (f, e float64) {
	f, n := math.Frexp(x)
	if f < math.Sqrt2/2 {
		f, n = 2*f, n-1
	}
	return f, float64(n)
}

// Exp returns e^x for -700 <= x < 700, and 0 for x < -700. For |x| <= 1, its relative error is a
// few times 1e-16. Beyond that, the error grows in proportion to |x|.
func Exp(x float64) float64 {
	if x < -700 {
		return 0
	}
	n := math.Floor(x/math.Ln2 + 0.5)
	r := x - float64(n*math.Ln2)
	sum := 1.0
	for i := 16.0; i > 0; i-- { // 1 + r + r^2/2 + r^3/6 + ..., from the last term
		sum = 1 + float64(sum*r/i)
	}
	return math.Ldexp(sum, int(n))
}

// OneMinusExp returns 1 - e^-x for x >= 0.
func OneMinusExp(x float64) float64 {
	if !(x < 64) {
		return 1
	}
	halvings := 0
	for ; x > 1.0/8; x /= 2 {
		halvings++
	}
	sum := 1.0
	for i := 13.0; i > 1; i-- { // x - x^2/2 + x^3/6 - ..., from the last term
		sum = 1 - float64(sum*x/i)
	}
	y := float64(sum * x)
	for range halvings { // 1 - e^-2x = y (2 - y)
		y = float64(y * (2 - y))
	}
	return y
}

func Power(x float64, n uint64) float64 {
	result := 1.0
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result *= x
		}
		x *= x
	}
	return float64(result)
}
