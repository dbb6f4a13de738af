package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// TestExactRate: the rate is what was asked for, be the lines few or many.
func TestExactRate(t *testing.T) {
	const filters, asks = 40, 50_000
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() bloom.Hash { return bloom.NewHash(rnd.Uint64(), rnd.Uint64()) }
	for _, kind := range []string{"guava", "counting"} {
		of, ok := kindFor(kind)
		require.True(t, ok)
		for _, n := range []uint64{1, 2, 7, 100, 1000} {
			for _, p := range []float64{0.1, 0.01, 1e-3, 1e-4} {
				wrong := 0.0
				for range filters {
					f := bloom.Must(of.create(n, p)).(bloom.Set)
					for range n {
						f.AddHash(random())
					}
					for range asks {
						if f.ContainsHash(random()) {
							wrong++
						}
					}
				}
				const all = filters * asks
				// The model is right to some tenths, and filters differ among each other.
				require.Less(t, wrong, 1.25*p*all+4*math.Sqrt(p*all)+3*p*all/math.Sqrt(filters),
					"%s n=%d p=%v", kind, n, p)
			}
		}
	}
	// Many lines get the size that Guava gives them, for Java's filters to merge with.
	require.EqualValues(t, 1e6, roomFor(1e6, 1e-3))
	require.EqualValues(t, 1e6, roomFor(1e6, 0.3))
	require.EqualValues(t, 1, roomFor(0, 0.5))
}

// TestHelpOfSizes: the help of build says what its example takes.
func TestHelpOfSizes(t *testing.T) {
	bits := func(m uint64) float64 { return math.Round(float64(m) / 1000) }
	guava, exact, fast := bloom.Must(bloom.New(1000, 1e-6)),
		bloom.Must(bloom.New(roomFor(1000, 1e-6), 1e-6)), bloom.Must(blocked.New(1000, 1e-6))
	help := strings.Join(strings.Fields(read(t, "help/sizes.txt")), " ")
	require.Contains(t, help, fmt.Sprintf("take %v bits a line, where Guava takes %v and reports",
		bits(exact.M()), bits(guava.M())))
	require.Contains(t, help, fmt.Sprintf("--type blocked takes %v.", bits(fast.M())))
}
