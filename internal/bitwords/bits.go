package bitwords

import (
	"math/bits"
	"sync/atomic"
)

// Clone returns a copy of words. Other goroutines may write to words atomically at the same time.
func Clone(words []uint64) []uint64 {
	c := Make(len(words))
	for i := range c {
		c[i] = atomic.LoadUint64(&words[i])
	}
	return c
}

// OnesCount returns the number of bits set in words. Other goroutines may write to words atomically
// at the same time.
func OnesCount(words []uint64) (ones uint64) {
	for i := range words {
		ones += uint64(bits.OnesCount64(atomic.LoadUint64(&words[i])))
	}
	return ones
}

// Or sets every bit of words that is set in other. other is as long as words.
func Or(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] |= w
	}
}

// And clears every bit of words that is clear in other. other is as long as words.
func And(words, other []uint64) {
	for i, w := range other[:len(words)] {
		words[i] &= w
	}
}

// OrAtomic is like Or, but other goroutines may write to words atomically at the same time. It does
// not write to words that already have the bits, so their cache lines stay shared between
// processors.
func OrAtomic(words, other []uint64) {
	for i, w := range other[:len(words)] {
		if w&^atomic.LoadUint64(&words[i]) != 0 {
			atomic.OrUint64(&words[i], w)
		}
	}
}

// ClearAtomic is like Clear, but other goroutines may write to words atomically at the same time.
func ClearAtomic(words []uint64) {
	for i := range words {
		if atomic.LoadUint64(&words[i]) != 0 {
			atomic.StoreUint64(&words[i], 0)
		}
	}
}
