package publish

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
)

// A body is sent in pieces of pieceWords words.
const (
	pieceSize  = 8 * pieceWords
	pieceWords = limits.PublishWords
)

// body is the file form of a version. Each piece is computed when it is sent: from the current
// release, by undoing the changes since the version. So slow clients do not keep old releases in
// memory.
//
// If the current release and the version have different parameters, the body breaks off. If the
// parameters are the same, but the patches since the version are gone, the body of an exact
// Publisher also breaks off. Any other Publisher continues with the bits of the current release.
// The client then gets a mixture of versions, which contains every key that all these versions
// contain. If a patch does not fit the mixture, the client's replica loads the whole filter again.
type body struct {
	publisher *Publisher
	version   string
	header    form.Header
	info      form.Info

	release string       // the version that was current when the last piece was made
	back    *form.Merged // the changes from version to release, or nil
	// the next change in back, if more is true
	word int
	mask uint64
	more bool
}

// bodyOf does not retain r.
func (p *Publisher) bodyOf(r *release) *body {
	info := form.Info(r.filter.Info())
	return &body{publisher: p, version: r.version, header: r.header, info: info, release: r.version}
}

var errReplaced = errors.New("the filter was replaced by one that differs too much")

// send writes the body to w. If gzipped is true, the header, each piece and the trailer are gzip
// members (RFC 1952, section 2.2).
func (b *body) send(w io.Writer, gzipped bool) error {
	header := b.header.Append(nil)
	var sum form.Sum
	sum.Write(header)
	if _, err := w.Write(packedIf(gzipped, header)); err != nil {
		return err
	}
	buf := make([]byte, min(pieceSize, 8*b.header.Words))
	for i := 0; i*pieceWords < b.header.Words; i++ {
		piece, packed, err := b.piece(buf, i, gzipped)
		if err != nil {
			return err
		}
		sum.Write(piece)
		if gzipped {
			piece = packed
		}
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	_, err := w.Write(packedIf(gzipped, sum.Trailer(header, b.info)))
	return err
}

// piece computes piece i in buf. packed is its gzip member, or nil if gzipped is false.
func (b *body) piece(buf []byte, i int, gzipped bool) (piece, packed []byte, err error) {
	r := b.publisher.current.Load()
	if r.header != b.header {
		return nil, nil, errReplaced
	}
	if r.version != b.release {
		b.release = r.version // speed
		b.back = r.backTo(b.version)
		if b.back == nil && b.publisher.exact && r.version != b.version {
			return nil, nil, errReplaced
		}
		b.advance()
	}
	first := i * pieceWords
	words := r.words[first:min(first+pieceWords, len(r.words))]
	piece = buf[:8*len(words)]
	form.PutWords(piece, words, ^uint64(0), form.BigEndian)
	changed := false
	for ; b.more && b.word < first+len(words); b.advance() {
		if b.word >= first { // earlier words have already been sent
			word := piece[8*(b.word-first):]
			binary.BigEndian.PutUint64(word, binary.BigEndian.Uint64(word)^b.mask)
			changed = true
		}
	}
	switch {
	case !gzipped:
	case changed:
		packed = pack(piece)
	default:
		packed = r.pack(i, piece)
	}
	return piece, packed, nil
}

func (b *body) advance() {
	b.more = false
	if b.back != nil {
		b.word, b.mask, b.more = b.back.Next()
	}
}

// backTo returns the changes between version and r, or nil if version is not in r.past.
func (r *release) backTo(version string) *form.Merged {
	i := slices.IndexFunc(r.past, func(s step) bool { return s.version == version })
	if i < 0 {
		return nil
	}
	return form.Merge(parsed(r.past[i:]))
}

func packedIf(gzipped bool, data []byte) []byte {
	if gzipped {
		return pack(data)
	}
	return data
}

// pack returns piece i as a gzip member, and keeps it for other clients.
func (r *release) pack(i int, piece []byte) []byte {
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

// pack returns data as a gzip member of at least len(data)/90 bytes, because clients refuse gzip
// that expands more than a hundredfold.
func pack(data []byte) []byte {
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	packed := packWith(w, nil, data)
	if short := len(data)/90 - len(packed); short > 0 {
		packed = packWith(w, make([]byte, short), data)
	}
	return packed
}

func packWith(w *gzip.Writer, extra, data []byte) []byte {
	var buf bytes.Buffer
	w.Reset(&buf)
	w.Extra = extra
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		panic(err) // cannot happen: a bytes.Buffer returns no errors
	}
	return bytes.Clone(buf.Bytes())
}
