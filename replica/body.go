package replica

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/bits"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/guava"
)

// An answer is sent in pieces. Each comes from the version that is current when
// its turn has come, so that a slow client keeps no other in memory. That is
// right because all versions have the same parameters, and a newer one has the
// bits of all keys that an older one has, but for removed keys.

// pieceSize is how much of a filter's binary form is in a piece.
const pieceSize = 64 << 10

// send writes the file form of the current version, of which size bytes precede
// the trailer.
func (p *Publisher) send(w io.Writer, size int) error {
	var sum guava.Sum
	buf := make([]byte, min(size, pieceSize)) // a piece of the version itself would keep all of it
	for at := 0; at < size; at += pieceSize {
		n := copy(buf, p.current.Load().data[at:])
		sum.Write(buf[:n])
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
	}
	_, err := w.Write(sum.Trailer())
	return err
}

// packed is a piece after compression.
type packed struct {
	deflated []byte // blocks of deflate, none the last; they refer to no other piece
	// The checksums of the piece, by gzip's CRC and the trailer's, each XORed with
	// that of as many zeros.
	gzip uint32
	file guava.Sum
}

var zeros [pieceSize]byte

// gzipAfter and fileAfter return the checksum of what has checksum crc so far and
// is followed by n zeros.
var (
	gzipAfter = afterZeros(func(crc uint32, zeros []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, zeros) })
	fileAfter = afterZeros(func(crc uint32, zeros []byte) uint32 {
		sum := guava.Sum(crc)
		sum.Write(zeros)
		return uint32(sum)
	})
)

// afterZeros makes update fast for a piece of zeros. That is a linear map and a
// constant, so that its values for single bits tell all others. For a delta,
// reading the zeros would take longer than sending it.
func afterZeros(update func(crc uint32, zeros []byte) uint32) func(crc uint32, n int) uint32 {
	table := sync.OnceValue(func() (t [33]uint32) {
		t[32] = update(0, zeros[:])
		for i := range 32 {
			t[i] = update(1<<i, zeros[:]) ^ t[32]
		}
		return t
	})
	return func(crc uint32, n int) uint32 {
		if n != pieceSize {
			return update(crc, zeros[:n])
		}
		t := table()
		sum := t[32]
		for ; crc != 0; crc &= crc - 1 {
			sum ^= t[bits.TrailingZeros32(crc)]
		}
		return sum
	}
}

var deflaters = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

func pack(w *flate.Writer, piece []byte) (p packed) {
	var buf bytes.Buffer
	w.Reset(&buf)
	_, err := w.Write(piece)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic(err) // a bytes.Buffer has none
	}
	p.deflated = bytes.Clone(buf.Bytes())
	none := zeros[:len(piece)]
	p.gzip = crc32.ChecksumIEEE(piece) ^ crc32.ChecksumIEEE(none)
	var zero guava.Sum
	p.file.Write(piece)
	zero.Write(none)
	p.file ^= zero
	return p
}

// packFilter packs all of f's binary form.
func packFilter(f *bloom.Filter) []packed {
	deflater := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(deflater)
	w := packWriter{deflater: deflater}
	if _, err := f.WriteTo(&w); err != nil {
		panic(err) // w has none
	}
	return append(w.pieces, pack(deflater, w.buf))
}

type packWriter struct {
	deflater *flate.Writer
	pieces   []packed
	buf      []byte
}

func (w *packWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	for len(w.buf) > pieceSize {
		w.pieces = append(w.pieces, pack(w.deflater, w.buf[:pieceSize]))
		w.buf = append(w.buf[:0], w.buf[pieceSize:]...)
	}
	return len(p), nil
}

// piece returns piece i of what the current version has beyond version base, or
// of all of it if base is "" or too old by now.
func (p *Publisher) piece(base string, i int) packed {
	r := p.current.Load()
	if d := r.find(base); d >= 0 {
		return r.deltas[d]()[i]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full[i].deflated == nil {
		deflater := deflaters.Get().(*flate.Writer)
		defer deflaters.Put(deflater)
		r.full[i] = pack(deflater, r.data[i*pieceSize:min(len(r.data), (i+1)*pieceSize)])
	}
	return r.full[i]
}

// sendPacked is send of what the current version has beyond version base, or of
// all if base is "", under gzip.
func (p *Publisher) sendPacked(w io.Writer, base string, size int) error {
	// The fixed start of gzip (RFC 1952): magic, deflate, no flags, no time, no
	// level, unknown system.
	if _, err := w.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff}); err != nil {
		return err
	}
	var crc uint32
	var sum guava.Sum
	for at := 0; at < size; at += pieceSize {
		piece := p.piece(base, at/pieceSize)
		// A CRC is linear: after this piece it is what it would be after zeros, and
		// what this piece's own differs from the zeros' own.
		none := min(pieceSize, size-at)
		crc = gzipAfter(crc, none) ^ piece.gzip
		sum = guava.Sum(fileAfter(uint32(sum), none)) ^ piece.file
		if _, err := w.Write(piece.deflated); err != nil {
			return err
		}
	}
	// The trailer makes the last block, which is stored (RFC 1951, 3.2.4).
	trailer := sum.Trailer()
	end := []byte{1}
	end = binary.LittleEndian.AppendUint16(end, uint16(len(trailer)))
	end = binary.LittleEndian.AppendUint16(end, ^uint16(len(trailer)))
	end = append(end, trailer...)
	end = binary.LittleEndian.AppendUint32(end, crc32.Update(crc, crc32.IEEETable, trailer))
	end = binary.LittleEndian.AppendUint32(end, uint32(size+len(trailer)))
	_, err := w.Write(end)
	return err
}
