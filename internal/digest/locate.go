package digest

import (
	"math"
	"math/bits"
)

// Reciprocal returns the argument reciprocal that Locate needs for an array of the given length.
func Reciprocal(words int) uint64 { return math.MaxUint64 / uint64(words) }

// Locate returns the place of bit (x & math.MaxInt64) % (64 * words): its word, and its position in
// that word. It does not divide.
//
// The low 6 bits of x are the position. The next 57 bits are v, which is reduced modulo W = words.
// The top bit is ignored. The reciprocal r = floor((2^64-1)/W) is at least 2^64/W - 1. Since v is
// below 2^57, v*r/2^64 is at most v/W and more than v/W - 2^-7. Its floor is therefore floor(v/W)
// or one less. If it is one less, one subtraction corrects the remainder.
func Locate(x, words, reciprocal uint64) (word, pos uint64) {
	v := x << 1 >> 7
	q, _ := bits.Mul64(v, reciprocal)
	v -= q * words
	if v >= words {
		v -= words
	}
	return v, x & 63
}
