package flower

import (
	"fmt"
	"math"

	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/param"
)

// Optimal returns the configuration of the smallest filter that finds a key with
// probability recall after t other keys were added, and that reports a key which was
// never added with a probability of at most fpr, even when all slots are written.
//
// It returns an error unless t >= 1, 0 < recall < 1 and 0 < fpr < 1. It also returns
// one if fpr is too small for 32 bits, or if the filter would take more than a
// tebibyte.
func Optimal(t uint64, recall, fpr float64) (Config, error) {
	if t < 1 {
		return Config{}, fmt.Errorf("flower: t = 0 is not at least 1")
	}
	if err := param.Rate("flower", "recall", recall); err != nil {
		return Config{}, err
	}
	if err := param.Rate("flower", "fpr", fpr); err != nil {
		return Config{}, err
	}
	var best Config
	smallest := math.Inf(1)
	for _, bits := range []int{8, 16, 32} {
		for ways := 1; ways <= maxWays; ways++ {
			// Two fingerprints, of 2^b - 1 kinds, are the same: a little more
			// often than Recall's formula has it.
			same := 1 / (math.Ldexp(1, bits) - 1)
			if -math.Expm1(float64(ways)*math.Log1p(-same)) > fpr {
				break
			}
			slots := slotsFor(float64(t), recall, float64(ways), uint(bits))
			if size := slots * float64(bits); size < smallest {
				smallest = size
				best = Config{Ways: ways, Bits: bits}
				if slots < math.MaxInt64 {
					best.Slots = uint64(slots)
				}
			}
		}
	}
	if best.Ways == 0 {
		return Config{}, fmt.Errorf("flower: fpr = %v is too small for 32 bits", fpr)
	}
	if _, err := best.words(); err != nil {
		return Config{}, fmt.Errorf("flower: t = %d, recall = %v, fpr = %v need %.3g bytes, more than %d",
			t, recall, fpr, smallest/8, uint64(8*frame.MaxWords))
	}
	return best, nil
}

// slotsFor returns the smallest number of slots with which recall(t) is at
// least want.
func slotsFor(t, want, ways float64, bits uint) float64 {
	// Recall's formula, solved for q and then for s.
	same := math.Ldexp(1, -int(bits))
	yes := -math.Expm1(math.Log1p(-want) / ways)
	q := (yes - same) / (1 - same)
	if q <= 0 {
		return 1 // chance is enough
	}
	slots := max(1, math.Ceil(-1/math.Expm1(math.Log(q)/(ways*t))))
	for slots < 1<<53 && recall(t, slots, ways, bits) < want { // rounding
		slots++
	}
	return slots
}

// recall is [Filter.Recall].
func recall(t, slots, ways float64, bits uint) float64 {
	q := 1.0
	if t > 0 {
		q = math.Exp(ways * t * math.Log1p(-1/slots))
	}
	yes := q + (1-q)*math.Ldexp(1, -int(bits))
	return -math.Expm1(ways * math.Log1p(-yes))
}
