package flower

import (
	"math"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

// Optimal returns the Config of the smallest filter that finds a key with a probability of at least
// recall after t other keys were added. Even when all slots are full, its rate of false positives
// is at most fpr. At 1 % false positives and a t of a million, finding 90 % of the keys needs
// 5.2 MB, and finding 99 % needs 18.9 MB. Younger keys are more likely to be found, and older ones
// less likely.
//
// Optimal returns an error unless t >= 1, 0 < recall < 1 and 0 < fpr < 1. It also returns an error
// if fpr is too small for 32 bits, or if the filter would be larger than a tebibyte, or about 2 GiB
// on 32-bit platforms.
func Optimal(t uint64, recall, fpr float64) (Config, error) {
	if bad := checkOptimal(t, recall, fpr); bad != nil {
		return Config{}, bad.In("flower")
	}
	var best Config
	limit := uint64(maxBits) // a better filter has at most this many bits
	for _, bits := range []int{8, 16, 32} {
		for ways := 1; ways <= maxWays; ways++ {
			c := Config{Ways: ways, Bits: bits}
			if c.fpr() > fpr {
				break
			}
			c.Slots = limit / uint64(bits)
			if c.Slots < uint64(ways) || c.recall(t) < recall {
				continue
			}
			enough := c.Slots
			tooFew := uint64(ways - 1)
			for tooFew+1 < enough {
				c.Slots = tooFew + (enough-tooFew)/2
				if c.recall(t) < recall {
					tooFew = c.Slots
				} else {
					enough = c.Slots
				}
			}
			c.Slots = enough
			best = c
			limit = enough*uint64(bits) - 1
		}
	}
	return best, nil
}

func checkOptimal(t uint64, recall, fpr float64) *form.Param {
	if bad := form.CheckRate("recall", recall); bad != nil {
		return bad
	}
	if bad := form.CheckRate("fpr", fpr); bad != nil {
		return bad
	}
	if least := (Config{Bits: 32, Ways: 1}).fpr(); fpr < least {
		return form.NewParam("fpr", fpr, "below %v, the lowest rate of 32-bit fingerprints", least)
	}
	fits := func(t uint64) bool {
		for _, bits := range []int{8, 16, 32} {
			for ways := 1; ways <= maxWays; ways++ {
				c := Config{Slots: maxBits / uint64(bits), Ways: ways, Bits: bits}
				if c.fpr() <= fpr && c.recall(t) >= recall {
					return true
				}
			}
		}
		return false
	}
	if t > 0 && fits(t) {
		return nil
	}
	return form.NewParam("t", t, "outside [1, %d] at a recall of %v and a rate of %v",
		form.Largest(fits), recall, fpr)
}

// maxBits is the number of bits in the largest filter.
const maxBits = 64 * form.MaxFrameWords

// recall is like [Filter.Recall]. With n slots per way, a slot of the key still holds the key's
// fingerprint with probability (1-1/n)^t. Otherwise the slot holds another key's fingerprint, which
// differs with probability 1 - 1/(2^Bits-1). The key is missed if this happens to all of its slots.
func (c Config) recall(t uint64) float64 {
	if t == 0 {
		return 1
	}
	n := c.Slots / uint64(c.Ways)
	overwritten := portable.OneMinusExp(-float64(t) * portable.LogOneMinus(1/float64(n)))
	return 1 - portable.Power(overwritten*(1-c.like()), uint64(c.Ways))
}

// like returns the probability that the fingerprints of two keys are equal.
func (c Config) like() float64 { return 1 / (math.Ldexp(1, c.Bits) - 1) }

// fpr returns the rate of false positives when all slots are full.
func (c Config) fpr() float64 { return anyOf(c.like(), c.Ways) }

// anyOf returns the probability that at least one of n independent events with probability p
// happens: 1 - (1-p)^n.
func anyOf(p float64, n int) (sum float64) {
	for range n {
		sum += float64(p * (1 - sum))
	}
	return sum
}
