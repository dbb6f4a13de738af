package blocked

import (
	"math"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/portable"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

const minRate = limits.BlockedRate

// Size returns the parameters of New's filter for n keys at rate p. It returns an error as New
// does.
func Size(n uint64, p float64) (m uint64, lines int, err error) {
	if !(p >= minRate && p < 1) {
		return 0, 0, form.NewParam("p", p, "outside [%v, 1)", minRate).In("blocked")
	}
	fits := func(n uint64) bool {
		blocks, _ := blocksFor(n, p)
		return blocks <= splitblock.Max
	}
	if bad := form.CheckKeys("n", n, p, fits); bad != nil {
		if n == 0 {
			bad.Advice = "package growing needs no n"
		}
		return 0, 0, bad.In("blocked")
	}
	blocks, lines := blocksFor(n, p)
	return blocks * splitblock.Bits, lines, nil
}

// blocksFor returns the number of blocks in the filter that New makes, and the number of lines of
// each key.
func blocksFor(n uint64, p float64) (blocks uint64, lines int) {
	var need [splitblock.MaxLines + 1]uint64
	least := uint64(math.MaxUint64)
	for l := 1; l <= splitblock.MaxLines; l++ {
		need[l] = fewest(n, p, l)
		least = min(least, need[l])
	}
	lines = 1
	for float64(need[lines]) > 1.1*float64(least) {
		lines++
	}
	return need[lines], lines
}

// fewest returns the smallest number of blocks for which the rate is at most p.
func fewest(n uint64, p float64, lines int) uint64 {
	excess := func(blocks uint64) float64 { return portable.Log(rate(n, blocks, lines) / p) }
	// With few blocks, each has at least many lines, which is too many. With 2048 lines in each
	// block, the rate is 1 as a float64. With 160, an absent line is found with a probability of at
	// least 1 - 8 e^(-160/32), and an absent key of four lines with 0.8.
	many := uint64(2048)
	if p < 0.5 {
		many = 160
	}
	few := n / many * uint64(lines)
	enough := max(1, 2*few)
	over, under := -portable.Log(p), excess(enough)
	for under > 0 {
		few, over = enough, under
		if enough *= 2; enough > 1<<62 {
			return math.MaxUint64
		}
		under = excess(enough)
	}
	// False position, in the Illinois variant, takes far fewer steps than bisection.
	for enough-few > 1 {
		mid := few + 1 + uint64(float64(enough-few-2)*over/(over-under))
		if e := excess(mid); e > 0 {
			few, over, under = mid, e, under/2
		} else {
			enough, under, over = mid, e, over/2
		}
	}
	return enough
}

// FalsePositiveRate returns the probability that the filter of [NewSize] with m bits and the given
// number of lines, holding n keys, reports a key that was never added. It is 1 if lines is not from
// 1 to 4, and for m = 0 and n > 0.
func FalsePositiveRate(m uint64, lines int, n uint64) float64 {
	blocks := m/splitblock.Bits + min(1, m%splitblock.Bits) // as NewSize rounds m
	switch {
	case lines < 1 || lines > splitblock.MaxLines:
		return 1
	case n == 0:
		return 0
	case float64(n)*float64(lines) >= 2048*float64(blocks): // or no blocks
		return 1 // as a float64
	}
	return max(0, min(rate(n, blocks, lines), 1))
}

// rate returns the false-positive rate of a filter of n keys, for the given number of blocks and of
// lines for each key. The lines of an absent key are independent, even in the same block.
func rate(n, blocks uint64, lines int) float64 {
	mean := float64(n) * float64(lines) / float64(blocks)
	e, q := blockRates(mean, lines), 1/float64(blocks)
	// found returns the probability that the bits of a key's last lines are set. left is the number
	// of these lines, and others that of the blocks in which the lines before them lie. The first
	// of the last lines lies in a new block, and t of them, with the first, share that block.
	var found func(left, others int) float64
	found = func(left, others int) (sum float64) {
		if left == 0 {
			return 1
		}
		ways, fraction := 1.0, 1-float64(float64(others)*q)
		for t := 1; t <= left; t++ {
			sum += float64(ways * fraction * e[t] * found(left-t, others+1))
			ways *= float64(left-t) / float64(t)
			fraction *= q
		}
		return sum
	}
	return found(lines, 0)
}

// coefficients are those of inclusion and exclusion. If t bits of a word are picked independently,
// the probability that all are set is the sum over d of coefficients[t][d] times the probability
// that d given bits are clear. The recurrence adds one pick, which is one of the d given bits or
// another bit.
var coefficients = func() (all [splitblock.MaxLines + 1][splitblock.MaxLines + 1]float64) {
	all[0][0] = 1
	for t := 1; t <= splitblock.MaxLines; t++ {
		all[t][0] = 1
		for d := 1; d <= t; d++ {
			all[t][d] = (float64(32-d)*all[t-1][d] - float64(33-d)*all[t-1][d-1]) / 32 // exactly
		}
	}
	return all
}()

// blockRates returns, for each t from 1 to lines, the probability that t lines of an absent key,
// all in one block, find their bits set. The number j of lines that were added to a block has a
// Poisson distribution (Putze, Sanders and Singler, equation 3).
func blockRates(mean float64, lines int) (e [splitblock.MaxLines + 1]float64) {
	// Terms further than this from the mean are too small to change the sum.
	spread := 8*math.Sqrt(mean) + 20
	j := math.Floor(max(0, mean-spread))
	// unset[d] is the probability that j lines leave d given bits of a word clear.
	var unset, step [splitblock.MaxLines + 1]float64
	for d := range unset {
		step[d] = 1 - float64(d)/32
		unset[d] = portable.Power(step[d], uint64(j))
	}
	poisson, total := 1.0, 0.0 // in proportion to the probabilities
	for ; j <= mean+spread; j++ {
		for t := 1; t <= lines; t++ {
			set := 1.0
			for d := 1; d <= t; d++ {
				set += float64(coefficients[t][d] * unset[d])
			}
			square := set * set
			e[t] += float64(poisson * square * square * square * square)
		}
		total += poisson
		poisson *= mean / (j + 1)
		for d := 1; d <= lines; d++ {
			unset[d] *= step[d]
		}
	}
	for t := range e {
		e[t] /= total
	}
	// All eight bits of a line are computed from 32 bits of the digest, which a line of an absent
	// key may share with a line that was added.
	e[1] += mean / (1 << 32)
	return e
}
