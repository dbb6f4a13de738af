package form

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
)

// Patches and all filters except bloom.Filter are encoded as frames. The layers of a growing.Filter
// follow its frame. A frame has:
//
//	3 bytes  "BLM", with which Guava's form never begins
//	1 byte   kind: a letter; see kinds
//	1 byte   version of the kind's form, 1
//	1 byte   zero
//	2 bytes  length of the trailer, little-endian
//	8 bytes  for each parameter, little-endian; the kind determines their number
//	8 bytes  for each word, little-endian; the parameters determine their number
//	         the trailer; see trailer.go
//
// The head of a frame is everything before the words.

// Kind describes the frames of one type, or patches.
type Kind struct {
	Package string
	name    string
	letter  byte
	params  int // number of parameters
}

var (
	Bank     = &Kind{"bank", "bank.Bank", 'K', 4}
	Blocked  = &Kind{"blocked", "blocked.Filter", 'B', 3}
	Flower   = &Kind{"flower", "flower.Filter", 'F', 3}
	Window   = &Kind{"window", "window.Filter", 'W', 78}
	Counting = &Kind{"counting", "counting.Filter", 'C', 2}
	Cuckoo   = &Kind{"cuckoo", "cuckoo.Filter", 'U', 3}
	Growing  = &Kind{"growing", "growing.Filter", 'G', 3}

	patchKind = &Kind{"bloom", "patch", 'P', patchParams} // see patch.go

	kinds = []*Kind{Bank, Blocked, Counting, Cuckoo, Flower, Growing, Window, patchKind}
)

// KindOf returns the kind of the frame at the beginning of data, or nil if there is no frame of a
// known kind.
func KindOf(data []byte) *Kind {
	if len(data) > len(magic) && string(data[:len(magic)]) == magic {
		for _, k := range kinds {
			if k.letter == data[len(magic)] {
				return k
			}
		}
	}
	return nil
}

// Name returns the name of KindOf(data), such as "window.Filter", or "" if KindOf returns nil.
func Name(data []byte) string {
	if k := KindOf(data); k != nil {
		return k.name
	}
	return ""
}

const (
	magic   = "BLM"
	version = 1
	start   = 8 // number of bytes before the parameters
)

// MaxFrameWords is the largest number of words in a frame. They take a tebibyte, or on 32-bit
// platforms almost as many bytes as an int can count.
const MaxFrameWords = min(1<<37, math.MaxInt/8-ChunkBytes)

// HeadSize returns the length of the head in bytes.
func (k *Kind) HeadSize() int { return start + 8*k.params }

// Size returns the size of a frame in bytes.
func (k *Kind) Size(words int, info Info) int64 {
	return int64(k.HeadSize()) + 8*int64(words) + int64(TrailerSize(info))
}

// Write writes a frame to w through a small buffer. It loads each word once and atomically, so
// other goroutines may write to array atomically at the same time. It returns the error of w, or an
// error if info cannot be saved.
func (k *Kind) Write(w io.Writer, params, array []uint64, info Info) (int64, error) {
	return k.WriteFunc(w, params, len(array), info, func(dst []byte, first int) {
		PutWords(dst, array[first:first+len(dst)/8], ^uint64(0), LittleEndian)
	})
}

// WriteFunc writes a frame of n words. It calls fill for each chunk: fill must set dst to the
// bytes of len(dst)/8 words, starting with the word at index first.
func (k *Kind) WriteFunc(
	w io.Writer, params []uint64, n int, info Info, fill func(dst []byte, first int),
) (total int64, err error) {
	if bad := info.Check(); bad != nil {
		return 0, bad.In(k.Package)
	}
	head := make([]byte, 0, k.HeadSize())
	head = append(head, magic...)
	head = append(head, k.letter, version, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(TrailerSize(info)))
	for _, p := range params {
		head = binary.LittleEndian.AppendUint64(head, p)
	}
	var sum Sum
	buf := append(make([]byte, 0, min(len(head)+8*n, ChunkBytes)), head...)
	for first := 0; ; buf = buf[:0] {
		start := len(buf)
		chunk := min(n-first, (cap(buf)-start)/8)
		buf = buf[:start+8*chunk]
		fill(buf[start:], first)
		first += chunk
		sum.Write(buf)
		if first == n {
			buf = append(buf, sum.Trailer(head, info)...)
		}
		m, err := WriteFull(w, buf)
		total += int64(m)
		if err != nil || first == n {
			return total, err
		}
	}
}

