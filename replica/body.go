package replica

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// An answer is sent in pieces. Each comes from the version that is current when
// its turn has come, so that a slow client keeps no other in memory. That is
// right because all versions have the same parameters, and a newer one has the
// bits of all keys that an older one has, but for removed keys.

// pieceSize is the number of bytes of a filter's binary form in a piece.
const pieceSize = 64 << 10

// send writes the file form of the current version, whose binary form has size bytes. If
// gzipped, each piece is a gzip member of its own (RFC 1952, 2.2), and so is the trailer.
func (p *publisher) send(w io.Writer, size int, gzipped bool) error {
	var sum form.Sum
	var header, buf []byte
	for at := 0; at < size; at += pieceSize {
		r := p.current.Load()
		piece := r.data[at:min(size, at+pieceSize)]
		sum.Write(piece)
		if at == 0 {
			header = slices.Clone(piece[:form.HeaderSize])
		}
		if gzipped {
			piece = r.piece(at / pieceSize)
		} else {
			buf = append(buf[:0], piece...) // a piece of the version itself would keep all of it
			piece = buf
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	trailer := sum.Trailer(header, form.Info(p.info))
	if gzipped {
		trailer = pack(trailer)
	}
	_, err := w.Write(trailer)
	return err
}

// sendDelta writes what the current version has beyond version base, or all of it if base
// is too old by now, as gzip members. There is no trailer: gzip has checksums.
func (p *publisher) sendDelta(w io.Writer, base string, size int) error {
	for i := range (size + pieceSize - 1) / pieceSize {
		r := p.current.Load()
		var piece []byte
		if d := r.find(base); d >= 0 {
			piece = r.deltas[d]()[i]
		} else {
			piece = r.piece(i)
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// piece returns piece i of all of r as a gzip member.
func (r *release) piece(i int) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full[i] == nil {
		r.full[i] = pack(r.data[i*pieceSize : min(len(r.data), (i+1)*pieceSize)])
	}
	return r.full[i]
}

var packers = sync.Pool{New: func() any { return bloom.Must(gzip.NewWriterLevel(nil, gzip.BestSpeed)) }}

// pack returns data as a gzip member.
func pack(data []byte) []byte {
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	return packBy(w, data)
}

// packBy is pack by w.
func packBy(w *gzip.Writer, data []byte) []byte {
	var buf bytes.Buffer
	w.Reset(&buf)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // a bytes.Buffer has none
	}
	return bytes.Clone(buf.Bytes())
}

// packFilter packs all of f's binary form, in pieces.
func packFilter(f *bloom.Filter) [][]byte {
	w := packWriter{packer: packers.Get().(*gzip.Writer)}
	defer packers.Put(w.packer)
	bloom.Must(f.WriteTo(&w)) // f is not zero, and w has no error
	return append(w.pieces, packBy(w.packer, w.buf))
}

// packWriter packs what is written to it, all but the last piece.
type packWriter struct {
	packer *gzip.Writer // one for all pieces
	pieces [][]byte
	buf    []byte
}

func (w *packWriter) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	for len(w.buf) > pieceSize {
		w.pieces = append(w.pieces, packBy(w.packer, w.buf[:pieceSize]))
		w.buf = append(w.buf[:0], w.buf[pieceSize:]...)
	}
	return len(p), nil
}
