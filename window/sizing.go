package window

import (
	"fmt"
	"math"
	"time"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	planes         = 64      // the bits of a lane
	maxGenerations = 31      // of Config
	maxSpan        = 1 << 60 // nanoseconds; 36 years
	maxK           = 64      // positions of a key in a saved filter; New makes 40 at most
	leastRate      = 1e-18   // the least rate of a plane that New makes, with 40 positions
	leastPage      = 4096    // lanes; the only page of a filter may have fewer
	pageFeed       = 8       // keys; the feed of one of several pages
)

// layout is where a window's bits lie: in lanes, which are cut into pages. See window.go for the
// words.
type layout struct {
	k     int    // positions of a key, an even number
	pages uint64 // at least 1
	lanes uint64 // in a page
}

// withDefaults returns c with the default where a zero field means that.
func (c Config) withDefaults() Config {
	if c.Generations == 0 {
		c.Generations = 7
	}
	return c
}

// text returns the fields of c that a file has. Two configurations with the same text are the same.
func (c Config) text() string {
	return fmt.Sprintf("N = %d, P = %v, Span = %v, Renew = %v, Generations = %d",
		c.N, c.P, c.Span, c.Renew, c.Generations)
}

// check returns an error that names the field unless c, which has no defaults, is in range.
func (c Config) check() error {
	if c.N == 0 {
		return fmt.Errorf("window: N = 0 is not at least 1")
	}
	if err := form.CheckRate("window", "P", c.P); err != nil {
		return err
	}
	if c.Generations < 1 || c.Generations > maxGenerations {
		return fmt.Errorf("window: Generations = %d is outside [0, %d]", c.Generations, maxGenerations)
	}
	tooShort := c.Span < time.Duration(c.Generations)*time.Millisecond
	if c.Span != 0 && (tooShort || c.Span >= maxSpan) {
		return fmt.Errorf(
			"window: Span = %v is neither 0 nor from a millisecond for each of %d generations to 36 years",
			c.Span, c.Generations)
	}
	return nil
}

// SizeBytes returns what [Filter.SizeBytes] of New(c) returns, without making the filter. It
// returns New's errors.
func (c Config) SizeBytes() (int64, error) {
	l, err := c.withDefaults().layout()
	if err != nil {
		return 0, err
	}
	return form.Window.Size(int(l.pages*l.lanes), form.Info{}), nil
}

// part returns Span/Generations in nanoseconds. It is rounded up, so that Generations parts last
// for a Span at least.
func (c Config) part() int64 {
	if c.Span == 0 { // there is no clock
		return farthest
	}
	return (int64(c.Span) + int64(c.Generations) - 1) / int64(c.Generations)
}

// counts are numbers of planes.
type counts struct {
	spare int    // the most partial planes while the clock runs evenly
	most  int    // the most partial planes for a Span after the clock steps back
	fulls int    // a plane is given up when so many full planes follow it
	lean  uint64 // with Renew, the most planes after one that a repeat relies on; otherwise 0
}

// counts returns the numbers of planes for c.
//
// Partial planes end a part after each other, so Generations of them live, and with Renew one more,
// because planes then live a part longer. That is spare. The newest plane and fulls others take the
// rest of the 64.
//
// After a step back, half of the places of full planes may be taken by partial ones. The other half
// holds N/2 keys.
//
// lean planes hold more than N/(Generations+1) keys. If no more different keys come, no key is
// written again until the plane that has it ended a part ago.
func (c Config) counts() counts {
	spare, lean := c.Generations, 0
	if c.Renew {
		spare, lean = c.Generations+1, planes/(c.Generations+2)
	}
	fulls := planes - 1 - spare
	return counts{spare: spare, most: spare + fulls/2, fulls: fulls, lean: uint64(lean)}
}

// share returns the share and the feed of a filter with so many pages.
//
// N keys must fit into fulls planes. With Renew a repeat may rely on lean planes that are given up
// first, so only fulls - lean planes count.
//
// Several pages collect keys, up to a feed less one in each, before they count them. The keys that
// they have collected when a plane ends are counted in the next plane. So the planes that hold N
// keys may have counted that many others, and there is room for them once. The only page of a
// small filter counts each key.
func (c Config) share(pages uint64) (share, feed uint64) {
	counts := c.counts()
	fulls := counts.fulls - int(counts.lean)
	if pages == 1 {
		share = uint64(math.Ceil(float64(c.N) / float64(fulls)))
		return share, share
	}
	keys := float64(c.N) + float64((pageFeed-1)*pages)
	return pageFeed * uint64(math.Ceil(keys/float64(pageFeed*fulls))), pageFeed
}

// layout returns the layout for c, or an error if c is out of range or that is too large.
func (c Config) layout() (l layout, err error) {
	if err := c.check(); err != nil {
		return l, err
	}
	// The best number of positions takes the least memory. A third fewer positions take 8 % more,
	// and a third less time. Take the fewest that take at most 8 % more. They come in pairs.
	p := max(c.P/planes, leastRate)
	ideal := -portable.Log(p) / math.Ln2
	for l.k = 2; perKey(l.k, p) > 1.08*ideal/math.Ln2; {
		l.k += 2
	}
	// The keys of a plane fall into pages at random, so that a page gets more or fewer than the
	// mean. The number has Poisson's distribution: its variance relative to the square of the mean
	// is one over the mean. If the rate grows as the e-th power of the load, its mean over all
	// pages is larger by e(e-1)/2 times that, to second order. Pages are large enough for this to
	// take at most 1.6 % more memory.
	size := float64(leastPage)
	load := float64(l.k) / perKey(l.k, p)
	e := float64(l.k) * load / (portable.Exp(load) - 1)
	for (e-1)/2*perKey(l.k, p) > 0.016*size {
		size *= 2
	}
	// A few keys set a share of the lanes that varies from filter to filter. The mean of its k-th
	// power is larger than the k-th power of its mean. So small filters need few more lanes.
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
		return l, fmt.Errorf("window: N = %d, P = %v need %.3g bytes, more than %d",
			c.N, c.P, 8*lanes*pages, uint64(8*form.MaxFrameWords))
	}
	l.pages, l.lanes = uint64(pages), uint64(lanes)
	return l, nil
}

// perKey returns how many bits a Bloom filter of k hashes needs for each key if its rate of false
// positives is p. It solves (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / portable.LogOneMinus(portable.Exp(portable.Log(p)/float64(k)))
}
