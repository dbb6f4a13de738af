package blocked

import (
	"fmt"
	"math"

	"github.com/seed79a3ff49/bloom/internal/form"
)

// maxLines is the largest number of cache lines in which a key has bits.
const maxLines = 4

const (
	// minRate is what four lines reach with 18 % more memory than a classic filter.
	// Each further factor of ten costs more than the one before.
	minRate = 1e-12

	// maxBlocks is a tebibyte, the largest array in a frame.
	maxBlocks = min(1<<35, math.MaxInt/blockBytes)
)

// Size returns the parameters of New's filter for n keys at rate p, without making it. It
// returns an error where New does.
func Size(n uint64, p float64) (m uint64, lines int, err error) {
	blocks, lines, err := size(max(n, 1), p)
	return blocks * blockBits, lines, err
}

// size returns the number of blocks and of lines for n keys at rate p: the fewest
// lines that take at most 10 % more blocks than the best number of lines.
func size(n uint64, p float64) (blocks uint64, lines int, err error) {
	if err := form.CheckRate("blocked", "p", p); err != nil {
		return 0, 0, err
	}
	if p < minRate {
		return 0, 0, fmt.Errorf("blocked: p = %v is below %v: use bloom.New", p, minRate)
	}
	var need [maxLines + 1]uint64
	least := uint64(math.MaxUint64)
	for l := 1; l <= maxLines; l++ {
		need[l] = fewest(n, p, l)
		least = min(least, need[l])
	}
	for lines = 1; float64(need[lines]) > 1.1*float64(least); lines++ {
	}
	if need[lines] > maxBlocks {
		return 0, 0, fmt.Errorf("blocked: n = %d, p = %v need %d blocks of %d bytes, more than %d", n, p, need[lines], blockBytes, uint64(maxBlocks))
	}
	return need[lines], lines, nil
}

// fewest returns the smallest number of blocks with which rate is at most p.
func fewest(n uint64, p float64, lines int) uint64 {
	excess := func(blocks uint64) float64 { return math.Log(rate(n, blocks, lines) / p) }
	// With 2048 lines in every block, each bit is set, as far as a float64 knows.
	few := n / 2048 * uint64(lines)
	enough := max(1, 2*few)
	over, under := -math.Log(p), excess(enough)
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

// rate returns the false-positive rate of n keys with so many lines each in so
// many blocks. An absent key picks its lines independently of each other, also
// those that fall into the same block. The sum is over the ways in which they do.
func rate(n, blocks uint64, lines int) float64 {
	mean := float64(n) * float64(lines) / float64(blocks)
	q := 1 / float64(blocks)
	e := blockRates(mean, lines)
	switch lines {
	case 1:
		return e[1]
	case 2:
		return (1-q)*e[1]*e[1] + q*e[2]
	case 3:
		return (1-q)*(1-2*q)*e[1]*e[1]*e[1] + 3*q*(1-q)*e[2]*e[1] + q*q*e[3]
	default:
		return (1-q)*(1-2*q)*(1-3*q)*e[1]*e[1]*e[1]*e[1] + 6*q*(1-q)*(1-2*q)*e[2]*e[1]*e[1] +
			3*q*q*(1-q)*e[2]*e[2] + 4*q*q*(1-q)*e[3]*e[1] + q*q*q*e[4]
	}
}

// blockRates returns, for t from 1 to lines, the probability that t lines of an
// absent key which fall into one block find their bits set there. A block holds a
// Poisson-distributed number j of lines (Putze, Sanders and Singler, equation 3).
func blockRates(mean float64, lines int) (e [maxLines + 1]float64) {
	// Terms further than this from the mean add nothing that counts.
	spread := 8*math.Sqrt(mean) + 20
	j := math.Floor(max(0, mean-spread))
	lgamma, _ := math.Lgamma(j + 1)
	poisson := math.Exp(j*math.Log(mean) - mean - lgamma)
	// clear[d] is the probability that j lines leave d given bits of a word clear.
	var clear, step [maxLines + 1]float64
	for d := range clear {
		step[d] = 1 - float64(d)/32
		clear[d] = math.Pow(step[d], j)
	}
	for ; j <= mean+spread; j++ {
		// t bits of a word, picked independently, are different ones or not.
		// Inclusion and exclusion gives the probability that all are set.
		set := [maxLines + 1]float64{
			1: 1 - clear[1],
			2: 1 - 2*clear[1] + (clear[1]+31*clear[2])/32,
		}
		if lines > 2 {
			two := (clear[1] + 31*clear[2]) / 32
			three := (clear[1] + 3*31*clear[2] + 31*30*clear[3]) / (32 * 32)
			four := (clear[1] + 7*31*clear[2] + 6*31*30*clear[3] + 31*30*29*clear[4]) / (32 * 32 * 32)
			set[3] = 1 - 3*clear[1] + 3*two - three
			set[4] = 1 - 4*clear[1] + 6*two - 4*three + four
		}
		for t := 1; t <= lines; t++ {
			square := set[t] * set[t]
			e[t] += poisson * square * square * square * square
		}
		poisson *= mean / (j + 1)
		for d := range clear {
			clear[d] *= step[d]
		}
	}
	// A line of an absent key may also have the 32 bits of hash of one that was
	// added, from which all eight bits come.
	e[1] += mean / (1 << 32)
	return e
}
