package flower

import (
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

const errNoForm = form.NoForm("flower")

// Info returns the filter's Info, which New and UpdateInfo set. Every encoding keeps it.
func (f *Filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *Filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// SizeBytes returns the length of the binary form in bytes, or 0 for the zero Filter. In memory, f
// needs little more.
func (f filter) SizeBytes() int64 {
	if f.ways == 0 {
		return 0
	}
	return form.Flower.Size(len(f.words), f.info.Get())
}

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.SizeBytes(), f)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo implements io.WriterTo.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.ways == 0 {
		return 0, errNoForm
	}
	params := []uint64{f.slots, f.ways, uint64(f.bits)}
	return form.Flower.Write(w, params, f.words, f.info.Get())
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see "Encodings" in package bloom.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return form.Unmarshal("flower", data, &f.filter, read)
}

// ReadFrom implements io.ReaderFrom.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) { return form.ReadFrom(r, &f.filter, read) }

func read(r io.Reader) (f filter, n int64, err error) {
	params, words, info, n, err := form.Flower.Read(r, checkParams)
	if err != nil {
		return f, n, err
	}
	return newFilter(config(params), words, info), n, nil
}

// checkParams is the form.Check for the frames of Filters. It accepts what New accepts.
func checkParams(p []uint64) (uint64, error) {
	words, bad := config(p).words()
	if bad != nil {
		return 0, fmt.Errorf("%v", bad)
	}
	return words, nil
}

// config returns the Config with the parameters p. Values of Ways and Bits above math.MaxInt32
// become math.MaxInt32, which is also out of range.
func config(p []uint64) Config {
	return Config{
		Slots: p[0],
		Ways:  int(min(p[1], math.MaxInt32)),
		Bits:  int(min(p[2], math.MaxInt32)),
	}
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("flower", text, f, func() { f.filter = filter{} })
}

// SaveFile saves f to the file at path; see "Files" in package bloom.
func (f *Filter) SaveFile(path string) error {
	return storage.SaveFile(form.Flower, path, f.SizeBytes(), f.info.Get(), f)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom.
func LoadFile(path string) (*Filter, error) {
	return storage.LoadFile(form.Flower, path, new(Filter))
}

// LoadOrNew loads the file at path, or returns New(c) if there is none; see "Files" in package
// bloom. The saved filter must have the same Config as New(c).
func LoadOrNew(path string, c Config) (*Filter, error) {
	if _, bad := c.words(); bad != nil {
		return nil, bad.In("flower")
	}
	create := func() (*Filter, error) { return New(c) }
	return storage.LoadOr(path, LoadFile, create, func(f *Filter) error {
		if f.Config() != c {
			return fmt.Errorf("flower: the filter has %s, not %s: %w",
				f.Config().text(), c.text(), bloom.ErrMismatch)
		}
		return nil
	})
}
