package testkit

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A StatSet is measured by Statistics.
type StatSet[H any] interface {
	AddHash(H) bool
	ContainsHash(H) bool
	FPR() float64
	ApproxCount() uint64
}

// Stat is a type to measure, and the theory of it after n keys.
type Stat[H any] struct {
	Name string
	Make func(n uint64, p float64) StatSet[H]
	// Excess may come on top of FPR.
	Excess func(s StatSet[H]) float64
	// Deviation is FPR's relative standard deviation over filters that are
	// equal but for their keys.
	Deviation func(s StatSet[H], n float64) float64
	// Count is the bias and the standard deviation of ApproxCount.
	Count func(s StatSet[H], n float64) (bias, sigma float64)
}

// OnesVariance returns the mean and the variance of the share of bins that are
// hit by so many balls a bin, the variance times the number of bins m. A bin is
// clear with probability (1-1/m)^(load m) = e^-load, two bins both are with
// (1-2/m)^(load m) = e^(-2 load) (1 - load/m), to first order in 1/m. (A key's k
// balls hit different bins, which matters no more than that.)
func OnesVariance(load float64) (mean, variance float64) {
	clear := math.Exp(-load)
	return 1 - clear, clear * (1 - (1+load)*clear)
}

const (
	statKeys   = 150_000
	statProbes = 100_000
	// About 800 comparisons are made, each of which would fail by chance once
	// in 150,000 times.
	StatZ = 4.5
)

// statKinds are digests of different keys of each kind.
func statKinds[H any](sum func([]byte) H) map[string][]H {
	rnd := rand.New(rand.NewPCG(1, 2))
	kinds := map[string][]H{}
	for i := range uint64(statKeys + statProbes) {
		random := make([]byte, 8+rnd.IntN(40))
		for i := range random {
			random[i] = byte(rnd.Uint32())
		}
		for kind, key := range map[string][]byte{
			"integers": binary.LittleEndian.AppendUint64(nil, i),
			"random":   random,
			// Long common prefixes, and numbers that differ in a digit.
			"URLs": fmt.Appendf(nil, "https://en.example.org/%d/%02d/search?q=bloom+filter&page=%d", i%25, i%12, i),
		} {
			kinds[kind] = append(kinds[kind], sum(key))
		}
	}
	return kinds
}

// Statistics measures false positives and ApproxCount at half, full and one
// and a half times the capacity.
func Statistics[H any](t *testing.T, sum func([]byte) H, sets ...Stat[H]) {
	if testing.Short() {
		t.Skip("takes seconds, and minutes in an emulator")
	}
	for kind, hs := range statKinds(sum) {
		for _, set := range sets {
			for _, n := range []int{1000, 10_000, 100_000} {
				for _, p := range []float64{0.1, 0.01, 0.001} {
					for _, load := range []float64{0.5, 1, 1.5} {
						for what, z := range set.measure(t, hs, n, p, load) {
							if math.Abs(z) > StatZ {
								t.Errorf("%s, %s, n = %d, p = %v, filled to %v: %.1f standard deviations off: %s", set.Name, kind, n, p, load, z, what)
							}
						}
					}
				}
			}
		}
	}
}

// measure returns how many standard deviations each figure is off. Given the bits, an absent
// key is a false positive with probability FPR, so that their number is binomial, and its
// square root has a standard deviation of at most 1/2.
func (set Stat[H]) measure(t *testing.T, hs []H, n int, p, load float64) map[string]float64 {
	s, keys := set.Make(uint64(n), p), hs[:int(load*float64(n))]
	for _, h := range keys {
		s.AddHash(h)
	}
	excess := set.Excess(s)
	count := func(hs []H) (found float64) {
		for _, h := range hs {
			if s.ContainsHash(h) {
				found++
			}
		}
		return found
	}
	require.EqualValues(t, len(keys), count(keys), "a key is missing")
	probes := hs[max(len(keys), len(hs)-statProbes):]
	num, found := float64(len(probes)), count(probes)
	root := func(x float64) float64 { return 2 * math.Sqrt(x+3.0/8) } // Anscombe
	off := map[string]float64{
		"fewer found than by FPR": min(0, root(found)-root(num*s.FPR())),
		"more found than by FPR":  max(0, root(found)-root(num*(s.FPR()+excess))),
	}
	if load == 1 {
		// A whole number of hashes costs up to 1 % at these p.
		asked := num * (1.01*p + excess)
		deviation := math.Hypot(math.Sqrt(asked), asked*set.Deviation(s, float64(n)))
		off["more found than asked for"] = max(0, (found-asked)/deviation)
	}
	bias, sigma := set.Count(s, float64(len(keys)))
	// One key for rounding, and for bits that double hashing sets twice.
	off["ApproxCount"] = max(0, math.Abs(float64(s.ApproxCount())-bias-float64(len(keys)))-1) / sigma
	return off
}
