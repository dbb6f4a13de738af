package replica

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// pieceSize is the number of bytes of a filter's words in a piece.
const pieceSize = 64 << 10

// body is the file form of a version. It is made in pieces while it is sent. Each piece is made
// from the release that is current at that moment, so that a slow client keeps no older release in
// memory. The bits that have changed since the version are changed back.
//
// If the current release no longer has the patches since the version, pieces have the bits of the
// current release. The client then gets a mixture of two versions. The mixture still has every key
// that is in all versions since then. No patch fits it, so its replica loads the whole filter
// again.
type body struct {
	publisher *Publisher
	version   string
	header    form.Header
	info      form.Info

	from string       // the version of the release from which the last piece was made
	back *differences // changes from into version; nil if they are equal or patches are missing
}

// bodyOf returns the body of r. It does not retain r.
func (p *Publisher) bodyOf(r *release) *body {
	return &body{publisher: p, version: r.version, header: r.header, info: r.info, from: r.version}
}

// errReplaced is the error of send if the Publisher now has a filter of another size.
var errReplaced = errors.New("the filter was replaced by one of another size")

// send writes the body. If gzipped, the header, each piece and the trailer are gzip members of
// their own (RFC 1952, 2.2).
func (b *body) send(w io.Writer, gzipped bool) error {
	header := b.header.Append(nil)
	var sum form.Sum
	sum.Write(header)
	if _, err := w.Write(packedIf(gzipped, header)); err != nil {
		return err
	}
	var buf []byte
	for at := form.HeaderSize; at < int(b.header.Size()); at += pieceSize {
		var packed []byte
		var err error
		buf, packed, err = b.piece(buf[:0], at, gzipped)
		if err != nil {
			return err
		}
		sum.Write(buf)
		out := buf
		if gzipped {
			out = packed
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	_, err := w.Write(packedIf(gzipped, sum.Trailer(header, b.info)))
	return err
}

// piece appends the piece that begins at byte at to buf. If gzipped, it also returns the piece as a
// gzip member.
func (b *body) piece(buf []byte, at int, gzipped bool) (piece, packed []byte, err error) {
	r := b.publisher.current.Load()
	if r.header != b.header {
		return nil, nil, errReplaced
	}
	if r.version != b.from {
		b.from, b.back = r.version, nil
		if i := r.find(b.version); i >= 0 {
			b.back = r.backTo(i)
		}
	}
	end := min(len(r.data), at+pieceSize)
	buf = append(buf, r.data[at:end]...)
	changed := false
	for d := b.back; d != nil && d.ok && form.HeaderSize+8*d.word < end; d.next() {
		i := form.HeaderSize + 8*d.word - at
		if i < 0 { // this word was sent before r was published
			continue
		}
		binary.BigEndian.PutUint64(buf[i:], binary.BigEndian.Uint64(buf[i:])^d.mask)
		changed = true
	}
	switch {
	case gzipped && changed:
		packed = pack(buf)
	case gzipped:
		packed = r.pack(at, buf)
	}
	return buf, packed, nil
}

// packedIf returns data as a gzip member if gzipped, and as it is otherwise.
func packedIf(gzipped bool, data []byte) []byte {
	if gzipped {
		return pack(data)
	}
	return data
}

// pack returns piece as a gzip member, which r keeps for other clients. piece begins at byte at of
// r.data.
func (r *release) pack(at int, piece []byte) []byte {
	i := (at - form.HeaderSize) / pieceSize
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.packed[i] == nil {
		r.packed[i] = pack(piece)
	}
	return r.packed[i]
}

var packers = sync.Pool{New: func() any {
	return bloom.Must(gzip.NewWriterLevel(nil, gzip.BestSpeed))
}}

// pack returns data as a gzip member.
func pack(data []byte) []byte {
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	var buf bytes.Buffer
	w.Reset(&buf)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // cannot happen: a bytes.Buffer returns no errors
	}
	return bytes.Clone(buf.Bytes())
}
