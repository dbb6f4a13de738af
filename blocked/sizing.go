package blocked

import (
	"math"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/portable"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

const minRate = limits.BlockedRate

// Size returns the parameters of the filter that New(n, p) returns. It returns the same errors as
// New.
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

// blocksFor returns the fewest lines for which the memory is within 10 % of the optimum, and the
// number of blocks that they need.
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

// fewest returns the smallest number of blocks for which the rate is at most p, or math.MaxUint64
// if the search would go beyond 2^62 blocks.
func fewest(n uint64, p float64, lines int) uint64 {
	excess := func(blocks uint64) float64 { return portable.Log(rate(n, blocks, lines) / p) }
	// The search starts at a number of blocks for which the rate is certainly above p. With 2048
	// lines in each block, the rate is 1 as a float64. With 160, an absent line is found with a
	// probability of at least 1 - 8 e^(-160/32) = 0.946, and four such lines with 0.8.
	many := uint64(2048)
	if p < 0.5 { // speed
		many = 160 // speed
	}
	few := n / many * uint64(lines)
	enough := max(1, 2*few)
	over, under := -portable.Log(p), excess(enough)
	for under > 0 {
		few, over = enough, under // speed
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

// FalsePositiveRate estimates the probability that a filter with n keys, made by [NewSize](m,
// lines), reports an absent key as present. It is 1 if lines is not 1 to 4, or if m = 0 and n > 0.
func FalsePositiveRate(m uint64, lines int, n uint64) float64 {
	blocks := m/splitblock.Bits + min(1, m%splitblock.Bits) // rounded up, as in NewSize
	switch {
	case lines < 1 || lines > splitblock.MaxLines:
		return 1
	case n == 0:
		return 0
	case float64(n)*float64(lines) >= 2048*float64(blocks): // true if blocks is 0
		return 1 // the rate rounds to 1
	}
	return max(0, min(rate(n, blocks, lines), 1))
}

// rate takes into account that several lines of a key may lie in the same block.
func rate(n, blocks uint64, lines int) float64 {
	mean := float64(n) * float64(lines) / float64(blocks)
	e, q := blockRates(mean, lines), 1/float64(blocks)
	// found returns the probability that all bits of a key's remaining lines are set. left is the
	// number of remaining lines, and others is the number of blocks with earlier lines. In the
	// loop, the next line lies in a new block, together with t-1 later lines.
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

// coefficients has the coefficients of an inclusion-exclusion formula. If t bits of a word are
// chosen independently, the probability that all are set is the sum over d of coefficients[t][d]
// times the probability that d given bits are clear. The recurrence distinguishes whether the t-th
// bit is one of the d given bits.
var coefficients = func() (all [splitblock.MaxLines + 1][splitblock.MaxLines + 1]float64) {
	all[0][0] = 1
	for t := 1; t <= splitblock.MaxLines; t++ {
		all[t][0] = 1
		for d := 1; d <= t; d++ {
			all[t][d] = (float64(32-d)*all[t-1][d] - float64(33-d)*all[t-1][d-1]) / 32 // exact
		}
	}
	return all
}()

// blockRates returns, in e[t], the probability that all bits of t lines in one block are set. The
// number j of lines that were added to a block has a Poisson distribution with the given mean
// (Putze, Sanders and Singler, equation 3).
func blockRates(mean float64, lines int) (e [splitblock.MaxLines + 1]float64) {
	// Terms further than this from the mean hardly change the sum.
	spread := float64(8*math.Sqrt(mean)) + 20
	j := math.Floor(max(0, mean-spread))
	// unset[d] is the probability that d given bits of a word are clear after j lines.
	var unset, step [splitblock.MaxLines + 1]float64
	for d := range unset {
		step[d] = 1 - float64(d)/32
		unset[d] = portable.Power(step[d], uint64(j))
	}
	// poisson is proportional to the probability of j, and total is the sum of poisson so far.
	poisson, total := 1.0, 0.0
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
	// A line's eight bits depend on only 32 bits of the digest. An absent line may have the same 32
	// bits as a line that was added.
	e[1] += mean / (1 << 32)
	return e
}
