package bloomredis

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// layout is where a window's bits lie.
//
// A window has 32 planes, each of which is a Bloom filter for share keys. Bit p of every
// lane of 32 bits is plane p's: one look at a key's lanes asks all planes. All lanes of a key
// are in one page. Pages lie in strings of at most maxString bytes, each after a head.
// A string is a window of its own, for its part of the keys.
type layout struct {
	head    string // what a string begins with: what all that share the key must agree in
	k       int    // lanes of a key
	share   uint64 // keys of a plane
	full    int    // planes with their share that are kept where no plane is free; see windowScript
	slack   int    // planes that may end by time
	lean    int    // how many planes a renewal can be spared for; 0 without Renew
	lanes   uint64 // of a page
	pages   uint64 // of a string
	strings uint64
}

const (
	planes    = 32
	stateSize = 24 + 16*planes // of a head, behind the configuration and the id
	stampSize = 8              // of a page
	maxString = 32 << 20       // bytes of pages, if there are several strings
	leastRate = 1e-18          // of a plane
)

func (l layout) pageSize() uint64 { return stampSize + 4*l.lanes }

// start returns where the pages begin.
func (l layout) start() uint64 { return uint64(len(l.head)) + 16 + stateSize }

// size returns the length of a string.
func (l layout) size() int64 { return int64(l.start() + l.pages*l.pageSize()) }

// layout returns the layout of a window.
func (c WindowConfig) layout() (l layout, err error) {
	switch {
	case c.N == 0:
		return l, fmt.Errorf("bloomredis: N = 0 is not at least 1")
	case c.Generations < 1 || c.Generations > maxGenerations:
		return l, fmt.Errorf("bloomredis: Generations = %d is outside [0, %d]", c.Generations, maxGenerations)
	case c.Span != 0 && c.Span < time.Duration(c.Generations)*time.Millisecond:
		return l, fmt.Errorf("bloomredis: Span = %v is too short for %d generations of a millisecond", c.Span, c.Generations)
	}
	if err := checkRate(c.P); err != nil {
		return l, err
	}
	l.slack = c.Generations
	if c.Renew {
		// With lean shares there are more than N/(Generations + 1) keys between two times at which a
		// key is written that comes all the time, unless they are a generation apart.
		l.lean = planes / (l.slack + 2)
		l.slack++
	}
	l.full = planes - 1 - l.slack
	shares := float64(l.full - l.lean) // N keys, and those that came before a renewal that was spared
	q := max(c.P/planes, leastRate)    // a false positive is one of any plane
	for n := 1.0; ; n++ {              // a Bloom filter is smallest with more positions, and slower
		if l.k = int(n); perKey(l.k, q) <= 1.07*-math.Log2(q)/math.Ln2 {
			break
		}
	}
	bytes := 4 * float64(c.N) / shares * perKey(l.k, q)
	if !(bytes <= 1<<40) {
		return l, fmt.Errorf("bloomredis: N = %d, P = %v need %.3g bytes, more than a tebibyte", c.N, c.P, bytes)
	}
	n := float64(c.N)
	strings := math.Ceil(1.04 * bytes / maxString)
	if strings > 1 {
		n = n/strings + 7*math.Sqrt(n/strings) // some strings get more keys than others
	}
	l.strings, l.share = uint64(strings), uint64(math.Ceil(n/shares))
	l.pages, l.lanes = pagesFor(l.k, float64(l.share), q)
	l.head = fmt.Sprintf("%s%s; %d\n", windowMark, c.text(), l.strings)
	return l, nil
}

// pagesFor returns how many pages of how many lanes hold n keys of a plane at a rate of q.
// Smaller pages are cleared sooner, and more lanes make up for those that get more keys.
func pagesFor(k int, n, q float64) (pages, lanes uint64) {
	per := perKey(k, q)
	x := float64(k) / per
	grows := float64(k) * x / math.Expm1(x) // with this power of a page's keys its rate grows
	page := 4096.0
	for (grows-1)/2*per/page > 0.02 {
		page *= 2
	}
	for all := n * per; ; all *= 1.005 {
		number := max(1, math.Floor(all/page))
		each := max(8, math.Ceil(all/number))
		if rate(k, n, number, each) <= q {
			return uint64(number), uint64(each)
		}
	}
}

// perKey returns how many bits a Bloom filter of k positions has for each key when
// its false-positive rate is p: (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / math.Log1p(-math.Pow(p, 1/float64(k)))
}

// rate returns the false-positive rate of a plane of n keys in pages of so many lanes.
func rate(k int, n, pages, lanes float64) float64 {
	// The probability that all positions are set in a page with i keys. The fill varies, and a
	// power of it is larger on average than the average's.
	positions := float64(k)
	found := func(i float64) float64 {
		load := positions * i / lanes
		empty := math.Exp(positions * i * math.Log1p(-1/lanes))
		fill := 1 - empty
		variance := empty * (1 - (1+load)*empty) / lanes
		return min(1, math.Pow(fill, positions)*math.Exp(positions*(positions-1)/2*variance/(fill*fill)))
	}
	if n == 0 || pages == 1 {
		return min(n, 1) * found(max(n, 1))
	}
	// Poisson's distribution of the keys of a page, as far as it matters.
	mean, sum := n/pages, 0.0
	for i := max(1, math.Floor(mean-12*math.Sqrt(mean))); i <= mean+12*math.Sqrt(mean)+12; i++ {
		gamma, _ := math.Lgamma(i + 1)
		sum += math.Exp(i*math.Log(mean)-mean-gamma) * found(i)
	}
	return sum
}

// find returns the number of a key's string.
func (l layout) find(h bloom.Hash) int {
	h1, _ := h.Words()
	i, _ := bits.Mul64(h1, l.strings)
	return int(i)
}

// appendKey appends what a script gets of a key: the offsets in bits of its page and of
// its lanes. They are numbers of a generator (splitmix64) whose seed and step are the digest.
func (l layout) appendKey(args []any, h bloom.Hash) []any {
	x, step := h.Words()
	next := func(n uint64) uint64 {
		x += step | 1
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z, _ = bits.Mul64(z^z>>31, n)
		return z
	}
	page := 8 * (l.start() + next(l.pages)*l.pageSize())
	args = append(args, page)
	for range l.k {
		args = append(args, page+8*stampSize+32*next(l.lanes))
	}
	return args
}