// Append appends to b the frame that Write would write.
func (k *Kind) Append(b []byte, params, array []uint64, info Info) ([]byte, error) {
	a := appender(slices.Grow(b, int(k.Size(len(array), info))))
	_, err := k.Write(&a, params, array, info)
	return a, err
}

type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// A Check returns the number of words that follow the given parameters, or an error if a parameter
// is out of range. It is called before the words are allocated.
type Check func(params []uint64) (words uint64, err error)

type head struct {
	bytes   []byte // the bytes that were read, even after an error
	params  []uint64
	words   int
	trailer int // length of the trailer in bytes
}

// readHead reads the head of a frame from r, and nothing after it. Its errors begin with the name
// of k's package.
func (k *Kind) readHead(r io.Reader, check Check) (h head, err error) {
	h.bytes = make([]byte, k.HeadSize())
	n, err := readStart(r, h.bytes[:start])
	if err != nil {
		h.bytes = h.bytes[:n]
		return h, ReadError(k.Package, err)
	}
	if err := k.checkStart(h.bytes[:start]); err != nil {
		h.bytes = h.bytes[:n]
		return h, err
	}
	n, err = ReadFull(r, h.bytes[start:])
	if err != nil {
		h.bytes = h.bytes[:start+n]
		return h, ReadError(k.Package, err)
	}
	h.trailer = int(binary.LittleEndian.Uint16(h.bytes[6:]))
	h.params = make([]uint64, k.params)
	GetWords(h.params, h.bytes[start:], LittleEndian)
	count, err := check(h.params)
	if err != nil {
		return h, Errorf(k.Package, "%w", err)
	}
	if count > MaxFrameWords {
		return h, Errorf(k.Package, "word count %d is outside [0, %d]", count, uint64(MaxFrameWords))
	}
	h.words = int(count)
	return h, nil
}

func (k *Kind) checkStart(b []byte) error {
	fail := func(f string, args ...any) error { return Errorf(k.Package, f, args...) }
	switch trailer := binary.LittleEndian.Uint16(b[6:]); {
	case b[0] <= 1 && b[1] > 0 && b[2] < 0x80: // Guava's header; see guava.go
		return fail("it seems to be a bloom.Filter, not a %s", k.name)
	case string(b[:3]) != magic:
		return fail("it starts with % x, not with %q", b[:3], magic)
	case b[3] != k.letter && Name(b) != "":
		return fail("it is a %s, not a %s", Name(b), k.name)
	case b[3] != k.letter && b[3] >= 'A' && b[3] <= 'Z':
		return newer(k.Package, "kind = %q is unknown", b[3])
	case b[3] != k.letter:
		return fail("kind = %q is unknown", b[3])
	case b[4] > version:
		return newer(k.Package, "version = %d is not %d", b[4], version)
	case b[4] != version:
		return fail("version = %d is not %d", b[4], version)
	case b[5] != 0:
		return fail("reserved byte %#x is not zero", b[5])
	case !IsTrailerSize(int64(trailer)):
		return fail("a trailer cannot have %d bytes", trailer)
	}
	return nil
}

