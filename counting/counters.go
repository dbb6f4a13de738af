package counting

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/guava"
)

// counters are four bits for each bit of a bloom.Filter. They are read and written one
// word at a time: whoever looks a counter up needs no lock, and whoever writes, or reads
// several as they are at one moment, must hold one.
//
// The 64 counters of a word of bits lie in four words. Bit 4i+j of that word has
// counter i of the j-th of the four, counted from the least significant bits. So a few
// shifts make a word of bits from the four.
type counters struct {
	words      []uint64
	reciprocal uint64 // of len(words)/perBits; see guava.Locate
}

const (
	full    = 15 // what a counter holds of 15 and of all above
	perBits = 4  // words of counters for a word of bits

	ones = 0x1111111111111111 // a one in each counter of a word
)

func countersOf(words []uint64) counters {
	return counters{words, guava.Reciprocal(len(words) / perBits)}
}

// find returns where the counter of the bit that x stands for is: the index of the
// word, and the lowest of its bits in there.
func (c counters) find(x uint64) (word, shift uint64) {
	i, pos := guava.Locate(x, uint64(len(c.words)/perBits), c.reciprocal)
	return i*perBits | pos%perBits, pos / perBits * 4
}

// get returns the counter that x stands for.
func (c counters) get(x uint64) uint64 {
	word, shift := c.find(x)
	return atomic.LoadUint64(&c.words[word]) >> shift & full
}

// bits returns the word of bits of four words of counters: a bit is set where its
// counter is not zero.
func toBits(c0, c1, c2, c3 uint64) uint64 {
	const bit0, bit1, bit2, bit3 = ones, ones << 1, ones << 2, ones << 3
	// Two bits of a counter's four tell whether any is set, and then one does.
	even := (c0|c0>>2)&(bit0|bit1) | (c2|c2<<2)&(bit2|bit3)
	odd := (c1|c1>>2)&(bit0|bit1) | (c3|c3<<2)&(bit2|bit3)
	return (even|even>>1)&(bit0|bit2) | (odd|odd<<1)&(bit1|bit3)
}

// onesCount returns how many counters are not zero.
func (c counters) onesCount() (n uint64) {
	for w := c.words; len(w) >= perBits; w = w[perBits:] {
		n += uint64(bits.OnesCount64(toBits(w[0], w[1], w[2], w[3])))
	}
	return n
}

// add adds the counters of d, of which there are as many.
func (c counters) add(d counters) {
	for i, w := range d.words {
		if w != 0 {
			atomic.StoreUint64(&c.words[i], addAll(c.words[i], w))
		}
	}
}

// addAll adds the sixteen counters of a word to those of another.
func addAll(a, b uint64) uint64 {
	const low, carry = 0x0f0f0f0f0f0f0f0f, 0x1010101010101010
	// Every other one at a time, in a byte, has room for the carry.
	add := func(a, b uint64) uint64 {
		sum := a&low + b&low
		over := sum & carry >> 4
		return (sum | over*full) & low
	}
	return add(a, b) | add(a>>4, b>>4)<<4
}

func (c counters) clear() {
	for i := range c.words {
		atomic.StoreUint64(&c.words[i], 0)
	}
}

func (c counters) equal(d counters) bool { return slices.Equal(c.words, d.words) }
