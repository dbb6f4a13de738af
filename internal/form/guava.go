package form

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom/internal/gunzip"
)

// HeaderSize is the size of the header in Guava's binary form. The whole form is:
//
//	1 byte   strategy
//	1 byte   k, unsigned
//	4 bytes  number of words, big-endian
//	8 bytes  for each word, big-endian
const HeaderSize = 6

const (
	// MaxK is the largest number of hash functions.
	MaxK = 255
	// MaxWords is the largest number of words. The form stores the number in a signed 32-bit
	// integer, and on 32-bit platforms an int must be able to count the bytes.
	MaxWords = min(math.MaxInt32, math.MaxInt/8)
)

// WordsFor returns the number of words of a filter with m bits and k hash functions, or a Param if
// k or m is out of range. A filter may have at most maxWords words, and k may be at most m.
func WordsFor(m uint64, k int, maxWords uint64) (int, *Param) {
	if bad := CheckK(k); bad != nil {
		return 0, bad
	}
	words := m/64 + min(m%64, 1)
	switch {
	case words < 1 || words > maxWords:
		return 0, NewParam("m", m, "outside [1, %d]", 64*maxWords)
	case uint64(k) > m:
		return 0, NewParam("k", k, "more than m = %d", m).Advise("are the two swapped?")
	}
	return int(words), nil
}

// CheckK returns a Param if a filter cannot have k hash functions, and otherwise nil.
func CheckK(k int) *Param {
	if k < 1 || k > MaxK {
		return NewParam("k", k, "outside [1, %d]", MaxK)
	}
	return nil
}

// Header is the header of Guava's binary form.
type Header struct {
	Strategy uint8 // 0 or 1
	K        int   // 1 to MaxK
	Words    int   // 1 to MaxWords
}

// Append appends the bytes of h to b.
func (h Header) Append(b []byte) []byte {
	b = append(b, h.Strategy, byte(h.K))
	return binary.BigEndian.AppendUint32(b, uint32(h.Words))
}

// Size returns the length of the binary form in bytes, without a trailer.
func (h Header) Size() int64 { return HeaderSize + 8*int64(h.Words) }

