package window

import (
	"fmt"
	"math"
	"time"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	planes    = 64
	maxParts  = 31 // Generations
	maxSpan   = 1 << 60
	maxK      = 64
	leastRate = 1e-18 // of a plane, which has 40 positions then
	leastPage = 4096  // lanes of one of several pages
	feeding   = 8     // keys of a page that are counted together where there are several pages
)

// layout is where a window's bits lie.
//
// A lane is a word, and has a bit of each plane: a plane is a Bloom filter whose bits are
// the lanes. Lanes are cut into pages. All positions of a key are in one page.
type layout struct {
	k     int    // positions of a key, an even number
	pages uint64 // at least 1
	lanes uint64 // in a page
}

func (c Config) withDefaults() Config {
	if c.Generations == 0 {
		c.Generations = 7
	}
	return c
}

func (c Config) text() string {
	return fmt.Sprintf("N = %d, P = %v, Span = %v, Renew = %v, Generations = %d", c.N, c.P, c.Span, c.Renew, c.Generations)
}

// check returns an error that names the field unless c, which has no defaults, is in range.
func (c Config) check() error {
	if c.N == 0 {
		return fmt.Errorf("window: N = 0 is not at least 1")
	}
	if err := form.CheckRate("window", "P", c.P); err != nil {
		return err
	}
	if c.Generations < 1 || c.Generations > maxParts {
		return fmt.Errorf("window: Generations = %d is outside [0, %d]", c.Generations, maxParts)
	}
	if c.Span != 0 && (c.Span < time.Duration(c.Generations)*time.Millisecond || c.Span >= maxSpan) {
		return fmt.Errorf("window: Span = %v is neither 0 nor from a millisecond for each of %d generations to 36 years", c.Span, c.Generations)
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
	return form.Window.Size(int(l.pages*l.lanes), form.Info{}), nil
}

// part returns Span/Generations, rounded up: as many parts as Generations are a Span at least.
func (c Config) part() int64 {
	if c.Span == 0 { // there is no clock
		return farthest
	}
	return (int64(c.Span) + int64(c.Generations) - 1) / int64(c.Generations)
}

// counts are numbers of planes.
type counts struct {
	spare int    // the most live planes that do not hold their share
	most  int    // the most of them for a Span after the clock steps back
	fulls int    // a plane is given up when so many after it hold their share
	lean  uint64 // the most planes after one that a renewal relies on; 0 without Renew
}

// counts returns how many live planes may not hold their share: those that end by time,
// Span/Generations after each other. With Renew they live that much longer. The others are fulls and
// the newest one. lean planes hold more than N/(Generations+1) keys: if all keys are so few, none is
// written again before a plane that has it ended Span/Generations ago.
func (c Config) counts() counts {
	spare, lean := c.Generations, 0
	if c.Renew {
		spare, lean = c.Generations+1, planes/(c.Generations+2)
	}
	fulls := planes - 1 - spare
	return counts{spare: spare, most: spare + fulls/2, fulls: fulls, lean: uint64(lean)}
}

// share returns how many keys a plane holds, and how many keys of a page are counted together. N keys
// fill at most those of the fulls planes that no renewal relied on. What pages have yet to count when
// a plane ends counts in the next one. There is room for that once. The only page counts exactly.
func (c Config) share(pages uint64) (share, feed uint64) {
	counts := c.counts()
	fulls := counts.fulls - int(counts.lean)
	if pages == 1 {
		share = uint64(math.Ceil(float64(c.N) / float64(fulls)))
		return share, share
	}
	return feeding * uint64(math.Ceil((float64(c.N)+float64((feeding-1)*pages))/float64(feeding*fulls))), feeding
}

// layout returns the layout for c, or an error if c is out of range or that is too large.
func (c Config) layout() (l layout, err error) {
	if err := c.check(); err != nil {
		return l, err
	}
	// With the fewest positions that need at most 8 % more memory than the best number, which
	// makes a third less of them. They come in pairs.
	p := max(c.P/planes, leastRate)
	ideal := -portable.Log(p) / math.Ln2
	for l.k = 2; perKey(l.k, p) > 1.08*ideal/math.Ln2; {
		l.k += 2
	}
	// Pages get more or less than their share of a plane's keys: Poisson's variance, relative to
	// the mean, is one over the keys of a page. Where the rate grows as the e-th power of the
	// load, its mean grows by e(e-1)/2 times that, to second order. Pages are so large that this
	// takes at most 1.6 % more memory.
	size := float64(leastPage)
	load := float64(l.k) / perKey(l.k, p)
	e := float64(l.k) * load / (portable.Exp(load) - 1)
	for (e-1)/2*perKey(l.k, p) > 0.016*size {
		size *= 2
	}
	// What few lanes need more: the share of them that a key of few keys hits varies, and its
	// k-th power is larger on average than the average's.
	const few = 8
	share, _ := c.share(1)
	pages, lanes := 1.0, math.Ceil(float64(share)*perKey(l.k, p))+few
	if lanes >= 2*size {
		p /= portable.Exp(max(0, e*(e-1)/2) * perKey(l.k, p) / size)
		pages = math.Floor(lanes / size)
		share, _ = c.share(uint64(pages))
		lanes = math.Ceil(float64(share) * perKey(l.k, p) / pages)
	}
	if !(pages*lanes <= form.MaxFrameWords) {
		return l, fmt.Errorf("window: N = %d, P = %v need %.3g bytes, more than %d", c.N, c.P, 8*lanes*pages, uint64(8*form.MaxFrameWords))
	}
	l.pages, l.lanes = uint64(pages), uint64(lanes)
	return l, nil
}

// perKey returns how many bits a Bloom filter of k hashes has for each key when
// its false-positive rate is p: (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / portable.LogOneMinus(portable.Exp(portable.Log(p)/float64(k)))
}
