package bloom

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Guava's binary form, all of it:
//
//	1 byte   strategy
//	1 byte   k, unsigned
//	4 bytes  number of words, big-endian
//	8 bytes  for each word, big-endian
const headerSize = 6

// ErrFormat is wrapped by every error that means the bytes are not what the
// decoder expects.
var ErrFormat = errors.New("bloom: invalid format")

var errNoForm = errors.New("bloom: the zero value has no binary form")

// AppendBinary appends Guava's binary form of f to b. It returns an error only
// for the zero Filter, which has none.
func (f *Filter) AppendBinary(b []byte) ([]byte, error) {
	if f.k == 0 {
		return b, errNoForm
	}
	b = f.appendHeader(b)
	return appendWords(b, f.bits.words), nil
}

func (f *Filter) appendHeader(b []byte) []byte {
	b = append(b, byte(f.strategy), byte(f.k))
	return binary.BigEndian.AppendUint32(b, uint32(len(f.bits.words)))
}

// MarshalBinary returns Guava's binary form of f, which Java's
// BloomFilter.readFrom reads: 6 bytes and M()/8 more.
func (f *Filter) MarshalBinary() ([]byte, error) {
	return f.AppendBinary(make([]byte, 0, headerSize+len(f.bits.words)*8))
}

// WriteTo writes Guava's binary form of f to w through a small buffer.
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, errNoForm
	}
	buf := make([]byte, 0, min(chunkBytes, headerSize+len(f.bits.words)*8))
	n, err := w.Write(f.appendHeader(buf))
	if err != nil {
		return int64(n), err
	}
	m, err := f.bits.writeWords(w, buf)
	return int64(n) + m, err
}

// UnmarshalBinary makes f the filter whose binary form data is, to the last
// byte. On error, which wraps ErrFormat, f is unchanged. It does not retain data.
func (f *Filter) UnmarshalBinary(data []byte) error {
	g, words, err := parseHeader(data)
	if err != nil {
		return err
	}
	data = data[headerSize:]
	if len(data)%8 != 0 || len(data)/8 != words {
		return fmt.Errorf("%w: %d words followed by %d bytes", ErrFormat, words, len(data))
	}
	g.bits = newBitset(words)
	fill(g.bits.words, data)
	g.ones = g.bits.onesCount()
	*f = g
	return nil
}

// ReadFrom makes f the filter whose binary form r yields next, and reads no
// byte more: what follows stays in r. It allocates as data arrives, not as the
// header promises. On error f is unchanged; the error is r's own or, if r ends
// too early or holds no filter, wraps ErrFormat.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	var header [headerSize]byte
	n, err := io.ReadFull(r, header[:])
	if err != nil {
		return int64(n), readError(err)
	}
	g, words, err := parseHeader(header[:])
	if err != nil {
		return int64(n), err
	}
	m, err := g.bits.readWords(r, words)
	if err != nil {
		return int64(n) + m, readError(err)
	}
	g.ones = g.bits.onesCount()
	*f = g
	return int64(n) + m, nil
}

// parseHeader checks the start of a binary form. It returns a filter without
// words, and how many there should be.
func parseHeader(data []byte) (f Filter, words int, err error) {
	if len(data) < headerSize {
		return f, 0, fmt.Errorf("%w: %d bytes are too few for a header: %w", ErrFormat, len(data), io.ErrUnexpectedEOF)
	}
	f.strategy, f.k = Strategy(data[0]), int(data[1])
	n := binary.BigEndian.Uint32(data[2:])
	switch {
	case f.strategy > Mitz64:
		return f, 0, fmt.Errorf("%w: strategy = %d is unknown", ErrFormat, f.strategy)
	case f.k == 0:
		return f, 0, fmt.Errorf("%w: k = 0", ErrFormat)
	case n == 0 || n > min(maxWords, math.MaxInt/8):
		return f, 0, fmt.Errorf("%w: word count %d is outside [1, %d]", ErrFormat, n, min(maxWords, math.MaxInt/8))
	}
	return f, int(n), nil
}

// readError turns the ends of a reader that came too early into ErrFormat.
func readError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: truncated: %w", ErrFormat, err)
	}
	return fmt.Errorf("bloom: reading: %w", err)
}

// AppendText appends the standard base64 encoding of f's binary form to b.
func (f *Filter) AppendText(b []byte) ([]byte, error) {
	data, err := f.MarshalBinary()
	if err != nil {
		return b, err
	}
	return base64.StdEncoding.AppendEncode(b, data), nil
}

// MarshalText returns the standard base64 encoding of f's binary form. With it
// a Filter is a string in JSON, XML, flags and cookies.
func (f *Filter) MarshalText() ([]byte, error) { return f.AppendText(nil) }

// UnmarshalText is UnmarshalBinary of base64 text.
func (f *Filter) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.Strict().AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return f.UnmarshalBinary(data)
}
