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

// Reader looks keys up in a file that [Filter.SaveFile] wrote, without loading it; see "Files" in
// the package comment. It makes at most K requests for a key, and may make several of them at once.
// In a filter that contains its n keys, an absent key needs at most three on average. For most
// absent keys, a blocked.Reader makes only one.
//
// A Reader does not notice damaged bits, because their only checksum is that of the whole file.
// Look-ups in the zero Reader return true and an error. A Reader must not be copied.
type Reader struct {
	_ nocopy.Locker
	layout
	r io.ReaderAt
}

// NewReader returns a Reader for the file in r, which has size bytes. The file must be one that
// [LoadFile] can load. If the header or the Info cannot be decoded, the error wraps [ErrFormat]. If
// r fails, it wraps r's error.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	h, info, err := guavaForm.ParseAt(r, size)
	if err != nil {
		return nil, err
	}
	return &Reader{layout: layoutOf(h, info), r: r}, nil
}

// Info returns the filter's Info.
func (r *Reader) Info() Info { return Info(r.info) }

// String returns the name of r's type and the filter's parameters.
func (r *Reader) String() string { return r.describe("bloom.Reader") }

// LogValue implements slog.LogValuer. The value is the result of String.
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Contains reports whether key may have been added; see [Filter.Contains]. On error it returns
// true.
func (r *Reader) Contains(key []byte) (bool, error) { return r.ContainsHash(Sum(key)) }

// ContainsString is like Contains.
func (r *Reader) ContainsString(key string) (bool, error) { return r.ContainsHash(SumString(key)) }

// ContainsHash is like Contains.
func (r *Reader) ContainsHash(h Hash) (bool, error) {
	found := make([]bool, 1)
	err := r.ContainsBatch(found, []Hash{h})
	return found[0], err
}

// ContainsBatch looks up hs; see "Batches" in the package comment. It combines requests for bytes
// that are near each other, up to 256 KiB, and runs up to 64 requests in parallel. On error it sets
// found[i] to true for every hs[i].
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
