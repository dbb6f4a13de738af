package window

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	defaultGenerations = 15
	maxGenerations     = 63
	maxK               = 254
	minLanes           = 8192  // in a block, if there are several
	leastRate          = 1e-12 // of a generation; below it look-alikes are too many
)

// layout is where a window's bits lie.
//
// A position is a lane of 1<<laneBits bits, the smallest lane that holds the live
// generations: generation g has bit g mod the lane's width. Every block has the
// same number of lanes, which fill whole words.
type layout struct {
	k          int // positions of a key, an even number
	blockCount uint64
	lanes      uint64 // in a block
	laneBits   uint
}

// words returns the number of words in a block.
func (l *layout) words() uint64 { return l.lanes >> ((6 - l.laneBits) & 63) }

func (c Config) withDefaults() Config {
	if c.Generations == 0 {
		c.Generations = defaultGenerations
	}
	return c
}

// check returns an error that names the field unless c, which has no defaults, is in range.
func (c Config) check() error {
	if c.Capacity == 0 {
		return fmt.Errorf("window: Capacity = 0 is not at least 1")
	}
	if err := form.CheckRate("window", "FPR", c.FPR); err != nil {
		return err
	}
	if c.Generations < 1 || c.Generations > maxGenerations {
		return fmt.Errorf("window: Generations = %d is outside [0, %d]", c.Generations, maxGenerations)
	}
	if c.Span < time.Duration(c.Generations)*time.Millisecond {
		return fmt.Errorf("window: Span = %v is less than a millisecond for each of %d generations", c.Span, c.Generations)
	}
	return nil
}

// SizeBytes returns what [Filter.SizeBytes] of New(c) would be, without making it. It
// returns New's errors.
func (c Config) SizeBytes() (int64, error) {
	l, err := c.withDefaults().layout()
	if err != nil {
		return 0, err
	}
	return form.Window.Size(int(l.blockCount*l.words()), form.Info{}), nil
}

// layout returns the layout for c, or an error if c is out of range or that is too large.
func (c Config) layout() (layout, error) {
	if err := c.check(); err != nil {
		return layout{}, err
	}
	l := layout{laneBits: laneBits(uint64(c.Generations))}
	k, blocks, lanes := size(float64(c.Capacity)/float64(c.Generations), max(c.FPR/float64(c.Generations+1), leastRate))
	perWord := float64(uint64(64) >> l.laneBits)
	lanes = math.Ceil(lanes/perWord) * perWord
	if words := blocks * lanes / perWord; !(words <= form.MaxFrameWords) {
		return l, fmt.Errorf("window: Capacity = %d, FPR = %v need %.3g bytes, more than %d",
			c.Capacity, c.FPR, 8*words, uint64(8*form.MaxFrameWords))
	}
	l.k, l.blockCount, l.lanes = k, uint64(blocks), uint64(lanes)
	return l, nil
}

// laneBits returns the logarithm of the smallest lane of at least 8 bits that
// holds a bit for each live generation.
func laneBits(generations uint64) uint { return uint(max(3, bits.Len64(generations))) }

// size returns the number of hashes for n keys in a generation of false-positive
// rate p, how many blocks hold it, and of how many lanes each.
func size(n, p float64) (k int, blocks, lanes float64) {
	// With the fewest hashes that need at most 5 % more memory than the best
	// number, which makes a fifth less of them. They come in pairs.
	ideal := -portable.Log(p) / math.Ln2
	for k = 2; k < maxK && float64(k) < ideal && perKey(k, p) > 1.05*ideal/math.Ln2; {
		k += 2
	}
	n = math.Ceil(n)
	blocks = 1
	// What few lanes need more: the share of them that a key of few keys hits varies,
	// and its k-th power is larger on average than the average's.
	const few = 8
	need := func(p float64) float64 { return float64(n*perKey(k, p)) + few }
	for lanes = need(p); lanes < 2*minLanes && need(apart(k, n, lanes, p)) > lanes; {
		lanes++
	}
	if lanes >= 2*minLanes {
		p = apart(k, minLanes/perKey(k, p), minLanes, p)
		// Blocks get more or less than their share of the keys: Poisson's
		// variance, relative to the mean, is one over the keys of a block.
		// Where the rate grows as the e-th power of the load, its mean grows
		// by e(e-1)/2 times that, to second order.
		fill := portable.Exp(portable.Log(p) / float64(k))
		e := -float64(k) * portable.LogOneMinus(fill) * (1 - fill) / fill
		p /= portable.Exp(max(0, e*(e-1)/2) * perKey(k, p) / minLanes)
		lanes = n * perKey(k, p)
		blocks = math.Floor(lanes / minLanes)
	}
	return k, blocks, math.Ceil(max(lanes/blocks, 64))
}

// apart returns the rate that n keys in lanes must have by chance alone, so that their rate
// is p although keys look alike. It must happen to both of a key's sequences.
func apart(k int, n, lanes, p float64) float64 {
	if k < 14 { // rates from 1e-6 on: chance is far likelier
		return p
	}
	byChance := max(0, 1-alike(k, n, lanes)/math.Sqrt(p))
	return p * byChance * byChance
}

// alike returns the probability that one of an absent key's two sequences of k/2 positions is
// found because it looks like one of n keys' sequences. There are some lanes^2 sequences,
// however long they are. So one may be nearly another, or nearly a part of another, with the
// rest of its positions set by chance. The formula fits measurements for k from 16 to 40
// and lanes with 0.28 to 0.5 of them set, and is at most 2.5 times too large.
func alike(k int, n, lanes float64) float64 {
	return 400 * n / (float64(k*k*k) * lanes * lanes) * portable.Exp(5*float64(k)*n/lanes)
}

// perKey returns how many bits a Bloom filter of k hashes has for each key when
// its false-positive rate is p: (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / portable.LogOneMinus(portable.Exp(portable.Log(p)/float64(k)))
}
