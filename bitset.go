package bloom

import (
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
)

// bitset is a packed array of bits: bit i is bit i%64, from the least
// significant, of word i/64. It counts its ones as they are set.
type bitset struct {
	words []uint64
	ones  uint64
}

func newBitset(words uint64) bitset { return bitset{words: make([]uint64, words)} }

// set sets bit i and reports whether it was clear.
func (b *bitset) set(i uint64) bool {
	w := &b.words[i>>6]
	was := *w >> (i & 63) & 1
	*w |= 1 << (i & 63)
	b.ones += 1 - was
	return was == 0
}

func (b *bitset) get(i uint64) bool { return b.words[i>>6]>>(i&63)&1 != 0 }

// or sets every bit that is set in c, which must be as long as b.
func (b *bitset) or(c bitset) {
	b.ones = 0
	for i, w := range c.words[:len(b.words)] {
		w |= b.words[i]
		b.words[i] = w
		b.ones += uint64(bits.OnesCount64(w))
	}
}

// and clears every bit that is clear in c, which must be as long as b.
func (b *bitset) and(c bitset) {
	b.ones = 0
	for i, w := range c.words[:len(b.words)] {
		w &= b.words[i]
		b.words[i] = w
		b.ones += uint64(bits.OnesCount64(w))
	}
}

func (b *bitset) clear() {
	clear(b.words)
	b.ones = 0
}

func (b *bitset) equal(c bitset) bool {
	return b.ones == c.ones && slices.Equal(b.words, c.words)
}

// chunkBytes is how much of a bitset's bytes is held besides its words while it
// is written or read.
const chunkBytes = 64 << 10

// appendWords appends each word to dst as 8 big-endian bytes.
func appendWords(dst []byte, words []uint64) []byte {
	n := len(dst)
	dst = slices.Grow(dst, len(words)*8)[:n+len(words)*8]
	for i, out := 0, dst[n:]; i < len(words) && len(out) >= 8; i, out = i+1, out[8:] {
		binary.BigEndian.PutUint64(out, words[i])
	}
	return dst
}

// writeWords writes all words to w, by way of buf's capacity.
func (b *bitset) writeWords(w io.Writer, buf []byte) (total int64, err error) {
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

// fill sets the words from i on, which must be clear, from their bytes.
func (b *bitset) fill(i int, data []byte) {
	ones := 0
	for words := b.words[i:]; len(data) >= 8 && len(words) > 0; data, words = data[8:], words[1:] {
		w := binary.BigEndian.Uint64(data)
		words[0] = w
		ones += bits.OnesCount64(w)
	}
	b.ones += uint64(ones)
}

// readWords reads n words into b, which must be empty. Each time its memory is
// full it takes four times as much, so that it never has more than four times
// what has arrived and copies at most a quarter of it.
func (b *bitset) readWords(r io.Reader, n int) (total int64, err error) {
	buf := make([]byte, min(chunkBytes, n*8))
	for read := 0; read < n; {
		if read == len(b.words) {
			grown := make([]uint64, min(n, max(len(buf)/8, 4*read)))
			copy(grown, b.words)
			b.words = grown
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
		b.fill(read, chunk)
		read += len(chunk) / 8
	}
	return total, nil
}
