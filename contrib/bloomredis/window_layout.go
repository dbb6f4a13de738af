package bloomredis

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/window"
)

// layout tells where the bits of a window are. For the terms see windowScript.
//
// Each of the 32 planes is a Bloom filter. A plane has one bit of every lane, so the lanes of a key
// tell which planes may have the key. All lanes of a key are in one page. The pages are in strings,
// each with a head before its pages. If there are several strings, each has at most about
// maxString bytes of pages, and is a complete window for its part of the keys.
type layout struct {
	head    string // the beginning of each string, the same for all processes that share the key
	k       int    // the largest number of lanes of a key
	share   uint64 // the number of keys that fill a plane
	full    int    // the number of full planes that must be kept
	slack   int    // the number of live planes that may have ended before they were full
	lean    int    // with Renew, a key is rewritten if more planes than this follow its plane
	lanes   uint64 // the number of lanes in a page
	pages   uint64 // the number of pages in a string
	strings uint64
}

const (
	planes    = 32
	stateSize = 24 + 16*planes // bytes in the state at the end of a head
	stampSize = 8              // bytes in a page's stamp
	maxString = 32 << 20       // approximate limit on the bytes of pages in a string
	maxBytes  = 1 << 40        // approximate limit on the bytes of lanes in all strings
	leastRate = 1e-18          // the lowest rate of a plane
	uneven    = 1.04           // leaves room in the strings for an uneven split of the keys
)

var maxStrings = int(math.Ceil(uneven * maxBytes / maxString))

func (l layout) pageSize() uint64 { return stampSize + 4*l.lanes }

func (l layout) start() uint64 { return uint64(len(l.head)) + 16 + stateSize }

func (l layout) size() int64 { return int64(l.start() + l.pages*l.pageSize()) }

func (c WindowConfig) layout() (l layout, err error) {
	if c.Generations < 1 || c.Generations > maxGenerations {
		return l, outside("Generations", c.Generations, "outside [0, %d]", maxGenerations)
	}
	// Package window checks the other fields; a window for one key is enough for that.
	few := window.Config{N: min(c.N, 1), P: c.P, Span: c.Span, Generations: c.Generations}
	if _, err := window.New(few); err != nil {
		return l, own(err)
	}
	l.slack = c.Generations
	if c.Renew {
		// A key that keeps arriving is written again a generation after its plane ended, or once
		// other keys have filled l.lean planes, which together hold more than N/(Generations + 1)
		// keys.
		l.lean = planes / (l.slack + 2)
		l.slack++
	}
	l.full = planes - 1 - l.slack
	// N keys fill this many planes. Up to l.lean older planes may have keys that were found but not
	// written again.
	shares := float64(l.full - l.lean)
	q := max(c.P/planes, leastRate) // the rate of one plane: any plane can report an absent key
	// Fewer lanes take less time. Choose the smallest k that needs at most 7 % more bits than the
	// best k.
	for l.k = 1; perKey(l.k, q) > 1.07*-math.Log2(q)/math.Ln2; l.k++ {
	}
	bytes := 4 * float64(c.N) / shares * perKey(l.k, q)
	if !(bytes <= maxBytes) {
		room := float64(c.N) * maxBytes / bytes
		return l, outside("N", c.N, "outside [1, %.0f] at a rate of %v", math.Floor(room), c.P)
	}
	n := float64(c.N)
	strings := math.Ceil(uneven * bytes / maxString)
	if strings > 1 {
		n = n/strings + 7*math.Sqrt(n/strings) // some strings get more keys than others
	}
	l.strings, l.share = uint64(strings), uint64(math.Ceil(n/shares))
	l.pages, l.lanes = pagesFor(l.k, float64(l.share), q)
	l.head = fmt.Sprintf("%s%s; %d\n", windowMark, c.text(), l.strings)
	return l, nil
}

// pagesFor returns the number of pages, and the number of lanes in each, that give a plane with n
// keys a false-positive rate of at most q. Small pages are cleared faster, but need more lanes,
// because their numbers of keys vary more.
func pagesFor(k int, n, q float64) (pages, lanes uint64) {
	per := perKey(k, q)
	x := float64(k) / per
	// A page's rate grows with this power of its number of keys.
	grows := float64(k) * x / math.Expm1(x)
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

// perKey returns how many bits per key a Bloom filter with k hash functions needs for a
// false-positive rate of p. It solves (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / math.Log1p(-math.Pow(p, 1/float64(k)))
}

// rate returns the false-positive rate of a plane with n keys. lanes is the number of lanes in a
// page.
func rate(k int, n, pages, lanes float64) float64 {
	// found returns the probability that all positions of an absent key are set in a page with i
	// keys. The fill of such pages varies, so the mean of its k-th power can exceed the k-th power
	// of its mean.
	positions := float64(k)
	found := func(i float64) float64 {
		load := positions * i / lanes
		empty := math.Exp(positions * i * math.Log1p(-1/lanes))
		fill := 1 - empty
		variance := empty * (1 - (1+load)*empty) / lanes
		correction := math.Exp(positions * (positions - 1) / 2 * variance / (fill * fill))
		return min(1, math.Pow(fill, positions)*correction)
	}
	if n == 0 || pages == 1 {
		return min(n, 1) * found(max(n, 1))
	}
	// The number of keys in a page has nearly a Poisson distribution; its tails do not matter.
	mean, sum := n/pages, 0.0
	for i := max(1, math.Floor(mean-12*math.Sqrt(mean))); i <= mean+12*math.Sqrt(mean)+12; i++ {
		gamma, _ := math.Lgamma(i + 1)
		sum += math.Exp(i*math.Log(mean)-mean-gamma) * found(i)
	}
	return sum
}

func (l layout) find(h bloom.Hash) int {
	h1, _ := h.Words()
	i, _ := bits.Mul64(h1, l.strings)
	return int(i)
}

// appendKey appends a script's arguments for a key: the offsets of its page and of its lanes, in
// bits. They come from splitmix64 with the digest as seed and step.
func (l layout) appendKey(args []any, h bloom.Hash) []any {
	x, step := h.Words()
	random := func(n uint64) uint64 {
		x += step | 1
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z, _ = bits.Mul64(z^z>>31, n)
		return z
	}
	page := 8 * (l.start() + random(l.pages)*l.pageSize())
	args = append(args, page)
	for range l.k {
		args = append(args, page+8*stampSize+32*random(l.lanes))
	}
	return args
}
