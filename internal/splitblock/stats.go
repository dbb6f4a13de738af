package splitblock

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
)

// Stats returns the statistics of b; see blocked.Filter.Stats. size is the length of the binary
// form in bytes. Other goroutines may write to b atomically at the same time.
func (b *Blocks) Stats(size int64) bloom.Stats {
	var c Census
	c.Add(b.Words)
	return c.Stats(b.Lines, size)
}

// Census collects from blocks what Stats needs to know.
type Census struct {
	blocks [Bits + 1]uint64 // element i is the number of blocks with i ones
	// products is a sum with one term for each block: the product of the numbers of ones in its
	// eight lanes.
	products float64
}

// Add adds the blocks in words to c. Other goroutines may write to words atomically at the same
// time.
func (c *Census) Add(words []uint64) {
	for i := 0; i < len(words); i += each {
		ones, product := 0, 1.0
		for j := range each {
			w := atomic.LoadUint64(&words[i+j])
			low, high := bits.OnesCount32(uint32(w)), bits.OnesCount32(uint32(w>>32))
			ones += low + high
			product *= float64(low * high)
		}
		c.blocks[ones]++
		c.products += product
	}
}

// Stats returns the statistics of a filter that consists of the blocks that were added.
func (c *Census) Stats(lines int, size int64) bloom.Stats {
	s := bloom.Stats{K: 8 * lines, SizeBytes: size}
	if lines == 0 {
		return s
	}
	var blocks uint64
	var sum float64 // estimated number of lines in all blocks
	for ones, n := range c.blocks {
		if n == 0 { // speed
			continue
		}
		blocks += n
		s.OnesCount += uint64(ones) * n
		fill := min(float64(ones), Bits-0.5) / Bits
		sum += float64(n) * math.Log1p(-fill) / math.Log1p(-1.0/32)
	}
	s.M = blocks * Bits
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	s.ApproxCount = uint64(math.Round(sum / float64(lines)))
	// A lane with i bits set has a fill of i/32. Each product has eight factors, and 32^8 is 2^40.
	s.FPR = math.Pow(c.products/(1<<40)/float64(blocks), float64(lines))
	return s
}
