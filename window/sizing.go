package window

import (
	"fmt"
	"math"
	"time"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	planes         = 64 // number of bits in a lane
	maxGenerations = 31
	maxSpan        = 1 << 60 // in nanoseconds; 36 years
	maxK           = 64      // the largest k in a file; New chooses at most 38
	leastRate      = 1e-18   // lower rates count as this one, which needs 38 positions

	leastPage = limits.WindowPage
	pageFeed  = limits.WindowFeed // the feed of a page, if there are several pages
)

// layout is the arrangement of a window's lanes in pages. The terms are explained in window.go.
type layout struct {
	k     int    // number of positions of a key; even
	pages uint64 // at least 1
	lanes uint64 // number of lanes in each page
}

func (c Config) withDefaults() Config {
	if c.Generations == 0 {
		c.Generations = 7
	}
	return c
}

// text returns the fields of c, except Now, which no file has.
func (c Config) text() string {
	return fmt.Sprintf("N = %d, P = %v, Span = %v, Renew = %v, Generations = %d",
		c.N, c.P, c.Span, c.Renew, c.Generations)
}

// check checks P, Generations and Span. Unlike New, it does not accept 0 Generations.
func (c Config) check() *form.Param {
	if bad := form.CheckRate("P", c.P); bad != nil {
		return bad
	}
	if c.Generations < 1 || c.Generations > maxGenerations {
		return form.NewParam("Generations", c.Generations, "outside [0, %d]", maxGenerations)
	}
	shortest := time.Duration(c.Generations) * time.Millisecond
	if c.Span != 0 && (c.Span < shortest || c.Span >= maxSpan) {
		bad := form.NewParam("Span", c.Span, "outside [%v, 36 years)", shortest)
		return bad.Advise("0 means without a clock")
	}
	return nil
}

// SizeBytes returns the [Filter.SizeBytes] of the filter that New(c) returns, or New's error. It
// does not make the filter.
func (c Config) SizeBytes() (int64, error) {
	l, err := c.withDefaults().layout()
	if err != nil {
		return 0, err
	}
	return form.Window.Size(int(l.pages*l.lanes), form.Info{}), nil
}

// part returns Span/Generations in nanoseconds, or farthest if there is no Span. It is rounded up,
// so that Generations parts last at least a Span.
func (c Config) part() int64 {
	if c.Span == 0 { // there is no clock
		return farthest
	}
	return (int64(c.Span) + int64(c.Generations) - 1) / int64(c.Generations)
}

type counts struct {
	spare int    // largest number of live partial planes while the clock runs evenly
	limit int    // largest number of live partial planes after the clock steps back
	fulls int    // a plane may be given up when this many full planes follow it
	lean  uint64 // with Renew, how many planes may follow a key's plane before a repeat is written
}

// counts returns the counts for c.
//
// Partial planes end at least a part apart, so at most Generations of them are live; with Renew one
// more, because planes live for a part longer. This number is the field spare. Of the other planes,
// one is the newest; the field fulls is the number of the rest, which are full.
//
// After a step back, partial planes may take half of the places of full ones, up to limit in all.
// That leaves room for N/2 keys.
//
// With Renew, lean is so large that this many full planes hold more than N/(Generations+1) keys. So
// a repeat after fewer other keys is written only if the key's plane ended at least a part ago.
func (c Config) counts() counts {
	spare, lean := c.Generations, 0
	if c.Renew {
		spare, lean = c.Generations+1, planes/(c.Generations+2)
	}
	fulls := planes - 1 - spare
	return counts{spare: spare, limit: spare + fulls/2, fulls: fulls, lean: uint64(lean)}
}

// share returns the share and the feed of a filter with the given number of pages.
//
// N keys must fit in counts.fulls planes. With Renew they must fit in counts.fulls - counts.lean of
// them, because up to counts.lean planes may already follow a key's plane when the key is repeated
// and not written.
//
// If there are several pages, each counts its keys in groups of pageFeed. When a plane ends, a page
// may have up to pageFeed-1 keys that are not yet counted, and these count in the next plane. So
// the planes for N keys have room for (pageFeed-1)*pages more. A single page needs no such room,
// because its keys never count in the next plane.
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

// layout returns the layout for c, or an error if c is out of range or the filter would be too
// large.
func (c Config) layout() (l layout, err error) {
	if bad := c.check(); bad != nil {
		return l, bad.In("window")
	}
	fits := func(n uint64) bool {
		other := c
		other.N = n
		_, words := other.sized()
		return words <= form.MaxFrameWords
	}
	if bad := form.CheckKeys("N", c.N, c.P, fits); bad != nil {
		return l, bad.In("window")
	}
	l, _ = c.sized()
	if limits.Explored {
		l.pages, l.lanes = limits.WindowPages, leastPage
	}
	return l, nil
}

// sized returns the layout for c and its number of words, which may be too large.
func (c Config) sized() (l layout, words float64) {
	// The ideal number of positions needs the least memory. A smaller number needs more memory and
	// less time. Choose the smallest that needs at most 8 % more memory. Positions come in pairs.
	p := max(c.P/planes, leastRate)
	ideal := -portable.Log(p) / math.Ln2
	for l.k = 2; perKey(l.k, p) > 1.08*ideal/math.Ln2; {
		l.k += 2
	}
	// The number of keys in a page has a Poisson distribution, so its variance divided by the
	// square of its mean is one over the mean. If the rate grows as the e-th power of the load, the
	// mean rate of all pages exceeds the rate at the mean load by a fraction of e(e-1)/2 divided by
	// the mean number of keys, to second order. Pages are so large that this costs at most 1.6 %
	// more memory.
	size := float64(leastPage)
	load := float64(l.k) / perKey(l.k, p)
	e := float64(l.k) * load / (portable.Exp(load) - 1)
	for (e-1)/2*perKey(l.k, p) > 0.016*size {
		size *= 2
	}
	// The fraction of lanes that a small number of keys sets varies from filter to filter, and the
	// mean of its k-th power exceeds the k-th power of its mean. So a small filter gets a few more
	// lanes.
	const few = 8
	share, _ := c.share(1)
	pages, lanes := 1.0, math.Ceil(float64(share)*perKey(l.k, p))+few
	if lanes >= 2*size {
		p /= portable.Exp(max(0, e*(e-1)/2) * perKey(l.k, p) / size)
		pages = math.Floor(lanes / size)
		share, _ = c.share(uint64(pages))
		lanes = math.Ceil(float64(share) * perKey(l.k, p) / pages)
	}
	l.pages, l.lanes = uint64(pages), uint64(lanes)
	return l, pages * lanes
}

// perKey returns how many bits per key a Bloom filter with k hash functions needs for a
// false-positive rate of p. It solves (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / portable.LogOneMinus(portable.Exp(portable.Log(p)/float64(k)))
}
