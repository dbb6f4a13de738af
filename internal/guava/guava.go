// Package guava has the codec of Guava's header and of the trailer that files
// have after Guava's binary form, and finds the bits of Guava's indexes. Files, HTTP
// and Redis parse them here and nowhere else. It also has the arithmetic that these
// share with package bloom. The nested modules of this repository use it, too: names and
// meanings stay.
package guava

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
)

// Guava's binary form, all of it:
//
//	1 byte   strategy
//	1 byte   k, unsigned
//	4 bytes  number of words, big-endian
//	8 bytes  for each word, big-endian
const HeaderSize = 6

const (
	// MaxK is the largest number of hashes.
	MaxK = 255
	// MaxWords is the largest number of words: their count is a signed 32-bit
	// integer, and a small machine's int counts their bytes.
	MaxWords = min(math.MaxInt32, math.MaxInt/8)
)

// Header is the start of Guava's binary form.
type Header struct {
	Strategy uint8 // 0 or 1
	K        int   // 1 to MaxK
	Words    int   // 1 to MaxWords
}

// Append appends h's bytes to b.
func (h Header) Append(b []byte) []byte {
	b = append(b, h.Strategy, byte(h.K))
	return binary.BigEndian.AppendUint32(b, uint32(h.Words))
}

// Size returns the length of the binary form that h begins, in bytes.
func (h Header) Size() int64 { return HeaderSize + 8*int64(h.Words) }

// ParseHeader returns the header that data begins with. Its errors wrap
// format.ErrFormat and begin with pkg.
func ParseHeader(pkg string, data []byte) (h Header, err error) {
	if len(data) < HeaderSize {
		return h, format.Errorf(pkg, "%d bytes are too few for a header: %w", len(data), io.ErrUnexpectedEOF)
	}
	n := binary.BigEndian.Uint32(data[2:])
	switch {
	case frame.Name(data) != "":
		return h, format.Errorf(pkg, "it is a %s, not a bloom.Filter", frame.Name(data))
	case data[0] > 1:
		return h, format.Errorf(pkg, "it starts with % x; a bloom.Filter starts with strategy 0 or 1", data[:4])
	case data[1] == 0:
		return h, format.Errorf(pkg, "k = 0")
	case n == 0 || n > MaxWords:
		return h, format.Errorf(pkg, "word count %d is outside [1, %d]", n, MaxWords)
	}
	return Header{data[0], int(data[1]), int(n)}, nil
}

// ReadHeader reads the header that r yields next, and returns how many bytes it
// read.
func ReadHeader(pkg string, r io.Reader) (h Header, n int, err error) {
	var data [HeaderSize]byte
	n, err = io.ReadFull(r, data[:])
	if err != nil {
		return h, n, format.ReadError(pkg, err)
	}
	h, err = ParseHeader(pkg, data[:])
	return h, n, err
}

// String names the parameters.
func (h Header) String() string {
	return fmt.Sprintf("m = %d, k = %d, strategy = Mitz%d", 64*uint64(h.Words), h.K, 32<<h.Strategy)
}
