package bloomredis

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// layout is where a window's bits lie.
//
// A key has two cells, and as many positions in either. A cell has a plane of a bit
// for each position, for each of Generations + 1 generations: generation g has plane g
// modulo their number. A cell's planes lie side by side, after the newest generation
// that has bits in it: all that is known of a key is two short pieces of a string. What
// is older than that generation is cleared with the first bit of a newer one. Cells lie
// in strings of at most maxString bytes, each after a head; see windowScript.
type layout struct {
	half    int // positions of a key in a cell
	planes  int
	width   int    // bytes of a plane
	cells   uint64 // in a string
	strings uint64
}

const (
	headSize  = 192
	stampSize = 16       // of the generation that a cell begins with
	cellBits  = 1024     // of a plane, if there are several cells
	maxString = 32 << 20 // bytes of cells, if there are several strings
	leastRate = 1e-12    // of a generation
)

// size returns the length of a string.
func (l layout) size() int64 { return headSize + int64(l.cells)*int64(stampSize+l.planes*l.width) }

func (c WindowConfig) layout() (l layout, err error) {
	switch {
	case c.Capacity == 0:
		return l, fmt.Errorf("bloomredis: Capacity = 0 is not at least 1")
	case c.Generations < 1 || c.Generations > maxGenerations:
		return l, fmt.Errorf("bloomredis: Generations = %d is outside [0, %d]", c.Generations, maxGenerations)
	case c.Span < time.Duration(c.Generations)*time.Millisecond:
		return l, fmt.Errorf("bloomredis: Span = %v is too short for %d generations of a millisecond", c.Span, c.Generations)
	}
	if err := checkRate("FPR", c.FPR); err != nil {
		return l, err
	}
	// A false positive of the window is one of any live generation.
	n := math.Ceil(float64(c.Capacity) / float64(c.Generations))
	half, cells, width := plane(n, max(c.FPR/float64(c.Generations+1), leastRate))
	cell := stampSize + float64(c.Generations+1)*width
	if !(cells*cell <= 1<<40) {
		return l, fmt.Errorf("bloomredis: Capacity = %d, FPR = %v need %.3g bytes, more than a tebibyte", c.Capacity, c.FPR, cells*cell)
	}
	strings := math.Ceil(cells * cell / maxString)
	return layout{half, c.Generations + 1, int(width), uint64(math.Ceil(cells / strings)), uint64(strings)}, nil
}

// plane returns how many positions a key has in each of two cells, and how many cells
// with planes of how many bytes hold the n keys of a generation, so that its
// false-positive rate is p.
func plane(n, p float64) (half int, cells, width float64) {
	// A Bloom filter is smallest with -log2(p) positions. A fifth less of them take
	// a fifth less time and little more memory.
	half = int(math.Ceil(-0.4 * math.Log2(p)))
	for bits := n * perKey(2*half, p); ; bits *= 1.005 {
		cells = max(1, math.Floor(bits/cellBits))
		width = max(8, math.Ceil(bits/cells/8))
		if rate(half, n, cells, 8*width) <= p {
			return half, cells, width
		}
	}
}

// perKey returns how many bits a Bloom filter of k positions has for each key when
// its false-positive rate is p: (1 - e^(-k/perKey))^k = p.
func perKey(k int, p float64) float64 {
	return -float64(k) / math.Log1p(-math.Pow(p, 1/float64(k)))
}

// rate returns the false-positive rate of cells of so many bits that hold n keys.
func rate(half int, n, cells, bits float64) float64 {
	// The probability that so many positions are set in a cell in which i halves of
	// keys are. The fill varies, and a power of it is larger on average than the
	// average's.
	found := func(i float64, positions int) float64 {
		k, load := float64(positions), float64(half)*i/bits
		empty := math.Exp(float64(half) * i * math.Log1p(-1/bits))
		fill := 1 - empty
		variance := empty * (1 - (1+load)*empty) / bits
		return min(1, math.Pow(fill, k)*math.Exp(k*(k-1)/2*variance/(fill*fill)))
	}
	if cells == 1 {
		return found(2*n, 2*half)
	}
	// Poisson's distribution of the halves in a cell, as far as it matters.
	mean, one, both := 2*n/cells, 0.0, 0.0
	for i := max(1, math.Floor(mean-12*math.Sqrt(mean))); i <= mean+12*math.Sqrt(mean)+12; i++ {
		gamma, _ := math.Lgamma(i + 1)
		likely := math.Exp(i*math.Log(mean) - mean - gamma)
		one += likely * found(i, half)
		both += likely * found(i, 2*half)
	}
	return one*one*(1-1/cells) + both/cells // a key's cells may be the same
}

// find returns the number of a key's string.
func (l layout) find(h bloom.Hash) int {
	h1, _ := h.Words()
	i, _ := bits.Mul64(h1, l.strings)
	return int(i)
}

// appendKey appends what a script gets of a key, for each half the number of the cell
// in four bytes, and the positions in two bytes each. They are numbers of a generator
// (splitmix64) whose seed and step are the digest. In package window, which cannot spend
// that time, they are sequences, and few sequences differ: keys that look alike raise low
// rates. Here no two digests look alike.
func (l layout) appendKey(b []byte, h bloom.Hash) []byte {
	x, step := h.Words()
	next := func(n uint64) uint64 {
		x += step | 1
		z := x
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z, _ = bits.Mul64(z^z>>31, n)
		return z
	}
	for range 2 {
		b = binary.BigEndian.AppendUint32(b, uint32(next(l.cells)))
		for range l.half {
			b = binary.BigEndian.AppendUint16(b, uint16(next(uint64(8*l.width))))
		}
	}
	return b
}
