package bloom

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
)

// bitset is a packed array of m bits. Bit i is bit i%64 of word i/64, where bit 0 is the least
// significant. A number x selects bit (x & math.MaxInt64) % m. The struct is small, so a hot loop
// can keep a copy of it in registers.
type bitset struct {
	words      []uint64
	reciprocal uint64 // digest.Reciprocal(len(words))
}

func newBitset(words int) bitset { return bitsetOf(bitwords.Make(words)) }

// bitsetOf retains words.
func bitsetOf(words []uint64) bitset {
	return bitset{words, digest.Reciprocal(len(words))}
}

// set sets the bit that x selects, and returns its previous value.
func (b bitset) set(x uint64) uint64 {
	i, pos := digest.Locate(x, uint64(len(b.words)), b.reciprocal)
	w := b.words[i]
	b.words[i] = w | 1<<pos
	return w >> pos & 1
}

func (b bitset) get(x uint64) uint64 {
	i, pos := digest.Locate(x, uint64(len(b.words)), b.reciprocal)
	return b.words[i] >> pos & 1
}

func (b bitset) getAtomic(x uint64) (bit, index uint64) {
	i, pos := digest.Locate(x, uint64(len(b.words)), b.reciprocal)
	return atomic.LoadUint64(&b.words[i]) >> pos & 1, i<<6 | pos
}

func (b bitset) setAtomic(index uint64) { atomic.OrUint64(&b.words[index>>6], 1<<(index&63)) }

// setFinal is like setAtomic, but reports whether the bit was clear.
func (b bitset) setFinal(index uint64) bool {
	return atomic.OrUint64(&b.words[index>>6], 1<<(index&63))>>(index&63)&1 == 0
}

// fold returns a bitset with m' = m/d bits. Bit i of b becomes bit i mod m' of the result. d must
// divide the number of words. Then (x mod m) mod m' is x mod m', so the result has the bits of the
// same keys.
func (b bitset) fold(d int) bitset {
	c := newBitset(len(b.words) / d)
	// A block of the result stays in the first-level cache while d blocks of b are merged into it.
	const block = 2048
	for src := 0; src < len(c.words); src += block {
		sum := c.words[src:min(src+block, len(c.words))]
		for share := src; share < len(b.words); share += len(c.words) {
			bitwords.Or(sum, b.words[share:share+len(sum)])
		}
	}
	return c
}