func parseHeader(pkg string, data []byte) (h Header, err error) {
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
	case gunzip.Begins(data):
		return h, Errorf(pkg, "it is compressed with gzip, as filters of holiman/bloomfilter are; "+
			"foreign.NewHoliman reads those")
	case data[0] == '{':
		return h, Errorf(pkg, "it is JSON, "+
			"as filters of bits-and-blooms/bloom and of ipfs/bbloom may be; "+
			"foreign.NewBitsAndBlooms reads the former; in JSON, a bloom.Filter is a string")
	case data[0] == 0 && data[1] == 0:
		return h, Errorf(pkg, "k = 0: "+
			"filters of bits-and-blooms/bloom and of holiman/bloomfilter begin like this; "+
			"foreign.NewBitsAndBlooms and foreign.NewHoliman read those")
	case string(data[:6]) == "\x01\x00\x00\x00\x00\x00":
		return h, Errorf(pkg, "k = 0: filters of DCSO/bloom begin like this; foreign.NewDCSO reads those")
	case string(data[:2]) == "\xac\xed":
		return h, Errorf(pkg, "it is a Java object that an ObjectOutputStream wrote; "+
			"BloomFilter.writeTo writes a bloom.Filter")
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

// String lists the parameters.
func (h Header) String() string {
	return fmt.Sprintf("m = %d, k = %d, strategy = Mitz%d",
		64*uint64(h.Words), h.K, 32<<h.Strategy)
}

// checkSize returns the length of the trailer in a form of size bytes with the header h, or 0 if
// the form has no trailer. It returns an error if no form with this header has that size.
func (h Header) checkSize(pkg string, size int64) (trailer int, err error) {
	rest := size - h.Size()
	if rest == 0 || IsTrailerSize(rest) {
		return int(rest), nil
	}
	if rest == 1 {
		return 0, Errorf(pkg, "%d words make %d bytes, and one more follows: "+
			"perhaps the newline of redis-cli --raw or echo", h.Words, h.Size())
	}
	return 0, Errorf(pkg,
		"%d words make %d bytes, or %d with a checksum and no info, but there are %d",
		h.Words, h.Size(), h.Size()+int64(MinTrailer), size)
}

// Guava reads and writes Guava's form. In a file, a trailer may follow the form; without a trailer,
// the Info is zero. The value of a Guava is the name of the calling package. Decoding errors begin
// with this name, except the errors of an accept function.
type Guava string

// WriteFile writes a form and its trailer to w. info must have passed Check.
func (pkg Guava) WriteFile(w io.Writer, h Header, words []uint64, info Info) error {
	var sum Sum
	head := h.Append(nil)
	if _, err := WriteWords(io.MultiWriter(w, &sum), head, words, BigEndian); err != nil {
		return err
	}
	_, err := WriteFull(w, sum.Trailer(head, info))
	return err
}

// Read reads one form from r, without a trailer, and nothing after it. total is the number of bytes
// that it read.
func (pkg Guava) Read(r io.Reader) (h Header, words []uint64, total int64, err error) {
	h, _, words, total, err = pkg.read(r, nil, func(Header) error { return nil })
	return h, words, total, err
}

// read is like Read, but also returns the bytes of the header, and adds all bytes to sum unless sum
// is nil. accept may refuse the header before the words are allocated.
func (pkg Guava) read(
	r io.Reader, sum io.Writer, accept func(Header) error,
) (h Header, head []byte, words []uint64, total int64, err error) {
	head = make([]byte, HeaderSize)
	n, err := readStart(r, head)
	total = int64(n)
	if err != nil {
		return h, nil, nil, total, ReadError(string(pkg), err)
	}
	h, err = parseHeader(string(pkg), head)
	if err == nil {
		err = accept(h)
	}
	if err != nil {
		return h, nil, nil, total, err
	}
	if sum != nil {
		_, _ = sum.Write(head) // a Sum returns no error
	}
	words, m, err := ReadWords(r, sum, h.Words, BigEndian)
	total += m
	if err != nil {
		return h, nil, nil, total, ReadError(string(pkg), err)
	}
	return h, head, words, total, nil
}

// ReadFile is like ReadAll, but returns an error if the header does not fit the size of the file.
func (pkg Guava) ReadFile(r *FileReader) (h Header, words []uint64, info Info, err error) {
	size := r.Left
	h, words, info, err = pkg.ReadAll(r, func(h Header) error {
		_, err := h.checkSize(string(pkg), size)
		return err
	})
	if err == nil && r.Left > 0 { // the file may have become shorter after it was opened
		err = ReadError(string(pkg), ErrTruncated)
	}
	return h, words, info, err
}

// ReadAll reads r to its end: a form, and its trailer if it has one. accept may refuse the header
// before the words are allocated.
func (pkg Guava) ReadAll(
	r io.Reader, accept func(Header) error,
) (h Header, words []uint64, info Info, err error) {
	var sum Sum
	h, head, words, _, err := pkg.read(r, &sum, accept)
	if err != nil {
		return h, nil, info, err
	}
	trailer, err := io.ReadAll(io.LimitReader(r, int64(MaxTrailer)+1))
	if err != nil {
		return h, nil, info, ReadError(string(pkg), err)
	}
	if len(trailer) > 0 {
		info, err = sum.CheckTrailer(string(pkg), head, trailer)
	}
	return h, words, info, err
}

// Parse returns the header, the bytes of the words and the Info of data, which is a form with or
// without a trailer. It checks the header and the trailer, but not the checksum of the words; see
// Verify.
func (pkg Guava) Parse(data []byte) (h Header, body []byte, info Info, err error) {
	h, trailer, err := pkg.parseHead(data, int64(len(data)))
	if err != nil {
		return h, nil, info, Refused(string(pkg), data, err)
	}
	if trailer > 0 {
		info, err = ParseTrailer(string(pkg), data[:HeaderSize], data[h.Size():])
	}
	return h, data[HeaderSize:h.Size()], info, err
}

// parseHead decodes the beginning of a form of size bytes.
func (pkg Guava) parseHead(data []byte, size int64) (h Header, trailer int, err error) {
	if h, err = parseHeader(string(pkg), data); err == nil {
		trailer, err = h.checkSize(string(pkg), size)
	}
	return h, trailer, err
}

// ParseAt is like Parse, but for the form in r, which has size bytes. It reads only the header and
// the trailer.
func (pkg Guava) ParseAt(r io.ReaderAt, size int64) (h Header, info Info, err error) {
	head, err := ReadAt(string(pkg), r, 0, max(0, min(size, HeaderSize)))
	if err != nil {
		return h, info, err
	}
	h, trailer, err := pkg.parseHead(head, size)
	if err != nil {
		return h, info, RefusedAt(string(pkg), r, size, err)
	}
	if trailer == 0 {
		return h, info, nil
	}
	end, err := ReadAt(string(pkg), r, h.Size(), int64(trailer))
	if err == nil {
		info, err = ParseTrailer(string(pkg), head, end)
	}
	return h, info, err
}

// Verify checks the checksum of data, which must have passed Parse. A form without a trailer has no
// checksum.
func (pkg Guava) Verify(data []byte) error {
	h, err := parseHeader(string(pkg), data)
	if err != nil || int64(len(data)) == h.Size() {
		return err
	}
	var sum Sum
	sum.Write(data[:h.Size()])
	_, err = sum.CheckTrailer(string(pkg), data[:HeaderSize], data[h.Size():])
	return err
}
