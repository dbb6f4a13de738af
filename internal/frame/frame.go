// Package frame is the codec of every binary form that is neither Guava's nor
// Parquet's.
//
// A frame is:
//
//	3 bytes  "BLM", which no form of Guava's begins with
//	1 byte   kind: which type
//	1 byte   version of the kind's parameters and words, from 1 on
//	3 bytes  zero
//	8 bytes  for each parameter, little-endian; the version fixes how many
//	8 bytes  for each word, little-endian; the parameters fix how many
//	4 bytes  CRC-32C of all of the above, little-endian
package frame

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/words"
)

// Kind is a type that has frames.
type Kind struct {
	Package string // of the type, named Filter there
	letter  byte
	params  []int // their number, by version, from 1 on
}

// All kinds. A further version of one appends to its numbers of parameters.
var (
	Blocked  = &Kind{"blocked", 'B', []int{1, 3}}
	Flower   = &Kind{"flower", 'F', []int{3}}
	Window   = &Kind{"window", 'W', []int{8, 10}}
	Counting = &Kind{"counting", 'C', []int{2}}
	Growing  = &Kind{"growing", 'G', []int{2}}
	kinds    = []*Kind{Blocked, Counting, Flower, Growing, Window}
)

// Name returns what the frame that data begins with holds, such as
// "window.Filter", or "" if data begins with no frame.
func Name(data []byte) string {
	if len(data) > len(magic) && string(data[:len(magic)]) == magic {
		for _, k := range kinds {
			if k.letter == data[len(magic)] {
				return k.Package + ".Filter"
			}
		}
	}
	return ""
}

const (
	magic = "BLM"
	start = 8 // bytes before the parameters
	end   = 4 // bytes after the words
)

// MaxWords is the largest number of words in a frame: a tebibyte, or as many as
// a small machine's int can count the bytes of.
const MaxWords = min(1<<37, math.MaxInt/8-words.ChunkBytes)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Size returns the size of a frame in bytes.
func Size(params, words int) int64 { return start + 8*(int64(params)+int64(words)) + end }

// version returns the version with so many parameters.
func (k *Kind) version(params int) byte { return byte(slices.Index(k.params, params) + 1) }

// Write writes a frame to w through a small buffer. Each word is loaded
// atomically, once: others may change them meanwhile, and the frame has
// whatever each was at some time during the call.
func (k *Kind) Write(w io.Writer, params, array []uint64) (int64, error) {
	return k.WriteFunc(w, params, len(array), func(out []byte, from int) {
		words.Put(out, array[from:from+len(out)/8], ^uint64(0), words.LittleEndian)
	})
}

// WriteFunc writes a frame of n words, which put puts: those from the given one
// on, as many as have room.
func (k *Kind) WriteFunc(w io.Writer, params []uint64, n int, put func(out []byte, from int)) (total int64, err error) {
	buf := make([]byte, 0, min(Size(len(params), n), words.ChunkBytes))
	buf = append(buf, magic...)
	buf = append(buf, k.letter, k.version(len(params)), 0, 0, 0)
	for _, p := range params {
		buf = binary.LittleEndian.AppendUint64(buf, p)
	}
	crc := uint32(0)
	for from := 0; ; buf = buf[:0] {
		start := len(buf)
		chunk := min(n-from, (cap(buf)-start-end)/8)
		buf = buf[:start+8*chunk]
		put(buf[start:], from)
		from += chunk
		crc = crc32.Update(crc, castagnoli, buf)
		if from == n {
			buf = binary.LittleEndian.AppendUint32(buf, crc)
		}
		m, err := words.WriteFull(w, buf)
		total += int64(m)
		if err != nil || from == n {
			return total, err
		}
	}
}

// Append appends to b what Write writes.
func (k *Kind) Append(b []byte, params, array []uint64) []byte {
	a := Appender{slices.Grow(b, int(Size(len(params), len(array))))}
	_, _ = k.Write(&a, params, array)
	return a.Bytes
}

// Appender is a writer that never fails.
type Appender struct{ Bytes []byte }

