package bloom

import (
	"errors"
	"io"
	"log/slog"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// Reader looks keys up in a file that [Filter.SaveFile] wrote, in an object store, on a web server,
// or anywhere else that an [io.ReaderAt] reaches. It requests only the bytes that a look-up needs,
// and those between them if they are near each other: at most K requests for a key, some of them
// concurrent. In a filter with the keys it was made for, an absent key needs two or three on
// average. A Reader of package blocked makes one request for most absent keys.
//
// Look at [Reader.Info]'s Hash before the first look-up; see "Files" in the package comment.
//
// A failure of the io.ReaderAt is an error, and never the answer that a key is absent. NewReader
// notices damage to the header and the Info. Damaged bits go unnoticed, because their only checksum
// covers the whole file, which must not change while a Reader uses it. If the store can refuse a
// request for an object that has changed, as with the HTTP header If-Match, use that.
//
// Many goroutines may use a Reader concurrently, as every io.ReaderAt permits. All look-ups of the
// zero Reader return true and an error. A Reader must not be copied.
type Reader struct {
	_ nocopy.Locker
	layout
	r io.ReaderAt
}

// NewReader returns a Reader of r, whose size bytes must be a file that [LoadFile] could load. It
// reads the header and the Info, in two requests. If the bytes are not a filter, the error wraps
// [ErrFormat]. If r fails, the error wraps the error of r.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	h, info, err := guavaForm.ParseAt(r, size)
	if err != nil {
		return nil, err
	}
	return &Reader{layout: layoutOf(h, info), r: r}, nil
}

// Info returns the filter's Info.
func (r *Reader) Info() Info { return Info(r.info) }

// String describes r by the filter's parameters.
func (r *Reader) String() string { return r.describe("bloom.Reader") }

// LogValue returns what String returns.
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Contains reports whether key may have been added; see [Filter.Contains]. On error it
// returns true.
func (r *Reader) Contains(key []byte) (bool, error) { return r.ContainsHash(Sum(key)) }

// ContainsString is like Contains.
func (r *Reader) ContainsString(key string) (bool, error) { return r.ContainsHash(SumString(key)) }

// ContainsHash is like Contains.
func (r *Reader) ContainsHash(h Hash) (bool, error) {
	found := make([]bool, 1)
	err := r.ContainsBatch(found, []Hash{h})
	return found[0], err
}

// ContainsBatch sets found[i] to ContainsHash(hs[i]). Bytes that are near each other share a
// request of up to 256 KiB, and up to 64 requests run in parallel. On error it sets found[i] to
// true for all of hs. It panics if found is shorter than hs.
func (r *Reader) ContainsBatch(found []bool, hs []Hash) error {
	found = bitwords.Fill("bloom", found, len(hs))
	if r.r == nil {
		storage.SetAll(found)
		return errors.New("bloom: use of a zero Reader: make it with NewReader")
	}
	locate := func(key, step int) (offset int64, pos uint64) {
		h, i := hs[key], uint64(step)
		x := h.h1 + i*h.h2
		if r.strategy == Mitz32 {
			x32 := newMitz32(h)
			x32.sum += uint32(i) * x32.step
			x = x32.nextIndex()
		}
		return r.locate(x)
	}
	offset := func(key, step int) int64 {
		offset, _ := locate(key, step)
		return form.HeaderSize + offset
	}
	test := func(key, step int, data []byte) bool {
		_, pos := locate(key, step)
		return data[0]>>pos&1 != 0
	}
	return storage.Ranges("bloom", r.r, found, r.k, 1, offset, test)
}
