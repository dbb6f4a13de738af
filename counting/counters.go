package counting

import (
	"math/bits"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
)

// counters has a 4-bit counter for each bit of a bloom.Filter. get and change are atomic. During
// toBits, onesCount and merge, no other goroutine may change a counter.
//
// The 64 counters for a word of bits lie in four consecutive words, arranged so that a few shifts
// turn counters into bits: the counter of bit 4i+j is counter i of word j. Counter 0 of a word is
// in its least significant bits.
type counters struct {
	words      []uint64
	reciprocal uint64 // digest.Reciprocal(len(words) / perBits)
}

const (
	full    = 15 // the value of a counter that stands for 15 keys or more
	perBits = 4  // words of counters for each word of bits

	ones = 0x1111111111111111 // 1 in each counter of a word
)

func countersOf(words []uint64) counters {
	return counters{words, digest.Reciprocal(len(words) / perBits)}
}

// find returns where the counter for x is: the index of its word, and the position of its lowest
// bit in that word.
func (c counters) find(x uint64) (word, shift uint64) {
	i, pos := digest.Locate(x, uint64(len(c.words)/perBits), c.reciprocal)
	return i*perBits | pos%perBits, pos / perBits * 4
}

func (c counters) get(x uint64) uint64 {
	word, shift := c.find(x)
	return atomic.LoadUint64(&c.words[word]) >> shift & full
}

// change adds delta, which must be 1 or -1, to a counter, and returns the previous value. If the
// counter is full, or is 0 and delta is -1, change leaves it unchanged and returns full.
func (c counters) change(word, shift uint64, delta int64) uint64 {
	for {
		w := atomic.LoadUint64(&c.words[word])
		old := w >> shift & full
		if old == full || old == 0 && delta < 0 {
			return full
		}
		if atomic.CompareAndSwapUint64(&c.words[word], w, w+uint64(delta)<<shift) {
			return old
		}
	}
}

// toBits returns a word in which bit 4i+j is set if counter i of cj is not 0.
func toBits(c0, c1, c2, c3 uint64) uint64 {
	const (
		bit0 = ones
		bit1 = ones << 1
		bit2 = ones << 2
		bit3 = ones << 3
	)
	// even and odd have two bits for each counter, and the result has one.
	even := (c0|c0>>2)&(bit0|bit1) | (c2|c2<<2)&(bit2|bit3)
	odd := (c1|c1>>2)&(bit0|bit1) | (c3|c3<<2)&(bit2|bit3)
	return (even|even>>1)&(bit0|bit2) | (odd|odd<<1)&(bit1|bit3)
}

// dst must have one word for every four words of c.
func (c counters) toBits(dst []uint64) {
	for i := manyToBits(dst, c.words); i < len(dst); i++ {
		w := (*[perBits]uint64)(c.words[i*perBits:])
		dst[i] = toBits(w[0], w[1], w[2], w[3])
	}
}

// onesCount returns the number of counters that are not 0.
func (c counters) onesCount() (n uint64) {
	for w := c.words; len(w) >= perBits; w = w[perBits:] {
		n += uint64(bits.OnesCount64(toBits(w[0], w[1], w[2], w[3])))
	}
	return n
}

// merge adds the counters of d to c, and returns how many of the sums are not 0.
func (c counters) merge(d counters) (n uint64) {
	dst, src := c.words, d.words
	for len(dst) >= perBits && len(src) >= perBits {
		a, b := (*[perBits]uint64)(dst), (*[perBits]uint64)(src)
		s0 := addAll(a[0], b[0])
		s1 := addAll(a[1], b[1])
		s2 := addAll(a[2], b[2])
		s3 := addAll(a[3], b[3])
		bitwords.Store(&a[0], s0)
		bitwords.Store(&a[1], s1)
		bitwords.Store(&a[2], s2)
		bitwords.Store(&a[3], s3)
		n += uint64(bits.OnesCount64(toBits(s0, s1, s2, s3)))
		dst, src = dst[perBits:], src[perBits:]
	}
	return n
}

// addAll adds the 16 counters in a to the counters in b. Sums above 15 become 15.
func addAll(a, b uint64) uint64 {
	const high = 8 * ones // the highest bit of each counter
	// The carry of the lower three bits goes into the highest bit.
	sum := a&^high + b&^high
	// A sum exceeds 15 if at least two of these are set: the highest bits of a and b, and the
	// carry.
	over := (a&b | (a|b)&sum) & high
	sum ^= (a ^ b) & high
	return sum | (over<<1 - over>>3) // each bit of over sets all four bits of its counter
}
