package guava

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFPR compares the model of double hashing with its derivation, term by term. A fraction
// 2.5 s/(k m) of all keys has indexes that come round after s of them. Such a key finds
// its bits set with probability fill^s. Other keys have as many indexes as m has odd
// parts, or twice as many.
func TestFPR(t *testing.T) {
	for _, test := range []struct {
		m    uint64
		k    int
		odd  float64 // of m
		same float64 // multiples of H2 that bring that about
	}{
		{64, 1, 1, 1}, {1 << 30, 7, 1, 1}, {192, 7, 3, 2}, {320, 30, 5, 2}, {960, 10, 15, 2}, {64 * 1021, 255, 1021, 2},
	} {
		for _, fill := range []float64{0.125, 0.25, 0.5, 0.75, 1} {
			f, series := min(fill, 0.5), 0.0
			for s := 1.0; s < 100; s++ {
				series += 2.5 * s * math.Pow(f, s) / (float64(test.m) * float64(test.k))
			}
			few := test.same * (math.Pow(f, test.odd) + math.Pow(f, 2*test.odd)) / float64(test.m)
			require.InEpsilon(t, series+few, DoubleHashing(fill, test.m, test.k), 1e-12, "%+v, fill = %v", test, fill)
			ones := uint64(fill * float64(test.m))
			require.InEpsilon(t, max(series+few, math.Pow(fill, float64(test.k))), FPR(test.m, test.k, ones), 1e-12, "%+v, fill = %v", test, fill)
		}
		require.Zero(t, FPR(test.m, test.k, 0))
	}
}
