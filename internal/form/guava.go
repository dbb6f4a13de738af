package form

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// HeaderSize is the size of the header in Guava's binary form. The whole form is:
//
//	1 byte   strategy
//	1 byte   k, unsigned
//	4 bytes  number of words, big-endian
//	8 bytes  for each word, big-endian
const HeaderSize = 6

const (
	// MaxK is the largest number of hashes.
	MaxK = 255
	// MaxWords is the largest number of words. The form has their number as a signed 32-bit
	// integer, and an int of 32 bits must be able to count their bytes.
	MaxWords = min(math.MaxInt32, math.MaxInt/8)
)

// WordsFor returns the number of words of a filter of m bits and k hashes. It returns an error of
// package pkg if k or m is out of range. m may need maxWords words at most.
func WordsFor(pkg string, m uint64, k int, maxWords uint64) (int, error) {
	words := m/64 + min(m%64, 1)
	err := CheckK(pkg, k)
	switch {
	case err != nil:
		return 0, err
	case words < 1 || words > maxWords:
		return 0, fmt.Errorf("%s: m = %d is outside [1, %d]", pkg, m, 64*maxWords)
	case uint64(k) > m:
		return 0, fmt.Errorf("%s: k = %d is more than m = %d: are the two swapped?", pkg, k, m)
	}
	return int(words), nil
}

// CheckK returns an error of package pkg unless a filter can have k hashes.
func CheckK(pkg string, k int) error {
	if k < 1 || k > MaxK {
		return fmt.Errorf("%s: k = %d is outside [1, %d]", pkg, k, MaxK)
	}
	return nil
}

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

// ParseHeader returns the header that data begins with. Its errors are of package pkg and wrap
// ErrFormat.
func ParseHeader(pkg string, data []byte) (h Header, err error) {
	if len(data) == 0 {
		return h, ReadError(pkg, ErrEmpty)
	}
	if len(data) < HeaderSize {
		return h, Errorf(pkg, "%d bytes are too few for a header: %w",
			len(data), io.ErrUnexpectedEOF)
	}
	n := binary.BigEndian.Uint32(data[2:])
	switch {
	case Name(data) != "":
		return h, Errorf(pkg, "it is a %s, not a bloom.Filter", Name(data))
	case string(data[:2]) == "\x1f\x8b":
		return h, Errorf(pkg, "it is compressed with gzip, as filters of holiman/bloomfilter are; "+
			"foreign.NewHoliman reads those")
	case data[0] == '{':
		return h, Errorf(pkg, "it is JSON, "+
			"as filters of bits-and-blooms/bloom and of ipfs/bbloom may be; "+
			"foreign.NewBitsAndBlooms reads those of the former, and a bloom.Filter is a string")
	case data[0] == 0 && data[1] == 0:
		return h, Errorf(pkg, "k = 0: "+
			"filters of bits-and-blooms/bloom and of holiman/bloomfilter begin so; "+
			"foreign.NewBitsAndBlooms and foreign.NewHoliman read those")
	case string(data[:6]) == "\x01\x00\x00\x00\x00\x00":
		return h, Errorf(pkg, "k = 0: filters of DCSO/bloom begin so; foreign.NewDCSO reads those")
	case data[0] > 1 && data[0] < 8 && data[1] > 0 && n > 0 && n <= MaxWords:
		return h, newer(pkg, "strategy = %d is unknown", data[0])
	case data[0] > 1:
		return h, Errorf(pkg, "it starts with % x; a bloom.Filter starts with strategy 0 or 1",
			data[:4])
	case data[1] == 0:
		return h, Errorf(pkg, "k = 0")
	case n == 0 || n > MaxWords:
		return h, Errorf(pkg, "word count %d is outside [1, %d]", n, MaxWords)
	}
	return Header{data[0], int(data[1]), int(n)}, nil
}

// ReadHeader reads the header that r yields next, and returns how many bytes it
// read.
func ReadHeader(pkg string, r io.Reader) (h Header, n int, err error) {
	var data [HeaderSize]byte
	n, err = readStart(r, data[:])
	if err != nil {
		return h, n, ReadError(pkg, err)
	}
	h, err = ParseHeader(pkg, data[:])
	return h, n, err
}

// String names the parameters.
func (h Header) String() string {
	return fmt.Sprintf("m = %d, k = %d, strategy = Mitz%d",
		64*uint64(h.Words), h.K, 32<<h.Strategy)
}

// CheckSize returns the length of the trailer, or 0 if there is none. It returns an error unless
// size is the length of the binary form that begins with h, with or without a trailer.
func (h Header) CheckSize(pkg string, size int64) (trailer int, err error) {
	rest := size - h.Size()
	if rest == 0 || IsTrailerSize(rest) {
		return int(rest), nil
	}
	return 0, Errorf(pkg,
		"%d words make %d bytes, or %d with a checksum and no info, but there are %d",
		h.Words, h.Size(), h.Size()+int64(MinTrailer), size)
}
