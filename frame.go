package bloom

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
)

// A frame is the binary form of every type here that Guava has no form for:
//
//	3 bytes  "BLM", which no form of Guava's begins with
//	1 byte   kind: which type
//	1 byte   version of the kind's parameters and words: 1
//	3 bytes  zero
//	8 bytes  for each parameter, little-endian; the kind fixes how many
//	8 bytes  for each word, little-endian; the parameters fix how many
//	4 bytes  CRC-32C of all of the above, little-endian
const (
	frameMagic   = "BLM"
	frameVersion = 1
	frameStart   = 8 // bytes before the parameters
	frameEnd     = 4 // bytes after the words
)

const (
	kindBlocked = 'B'
	kindFlower  = 'F'
	kindWindow  = 'W'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// maxFrameWords is the largest number of words in a frame: a tebibyte, or as
// many as a small machine's int can count the bytes of.
const maxFrameWords = min(1<<37, math.MaxInt/8-chunkBytes)

// writeFrame writes a frame to w through a buffer of chunkBytes. Each word is
// loaded atomically, once: others may change them meanwhile, and the frame has
// whatever each was at some time during the call.
func writeFrame(w io.Writer, kind byte, params, words []uint64) (int64, error) {
	return writeFrameFunc(w, kind, params, len(words), func(out []byte, from int) {
		putWords(out, words[from:from+len(out)/8], ^uint64(0))
	})
}

// writeFrameFunc writes a frame of n words, which put puts: those from the
// given one on, as many as have room.
func writeFrameFunc(w io.Writer, kind byte, params []uint64, n int, put func(out []byte, from int)) (total int64, err error) {
	buf := make([]byte, 0, min(frameSize(len(params), n), chunkBytes))
	buf = append(buf, frameMagic...)
	buf = append(buf, kind, frameVersion, 0, 0, 0)
	for _, p := range params {
		buf = binary.LittleEndian.AppendUint64(buf, p)
	}
	crc := uint32(0)
	for from := 0; ; buf = buf[:0] {
		start := len(buf)
		chunk := min(n-from, (cap(buf)-start-frameEnd)/8)
		buf = buf[:start+8*chunk]
		put(buf[start:], from)
		from += chunk
		crc = crc32.Update(crc, castagnoli, buf)
		if from == n {
			buf = binary.LittleEndian.AppendUint32(buf, crc)
		}
		m, err := w.Write(buf)
		total += int64(m)
		if err != nil || from == n {
			return total, err
		}
	}
}

// frameSize returns the size of a frame in bytes.
func frameSize(params, words int) int { return frameStart + 8*(params+words) + frameEnd }

// putWords puts words, loaded atomically, less the bits not in mask, into out,
// which is as long. Four at a time takes half the time of one by one.
func putWords(out []byte, words []uint64, mask uint64) {
	for ; len(words) >= 4 && len(out) >= 32; words, out = words[4:], out[32:] {
		binary.LittleEndian.PutUint64(out, atomic.LoadUint64(&words[0])&mask)
		binary.LittleEndian.PutUint64(out[8:], atomic.LoadUint64(&words[1])&mask)
		binary.LittleEndian.PutUint64(out[16:], atomic.LoadUint64(&words[2])&mask)
		binary.LittleEndian.PutUint64(out[24:], atomic.LoadUint64(&words[3])&mask)
	}
	for i := range words {
		binary.LittleEndian.PutUint64(out[8*i:], atomic.LoadUint64(&words[i])&mask)
	}
}

// appendFrame appends to b what writeFrame writes.
func appendFrame(b []byte, kind byte, params, words []uint64) []byte {
	a := appender{slices.Grow(b, frameSize(len(params), len(words)))}
	writeFrame(&a, kind, params, words)
	return a.b
}

type appender struct{ b []byte }

func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// readFrame reads the frame that r yields next, and no byte more. It reads
// parameters into params, whose length is the kind's, and has check say how
// many words must follow them. An error of check's, which need not wrap
// ErrFormat, refuses them before memory is taken. All errors are as ReadFrom
// of the types should return them.
func readFrame(r io.Reader, kind byte, params []uint64, check func() (words uint64, err error)) (words []uint64, total int64, err error) {
	buf := make([]byte, frameStart+8*len(params))
	read := func(p []byte) error {
		n, err := io.ReadFull(r, p)
		total += int64(n)
		if err == io.EOF && total > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return readError(err)
		}
		return nil
	}
	if err := read(buf[:frameStart]); err != nil {
		return nil, total, err
	}
	switch {
	case string(buf[:3]) != frameMagic:
		return nil, total, fmt.Errorf("%w: starts with %q, not %q", ErrFormat, buf[:3], frameMagic)
	case buf[3] != kind:
		return nil, total, fmt.Errorf("%w: kind is %q, not %q", ErrFormat, buf[3], kind)
	case buf[4] != frameVersion:
		return nil, total, fmt.Errorf("%w: version = %d is not %d", ErrFormat, buf[4], frameVersion)
	case buf[5]|buf[6]|buf[7] != 0:
		return nil, total, fmt.Errorf("%w: reserved bytes % x are not zero", ErrFormat, buf[5:8])
	}
	if err := read(buf[frameStart:]); err != nil {
		return nil, total, err
	}
	for i := range params {
		params[i] = binary.LittleEndian.Uint64(buf[frameStart+8*i:])
	}
	n, err := check()
	if err == nil && n > maxFrameWords {
		err = fmt.Errorf("word count %d is outside [0, %d]", n, uint64(maxFrameWords))
	}
	if err != nil {
		return nil, total, fmt.Errorf("%w: %s", ErrFormat, strings.TrimPrefix(err.Error(), "bloom: "))
	}
	crc := crc32.Update(0, castagnoli, buf)

	// The words' memory grows by four whenever it is full, so that it never is
	// more than four times what has arrived, and at most a third of it is copied.
	// What a bytes.Reader holds has arrived.
	arrived := 0
	if b, ok := r.(*bytes.Reader); ok {
		if arrived = b.Len() / 8; uint64(arrived) < n {
			return nil, total, readError(io.ErrUnexpectedEOF)
		}
	}
	buf = make([]byte, min(chunkBytes, 8*n))
	for got := 0; got < int(n); {
		if got == len(words) {
			grown := newWords(min(int(n), max(len(buf)/8, 4*got, arrived)))
			copy(grown, words)
			words = grown
		}
		chunk := buf[:min(len(buf), 8*(len(words)-got))]
		if err := read(chunk); err != nil {
			return nil, total, err
		}
		crc = crc32.Update(crc, castagnoli, chunk)
		for in := chunk; len(in) >= 8 && got < len(words); in = in[8:] {
			words[got] = binary.LittleEndian.Uint64(in)
			got++
		}
	}
	var end [frameEnd]byte
	if err := read(end[:]); err != nil {
		return nil, total, err
	}
	if sum := binary.LittleEndian.Uint32(end[:]); sum != crc {
		return nil, total, fmt.Errorf("%w: checksum is %08x, should be %08x", ErrFormat, sum, crc)
	}
	return words, total, nil
}

// unmarshalFrame is readFrame of data, to the last byte.
func unmarshalFrame(data []byte, kind byte, params []uint64, check func() (uint64, error)) ([]uint64, error) {
	r := bytes.NewReader(data)
	words, _, err := readFrame(r, kind, params, check)
	if err == nil && r.Len() > 0 {
		return nil, fmt.Errorf("%w: %d bytes too many", ErrFormat, r.Len())
	}
	return words, err
}
