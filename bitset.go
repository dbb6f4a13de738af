package bloom

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/guava"
)

// bitset is a packed array of bits: bit i is bit i%64, from the least
// significant, of word i/64. It is four machine words, so that a copy in a hot
// loop lives in registers.
type bitset struct {
	words      []uint64
	reciprocal uint64 // of len(words); see guava.Locate
}

func newBitset(words int) bitset { return bitsetOf(bitwords.Make(words)) }

// bitsetOf returns a bitset of words as they are.
func bitsetOf(words []uint64) bitset {
	return bitset{words, guava.Reciprocal(len(words))}
}

// set sets the bit that x selects and returns what it was.
func (b bitset) set(x uint64) uint64 {
	i, pos := guava.Locate(x, uint64(len(b.words)), b.reciprocal)
	w := b.words[i]
	b.words[i] = w | 1<<pos
	return w >> pos & 1
}

// get returns the bit that x selects.
func (b bitset) get(x uint64) uint64 {
	i, pos := guava.Locate(x, uint64(len(b.words)), b.reciprocal)
	return b.words[i] >> pos & 1
}

// getAtomic is get while others set bits. It also returns the index of the bit.
func (b bitset) getAtomic(x uint64) (bit, index uint64) {
	i, pos := guava.Locate(x, uint64(len(b.words)), b.reciprocal)
	return atomic.LoadUint64(&b.words[i]) >> pos & 1, i<<6 | pos
}

// setAtomic sets the bit at index while others do.
func (b bitset) setAtomic(index uint64) { atomic.OrUint64(&b.words[index>>6], 1<<(index&63)) }

// fold returns the bits modulo len(b.words)/d words, each the union of the d bits that
// meet there. That number of words must be whole: then (x mod m) mod m' is x mod m'
// for every x, and so for every index of a key.
func (b bitset) fold(d int) bitset {
	c := newBitset(len(b.words) / d)
	// A block of the result stays in the first-level cache while d parts of b are
	// added to it, so that each word is read from memory once.
	const block = 2048
	for from := 0; from < len(c.words); from += block {
		sum := c.words[from:min(from+block, len(c.words))]
		for part := from; part < len(b.words); part += len(c.words) {
			bitwords.Or(sum, b.words[part:part+len(sum)])
		}
	}
	return c
}
