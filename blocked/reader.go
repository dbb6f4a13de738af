package blocked

import (
	"errors"
	"io"
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// Reader looks keys up in a file that [Filter.SaveFile] wrote, without loading it; see "Files" in
// package bloom. Most absent keys need one request of 32 bytes. A present key needs at most one for
// each of its lines; see [Filter.Lines].
//
// For damaged files and the zero value, see [bloom.Reader]. A Reader must not be copied.
type Reader struct {
	_      nocopy.Locker
	r      io.ReaderAt
	blocks int
	lines  int
	size   int64
	info   form.Info
}

// NewReader returns a Reader for the file in r, which has size bytes. If the file does not hold a
// Filter, the error wraps [bloom.ErrFormat]. If r fails, it wraps r's error.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	params, info, err := form.Blocked.ParseAt(r, size, splitblock.CheckParams)
	if err != nil {
		return nil, err
	}
	return &Reader{
		r:      r,
		blocks: int(params[0]),
		lines:  int(params[1]),
		size:   size,
		info:   info,
	}, nil
}

// Info returns the filter's Info.
func (r *Reader) Info() bloom.Info { return bloom.Info(r.info) }

func (r *Reader) m() uint64 { return splitblock.Bits * uint64(r.blocks) }

// String returns the name of r's type and the filter's parameters.
func (r *Reader) String() string { return describe("blocked.Reader", r.m(), r.lines) }

// LogValue implements slog.LogValuer. The value is the result of String.
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }

// Contains reports whether key may have been added; see [Filter.Contains]. On error it returns
// true. It requires that the keys were hashed with [bloom.Sum]; check [Reader.Info] first.
func (r *Reader) Contains(key []byte) (bool, error) { return r.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (r *Reader) ContainsString(key string) (bool, error) {
	return r.ContainsHash(bloom.SumString(key))
}

// ContainsHash reports whether the key with digest h may have been added. On error it returns true.
func (r *Reader) ContainsHash(h bloom.Hash) (bool, error) {
	found := make([]bool, 1)
	err := r.ContainsBatch(found, []bloom.Hash{h})
	return found[0], err
}

// ContainsBatch looks up hs; see "Batches" in package bloom. It combines requests for lines that
// are near each other, up to 256 KiB, and runs up to 64 requests in parallel. On error it sets
// found[i] to true for every hs[i].
func (r *Reader) ContainsBatch(found []bool, hs []bloom.Hash) error {
	found = bitwords.Fill("blocked", found, len(hs))
	if r.r == nil {
		storage.SetAll(found)
		return errors.New("blocked: use of a zero Reader: make it with NewReader")
	}
	offset := func(key, line int) int64 {
		block := splitblock.Block(hs[key], line, r.blocks)
		return int64(form.Blocked.HeadSize()) + splitblock.Bytes*int64(block)
	}
	test := func(key, line int, data []byte) bool { return splitblock.HasLine(data, hs[key], line) }
	return storage.Ranges("blocked", r.r, found, r.lines, splitblock.Bytes, offset, test)
}
