// Package guava has the codec of Guava's header and of the trailer that files
// have after Guava's binary form, and finds the bits of Guava's indexes. Files, HTTP
// and Redis parse them here and nowhere else. It also has the arithmetic that these
// share with package bloom. The nested modules of this repository use it, too: names and
// meanings stay.
package guava

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
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

// A file is Guava's binary form, which is all that Java reads, and a trailer:
//
//	5 bytes  "bloom"
//	1 byte   version, 1
//	4 bytes  CRC-32C of everything before, big-endian
//
// The trailer is no multiple of 8 bytes long, so that no damaged word count can
// make a filter of a trailer: the length tells whether there is one.
const (
	trailerMagic = "bloom\x01"
	TrailerSize  = len(trailerMagic) + crc32.Size
)

// Sum is the checksum of what is written to it.
type Sum uint32

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write never fails.
func (s *Sum) Write(p []byte) (int, error) {
	*s = Sum(crc32.Update(uint32(*s), castagnoli, p))
	return len(p), nil
}

// Trailer returns the trailer of a binary form that s has seen.
func (s Sum) Trailer() []byte {
	s.Write([]byte(trailerMagic))
	return binary.BigEndian.AppendUint32([]byte(trailerMagic), uint32(s))
}

// CheckTrailer returns an error unless trailer is the one of a binary form that s
// has seen.
func (s Sum) CheckTrailer(pkg string, trailer []byte) error {
	if err := CheckMagic(pkg, trailer); err != nil {
		return err
	}
	if want := s.Trailer(); string(trailer) != string(want) {
		return format.Errorf(pkg, "checksum is %x, should be %x", trailer[len(trailerMagic):], want[len(trailerMagic):])
	}
	return nil
}

// CheckMagic returns an error unless trailer is the trailer of some binary form.
func CheckMagic(pkg string, trailer []byte) error {
	if len(trailer) != TrailerSize || string(trailer[:len(trailerMagic)]) != trailerMagic {
		return format.Errorf(pkg, "the filter is followed by % x", trailer)
	}
	return nil
}

// CheckSize returns an error unless size is the length in bytes of h's binary
// form, or of that and a trailer. It reports which.
func (h Header) CheckSize(pkg string, size int64) (trailer bool, err error) {
	switch size - h.Size() {
	case 0:
		return false, nil
	case int64(TrailerSize):
		return true, nil
	}
	return false, format.Errorf(pkg, "%d words make %d bytes, or %d with a trailer, but there are %d",
		h.Words, h.Size(), h.Size()+int64(TrailerSize), size)
}

// String names the parameters.
func (h Header) String() string {
	return fmt.Sprintf("m = %d, k = %d, strategy = Mitz%d", 64*uint64(h.Words), h.K, 32<<h.Strategy)
}