func (a *Appender) Write(p []byte) (int, error) {
	a.Bytes = append(a.Bytes, p...)
	return len(p), nil
}

// A Check says how many words must follow parameters, whose number tells the
// version of the frame. Its error refuses them before memory is taken.
type Check func(params []uint64) (words uint64, err error)

// Header reads what comes before the words of the frame that r yields next, and no
// byte more. It returns the bytes that it read, also with an error. Its errors are as
// ReadFrom of the types should return them.
func (k *Kind) Header(r io.Reader, check Check) (head []byte, params []uint64, n int, err error) {
	read := func(size int) error {
		from := len(head)
		head = slices.Grow(head, size)[:from+size]
		n, err := io.ReadFull(r, head[from:])
		head = head[:from+n]
		if err == io.EOF && from > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return format.ReadError(k.Package, err)
		}
		return nil
	}
	fail := func(f string, args ...any) ([]byte, []uint64, int, error) {
		return head, nil, 0, format.Errorf(k.Package, f, args...)
	}

	if err := read(start); err != nil {
		return head, nil, 0, err
	}
	switch version := head[4]; {
	case head[0] <= 1 && head[1] > 0 && head[2] < 0x80: // Guava's header; see package guava
		return fail("it seems to be a bloom.Filter, not a %s.Filter", k.Package)
	case string(head[:3]) != magic:
		return fail("it starts with % x, not with %q", head[:3], magic)
	case head[3] != k.letter && Name(head) != "":
		return fail("it is a %s, not a %s.Filter", Name(head), k.Package)
	case head[3] != k.letter:
		return fail("kind = %q is unknown", head[3])
	case version < 1 || int(version) > len(k.params):
		return fail("version = %d is outside [1, %d]", version, len(k.params))
	case head[5]|head[6]|head[7] != 0:
		return fail("reserved bytes % x are not zero", head[5:8])
	}
	params = make([]uint64, k.params[head[4]-1])
	if err := read(8 * len(params)); err != nil {
		return head, nil, 0, err
	}
	words.Get(params, head[start:], words.LittleEndian)
	count, err := check(params)
	if err != nil {
		return fail("%s", strings.TrimPrefix(err.Error(), k.Package+": "))
	}
	if count > MaxWords {
		return fail("word count %d is outside [0, %d]", count, uint64(MaxWords))
	}
	return head, params, int(count), nil
}

// Read reads the frame that r yields next, and no byte more. It returns how many
// bytes it read. Its errors are as ReadFrom of the types should return them.
func (k *Kind) Read(r io.Reader, check Check) (params, array []uint64, total int64, err error) {
	head, params, n, err := k.Header(r, check)
	total = int64(len(head))
	if err != nil {
		return nil, nil, total, err
	}
	sum := crc(crc32.Checksum(head, castagnoli))
	array, m, err := words.Read(r, &sum, n, words.LittleEndian)
	total += m
	if err != nil {
		return nil, nil, total, format.ReadError(k.Package, err)
	}
	tail := make([]byte, end)
	read, err := io.ReadFull(r, tail)
	total += int64(read)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, nil, total, format.ReadError(k.Package, err)
	}
	if err := k.checkSum(uint32(sum), tail); err != nil {
		return nil, nil, total, err
	}
	return params, array, total, nil
}

// checkSum compares a sum with the end of a frame.
func (k *Kind) checkSum(sum uint32, tail []byte) error {
	if got := binary.LittleEndian.Uint32(tail); got != sum {
		return format.Errorf(k.Package, "checksum is %08x, should be %08x", got, sum)
	}
	return nil
}

type crc uint32

func (c *crc) Write(p []byte) (int, error) {
	*c = crc(crc32.Update(uint32(*c), castagnoli, p))
	return len(p), nil
}

// Unmarshal is Read of data, to the last byte.
func (k *Kind) Unmarshal(data []byte, check Check) (params, array []uint64, err error) {
	r := bytes.NewReader(data)
	params, array, _, err = k.Read(r, check)
	if err == nil && r.Len() > 0 {
		return nil, nil, format.Errorf(k.Package, "%d bytes too many", r.Len())
	}
	return params, array, err
}
