package bloom

import (
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
)

// bitset is a packed array of bits: bit i is bit i%64, from the least
// significant, of word i/64. It is four machine words, so that a copy in a hot
// loop lives in registers.
type bitset struct {
	words      []uint64
	reciprocal uint64 // of len(words); see locate
}

func newBitset(words int) bitset {
	return bitset{newWords(words), math.MaxUint64 / uint64(words)}
}

// locate returns the word, and the position in it, of bit
// (x & math.MaxInt64) % (64 * words), without a division.
//
// The low 6 bits of x are the position and the remaining 57 are to be reduced
// modulo W = words. The reciprocal r = floor((2^64-1)/W) is at least
// 2^64/W - 1, and v < 2^57, so v*r/2^64 is at most v/W and more than
// v/W - 2^-7: its floor is floor(v/W) or one less, and one correction, rarely
// needed, makes the remainder exact.
func locate(x, words, reciprocal uint64) (word, pos uint64) {
	v := x << 1 >> 7
	q, _ := bits.Mul64(v, reciprocal)
	v -= q * words
	if v >= words {
		v -= words
	}
	return v, x & 63
}

// set sets the bit that x stands for and returns what it was.
func (b bitset) set(x uint64) uint64 {
	i, pos := locate(x, uint64(len(b.words)), b.reciprocal)
	w := b.words[i]
	b.words[i] = w | 1<<pos
	return w >> pos & 1
}

// get returns the bit that x stands for.
func (b bitset) get(x uint64) uint64 {
	i, pos := locate(x, uint64(len(b.words)), b.reciprocal)
	return b.words[i] >> pos & 1
}

// getAtomic is get while others set bits. It also returns the index of the bit.
func (b bitset) getAtomic(x uint64) (bit, index uint64) {
	i, pos := locate(x, uint64(len(b.words)), b.reciprocal)
	return atomic.LoadUint64(&b.words[i]) >> pos & 1, i<<6 | pos
}

// setAtomic sets the bit at index while others do.
func (b bitset) setAtomic(index uint64) { atomic.OrUint64(&b.words[index>>6], 1<<(index&63)) }

// onesCount counts the bits set, while others may set more.
func (b bitset) onesCount() (ones uint64) {
	for i := range b.words {
		ones += uint64(bits.OnesCount64(atomic.LoadUint64(&b.words[i])))
	}
	return ones
}

// clone copies the bits, while others may set more.
func (b bitset) clone() bitset {
	c := b
	c.words = newWords(len(b.words))
	for i := range c.words {
		c.words[i] = atomic.LoadUint64(&b.words[i])
	}
	return c
}

// or sets every bit that is set in c, which must be as long as b.
func (b bitset) or(c bitset) {
	for i, w := range c.words[:len(b.words)] {
		b.words[i] |= w
	}
}

// orAtomic is or while others set bits of b.
func (b bitset) orAtomic(c bitset) {
	for i, w := range c.words[:len(b.words)] {
		if w&^atomic.LoadUint64(&b.words[i]) != 0 {
			atomic.OrUint64(&b.words[i], w)
		}
	}
}

// and clears every bit that is clear in c, which must be as long as b.
func (b bitset) and(c bitset) {
	for i, w := range c.words[:len(b.words)] {
		b.words[i] &= w
	}
}

// chunkBytes is how much of a bitset's bytes is held besides its words while it
// is written or read.
const chunkBytes = 64 << 10

// appendWords appends each word to dst as 8 big-endian bytes. The words may be
// written to meanwhile, atomically. Four at a time is twice as fast as one.
func appendWords(dst []byte, words []uint64) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(words)*8)[:n+len(words)*8]
	out := dst[n:]
	for ; len(words) >= 4 && len(out) >= 32; words, out = words[4:], out[32:] {
		binary.BigEndian.PutUint64(out, atomic.LoadUint64(&words[0]))
		binary.BigEndian.PutUint64(out[8:], atomic.LoadUint64(&words[1]))
		binary.BigEndian.PutUint64(out[16:], atomic.LoadUint64(&words[2]))
		binary.BigEndian.PutUint64(out[24:], atomic.LoadUint64(&words[3]))
	}
	for i := range words {
		binary.BigEndian.PutUint64(out[8*i:], atomic.LoadUint64(&words[i]))
	}
	return dst
}

// writeWords writes all words to w, by way of buf's capacity.
func (b bitset) writeWords(w io.Writer, buf []byte) (total int64, err error) {
	for words := b.words; len(words) > 0; {
		chunk := words[:min(len(words), cap(buf)/8)]
		n, err := w.Write(appendWords(buf[:0], chunk))
		total += int64(n)
		if err != nil {
			return total, err
		}
		words = words[len(chunk):]
	}
	return total, nil
}

// fill sets words from data, which is all their bytes, big-endian.
func fill(words []uint64, data []byte) {
	for ; len(words) >= 4 && len(data) >= 32; words, data = words[4:], data[32:] {
		words[0] = binary.BigEndian.Uint64(data)
		words[1] = binary.BigEndian.Uint64(data[8:])
		words[2] = binary.BigEndian.Uint64(data[16:])
		words[3] = binary.BigEndian.Uint64(data[24:])
	}
	for i := range words {
		words[i] = binary.BigEndian.Uint64(data[8*i:])
	}
}

// readWords reads n words into b, over the words it has. Each time its memory is
// full it takes four times as much, so that it never has more than four times
// what has arrived and copies at most a third of it.
func (b *bitset) readWords(r io.Reader, n int) (total int64, err error) {
	buf := make([]byte, min(chunkBytes, n*8))
	for read := 0; read < n; {
		if read == len(b.words) {
			grown := newBitset(min(n, max(len(buf)/8, 4*read)))
			copy(grown.words, b.words)
			*b = grown
		}
		chunk := buf[:min(len(buf), (len(b.words)-read)*8)]
		m, err := io.ReadFull(r, chunk)
		total += int64(m)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return total, err
		}
		fill(b.words[read:read+len(chunk)/8], chunk)
		read += len(chunk) / 8
	}
	return total, nil
}