// Read reads one frame from r, and nothing after it. total is the number of bytes that it read.
// Errors begin with the name of k's package.
func (k *Kind) Read(
	r io.Reader, check Check,
) (params, array []uint64, info Info, total int64, err error) {
	h, err := k.readHead(r, check)
	total = int64(len(h.bytes))
	if err != nil {
		return nil, nil, info, total, err
	}
	var sum Sum
	sum.Write(h.bytes)
	array, m, err := ReadWords(r, &sum, h.words, LittleEndian)
	total += m
	if err != nil {
		return nil, nil, info, total, ReadError(k.Package, err)
	}
	trailer := make([]byte, h.trailer)
	n, err := ReadFull(r, trailer)
	total += int64(n)
	if err != nil {
		return nil, nil, info, total, ReadError(k.Package, err)
	}
	info, err = sum.CheckTrailer(k.Package, h.bytes, trailer)
	return h.params, array, info, total, err
}

// Unmarshal is like Read, but decodes data, which must be exactly one frame.
func (k *Kind) Unmarshal(data []byte, check Check) (params, array []uint64, info Info, err error) {
	r := bytes.NewReader(data)
	params, array, info, _, err = k.Read(r, check)
	if err == nil && r.Len() > 0 {
		err = Errorf(k.Package, "%d bytes too many", r.Len())
	}
	return params, array, info, Refused(k.Package, data, err)
}

// Parse is like Unmarshal, but does not copy the words: body is the part of data that holds them.
// It checks the head and the trailer, but not the checksum of the words; see Verify.
func (k *Kind) Parse(
	data []byte, check Check,
) (params []uint64, body []byte, info Info, err error) {
	h, err := k.readHead(bytes.NewReader(data), check)
	if err == nil {
		err = k.checkSize(h, int64(len(data)))
	}
	if err != nil {
		return nil, nil, info, Refused(k.Package, data, err)
	}
	end := len(data) - h.trailer
	if info, err = ParseTrailer(k.Package, h.bytes, data[end:]); err != nil {
		return nil, nil, info, err
	}
	return h.params, data[len(h.bytes):end], info, nil
}

// ParseAt is like Parse, but for the frame in r, which has size bytes. It reads only the head and
// the trailer.
func (k *Kind) ParseAt(
	r io.ReaderAt, size int64, check Check,
) (params []uint64, info Info, err error) {
	data, err := k.ReadAt(r, 0, max(0, min(size, int64(k.HeadSize()))))
	if err != nil {
		return nil, info, err
	}
	h, err := k.readHead(bytes.NewReader(data), check)
	if err == nil {
		err = k.checkSize(h, size)
	}
	if err != nil {
		return nil, info, RefusedAt(k.Package, r, size, err)
	}
	trailer, err := k.ReadAt(r, size-int64(h.trailer), int64(h.trailer))
	if err != nil {
		return nil, info, err
	}
	info, err = ParseTrailer(k.Package, h.bytes, trailer)
	return h.params, info, err
}

// ReadAt is like the function ReadAt, with errors that begin with the name of k's package.
func (k *Kind) ReadAt(r io.ReaderAt, offset, n int64) ([]byte, error) {
	return ReadAt(k.Package, r, offset, n)
}

// ReadAt reads n bytes of r at offset in one request. Errors begin with pkg.
func ReadAt(pkg string, r io.ReaderAt, offset, n int64) ([]byte, error) {
	data := make([]byte, n)
	if _, err := ReadFull(io.NewSectionReader(r, offset, n), data); err != nil {
		return nil, ReadError(pkg, err)
	}
	return data, nil
}

func (k *Kind) checkSize(h head, size int64) error {
	want := int64(len(h.bytes)) + 8*int64(h.words) + int64(h.trailer)
	switch {
	case size < want:
		return Errorf(k.Package, "%d bytes, not %d: %w", size, want, ErrTruncated)
	case size > want:
		return Errorf(k.Package, "%d bytes too many", size-want)
	}
	return nil
}

// Verify checks the checksum of data, which must have passed Parse.
func (k *Kind) Verify(data []byte) error {
	end := len(data) - int(binary.LittleEndian.Uint16(data[6:]))
	var sum Sum
	sum.Write(data[:end])
	_, err := sum.CheckTrailer(k.Package, data[:k.HeadSize()], data[end:])
	return err
}
