package bitwords

import (
	"math/bits"
	"sync/atomic"
)

// Clone returns a copy of words, while others may write to them atomically.
func Clone(words []uint64) []uint64 {
	c := Make(len(words))
	for i := range c {
		c[i] = atomic.LoadUint64(&words[i])
	}
	return c
}

// OnesCount returns the number of bits set in words, while others may write to
// them atomically.
func OnesCount(words []uint64) (ones uint64) {
	for i := range words {
		ones += uint64(bits.OnesCount64(atomic.LoadUint64(&words[i])))
	}
	return ones
}

// Or sets every bit of words that is set in other, which is as long.
func Or(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] |= w
	}
}

// And clears every bit of words that is clear in other, which is as long.
func And(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] &= w
	}
}

// OrAtomic is Or while others write to words. A word that has the bits is not written:
// its cache line stays with every processor that reads it.
func OrAtomic(words, other []uint64) {
	for i, w := range other[:len(words)] {
		if w&^atomic.LoadUint64(&words[i]) != 0 {
			atomic.OrUint64(&words[i], w)
		}
	}
}

// ClearAtomic clears words while others write to them.
func ClearAtomic(words []uint64) {
	for i := range words {
		if atomic.LoadUint64(&words[i]) != 0 {
			atomic.StoreUint64(&words[i], 0)
		}
	}
}
