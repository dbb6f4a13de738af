package blocked

import (
	"io"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// Info returns the filter's Info. New and UpdateInfo set it, and Merge and Intersect may change it.
// Every encoding keeps it.
func (f *filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// SizeBytes returns the length of the binary form in bytes, or 0 for the zero Filter.
func (f *Filter) SizeBytes() int64 { return f.size() }

func (f *filter) size() int64 { return f.b.Size(f.info.Get()) }

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.size(), f)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo implements io.WriterTo.
func (f filter) WriteTo(w io.Writer) (int64, error) { return f.b.Write(w, f.info.Get()) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see "Encodings" in package bloom.
func (f *filter) UnmarshalBinary(data []byte) error {
	return form.Unmarshal("blocked", data, f, read)
}

// ReadFrom implements io.ReaderFrom.
func (f *filter) ReadFrom(r io.Reader) (int64, error) { return form.ReadFrom(r, f, read) }

func read(r io.Reader) (filter, int64, error) {
	b, info, n, err := splitblock.Read(r)
	return filter{b, form.Keep(info)}, n, err
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, &f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("blocked", text, f, func() { *f = filter{} })
}

// SaveFile saves f to the file at path; see "Files" in package bloom.
func (f *filter) SaveFile(path string) error {
	return storage.SaveFile(form.Blocked, path, f.size(), f.info.Get(), f)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom.
func LoadFile(path string) (*Filter, error) {
	return storage.LoadFile(form.Blocked, path, new(Filter))
}

// LoadOrNew loads the file at path, or returns New(n, p) if there is none; see "Files" in package
// bloom. The saved filter must have the same M and Lines as New(n, p).
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	m, lines, err := Size(n, p)
	if err != nil {
		return nil, err
	}
	makeNew := func() (*Filter, error) { return New(n, p) }
	return storage.LoadOr(path, LoadFile, makeNew, func(f *Filter) error {
		return f.fits(m, lines)
	})
}
