package counting

import (
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

const errNoForm = form.NoForm("counting")

func checkParams(p []uint64) (uint64, error) {
	switch {
	case p[0] < 1 || p[0] > maxWords:
		return 0, fmt.Errorf("word count %d is outside [1, %d]", p[0], uint64(maxWords))
	case p[1] < 1 || p[1] > form.MaxK:
		return 0, fmt.Errorf("k = %d is outside [1, %d]", p[1], form.MaxK)
	}
	return p[0] * perBits, nil
}

// Info returns the filter's Info. New and UpdateInfo set it, and Merge may change it. Every
// encoding keeps it.
func (f *Filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *Filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// SizeBytes returns the length of the binary form in bytes, about M()/2, or 0 for the zero Filter.
func (f filter) SizeBytes() int64 {
	if f.zero() {
		return 0
	}
	return form.Counting.Size(len(f.counters.words), f.info.Get())
}

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.SizeBytes(), f)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo implements io.WriterTo. Add and Remove wait until it returns. If w is slow, encode the
// result of [Filter.Clone] instead.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.zero() {
		return 0, errNoForm
	}
	f.lock()
	defer f.unlock()
	params := []uint64{f.m() / 64, uint64(f.k)}
	return form.Counting.Write(w, params, f.counters.words, f.info.Get())
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see "Encodings" in package bloom.
func (f *filter) UnmarshalBinary(data []byte) error {
	return form.Unmarshal("counting", data, f, read)
}

// ReadFrom implements io.ReaderFrom.
func (f *filter) ReadFrom(r io.Reader) (int64, error) { return form.ReadFrom(r, f, read) }

func read(r io.Reader) (filter, int64, error) {
	params, array, info, n, err := form.Counting.Read(r, checkParams)
	if err != nil {
		return filter{}, n, err
	}
	return filter{state: stateOf(array, int(params[1])), info: form.Keep(info)}, n, nil
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("counting", text, f, func() { *f = filter{} })
}

// SaveFile saves f to the file at path; see "Files" in package bloom. Add and Remove wait while
// SaveFile writes.
func (f *Filter) SaveFile(path string) error {
	return storage.SaveFile(form.Counting, path, f.SizeBytes(), f.info.Get(), f)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom.
func LoadFile(path string) (*Filter, error) {
	return storage.LoadFile(form.Counting, path, new(Filter))
}
