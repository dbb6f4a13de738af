package form

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
)

// Order is a byte order.
type Order bool

const (
	LittleEndian Order = false
	BigEndian    Order = true
)

// ChunkBytes limits the size of the chunks in which words are written and read.
const ChunkBytes = 64 << 10

// PutWords writes words to dst, 8 bytes each. Bits that are not in mask become 0. It loads each
// word once and atomically, so other goroutines may write to words atomically at the same time.
func PutWords(dst []byte, words []uint64, mask uint64, order Order) {
	// This loop is twice as fast as the next one.
	for ; len(words) >= 4 && len(dst) >= 32; words, dst = words[4:], dst[32:] {
		w0 := atomic.LoadUint64(&words[0]) & mask
		w1 := atomic.LoadUint64(&words[1]) & mask
		w2 := atomic.LoadUint64(&words[2]) & mask
		w3 := atomic.LoadUint64(&words[3]) & mask
		if order == BigEndian {
			w0, w1 = bits.ReverseBytes64(w0), bits.ReverseBytes64(w1)
			w2, w3 = bits.ReverseBytes64(w2), bits.ReverseBytes64(w3)
		}
		binary.LittleEndian.PutUint64(dst, w0)
		binary.LittleEndian.PutUint64(dst[8:], w1)
		binary.LittleEndian.PutUint64(dst[16:], w2)
		binary.LittleEndian.PutUint64(dst[24:], w3)
	}
	for i := range words {
		w := atomic.LoadUint64(&words[i]) & mask
		if order == BigEndian {
			w = bits.ReverseBytes64(w)
		}
		binary.LittleEndian.PutUint64(dst[8*i:], w)
	}
}

// GetWords reads words from data, 8 bytes each.
func GetWords(words []uint64, data []byte, order Order) {
	for ; len(words) >= 4 && len(data) >= 32; words, data = words[4:], data[32:] {
		w0, w1 := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		w2, w3 := binary.LittleEndian.Uint64(data[16:]), binary.LittleEndian.Uint64(data[24:])
		if order == BigEndian {
			w0, w1 = bits.ReverseBytes64(w0), bits.ReverseBytes64(w1)
			w2, w3 = bits.ReverseBytes64(w2), bits.ReverseBytes64(w3)
		}
		words[0], words[1], words[2], words[3] = w0, w1, w2, w3
	}
	for i := range words {
		w := binary.LittleEndian.Uint64(data[8*i:])
		if order == BigEndian {
			w = bits.ReverseBytes64(w)
		}
		words[i] = w
	}
}

// AppendWords appends the bytes of words to dst.
func AppendWords(dst []byte, words []uint64, order Order) []byte {
	dst = slices.Grow(dst, len(words)*8)
	dst, more := dst[:len(dst)+len(words)*8], dst[len(dst):len(dst)+len(words)*8]
	PutWords(more, words, ^uint64(0), order)
	return dst
}

// WriteWords writes start and then words to w, through a buffer of at most ChunkBytes.
func WriteWords(w io.Writer, start []byte, words []uint64, order Order) (total int64, err error) {
	buf := make([]byte, 0, min(ChunkBytes, len(start)+8*len(words)))
	buf = append(buf, start...)
	for {
		chunk := words[:min(len(words), (cap(buf)-len(buf))/8)]
		words = words[len(chunk):]
		n, err := WriteFull(w, AppendWords(buf, chunk, order))
		total += int64(n)
		if err != nil || len(words) == 0 {
			return total, err
		}
		buf = buf[:0]
	}
}

// WriteFull is like w.Write(p), but returns io.ErrShortWrite if w writes less without an error.
func WriteFull(w io.Writer, p []byte) (int, error) {
	n, err := w.Write(p)
	if n < len(p) && err == nil {
		err = io.ErrShortWrite
	}
	return n, err
}

func left(r io.Reader) (n int64, known bool) {
	switch r := r.(type) {
	case *FileReader:
		return r.Left, true
	case *bytes.Reader:
		return int64(r.Len()), true
	case *bytes.Buffer:
		return int64(r.Len()), true
	case *strings.Reader:
		return int64(r.Len()), true
	}
	return 0, false
}

// Arrived marks a reader of bytes that are all in memory, perhaps compressed. The caller limits the
// number of words, so ReadWords allocates them all at once.
type Arrived struct{ io.Reader }

// ReadWords reads n words from r, and nothing after them, and writes their bytes to sum unless sum
// is nil. If r is known to have too few bytes, ReadWords immediately returns ErrTruncated. If r is
// known to have enough, or is an Arrived, ReadWords allocates all memory first. Otherwise ReadWords
// begins with memory for one chunk, and quadruples the memory whenever it is full, so that a short
// r does not cost much memory.
func ReadWords(
	r io.Reader, sum io.Writer, n int, order Order,
) (words []uint64, total int64, err error) {
	arrived := 0
	if left, known := left(r); known {
		if left/8 < int64(n) {
			return nil, 0, ErrTruncated
		}
		arrived = n
	}
	if _, ok := r.(Arrived); ok {
		arrived = n
	}
	buf := make([]byte, min(ChunkBytes, n*8))
	for got := 0; got < n; {
		if got == len(words) {
			grown := bitwords.Make(min(n, max(len(buf)/8, 4*got, arrived)))
			copy(grown, words)
			words = grown
		}
		chunk := buf[:min(len(buf), (len(words)-got)*8)]
		m, err := ReadFull(r, chunk)
		total += int64(m)
		if err != nil {
			return nil, total, err
		}
		if sum != nil {
			_, _ = sum.Write(chunk) // a Sum returns no error
		}
		GetWords(words[got:got+len(chunk)/8], chunk, order)
		got += len(chunk) / 8
	}
	return words, total, nil
}
