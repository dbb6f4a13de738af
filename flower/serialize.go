package flower

import (
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

const errNoForm = form.NoForm("flower")

// Info returns what New and SetInfo set, and what the filter's binary form held.
func (f *Filter) Info() bloom.Info { return door.Info[bloom.Info](f.info.Get()) }

// SetInfo is [bloom.Filter.SetInfo]. Encoding returns an error if a field is out of its range.
func (f *Filter) SetInfo(i bloom.Info) { f.info.Add(door.Fields(i)) }

// SizeBytes returns the length of the binary form in bytes. It is 0 for the zero Filter. f takes
// hardly more memory.
func (f filter) SizeBytes() int64 {
	if f.ways == 0 {
		return 0
	}
	return form.Flower.Size(len(f.words), f.info.Get())
}

// AppendBinary appends f's binary form, which carries a checksum, to dst. A key
// whose Add returned before the call is in it, unless other keys have overwritten it.
// AppendBinary returns an error for the zero Filter, which has no binary form, and for an
// Info that cannot be saved.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.SizeBytes(), f)
}

// MarshalBinary returns f's binary form; see [Filter.AppendBinary].
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes f's binary form to w through a small buffer; see
// [Filter.AppendBinary].
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.ways == 0 {
		return 0, errNoForm
	}
	params := []uint64{f.slots, f.ways, uint64(f.bits)}
	return form.Flower.Write(w, params, f.words, f.info.Get())
}

// UnmarshalBinary decodes data into f. data is a binary form, and no byte more. On
// error, which wraps [bloom.ErrFormat], f is unchanged. It does not retain data.
func (f *Filter) UnmarshalBinary(data []byte) error {
	return form.Unmarshal("flower", data, &f.filter, read)
}

// ReadFrom decodes the binary form that r yields next into f, and reads no byte
// more. It allocates as data arrives. On error f is unchanged. The error is r's own,
// or it wraps [bloom.ErrFormat] if r ends too early or holds anything else.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) { return form.ReadFrom(r, &f.filter, read) }

// read reads what WriteTo writes.
func read(r io.Reader) (f filter, n int64, err error) {
	params, words, info, n, err := form.Flower.Read(r, checkParams)
	if err != nil {
		return f, n, err
	}
	return newFilter(config(params), words, info), n, nil
}

// checkParams returns the number of words that follow the parameters of a frame, or an error if New
// refuses them.
func checkParams(p []uint64) (uint64, error) { return config(p).words() }

// config returns the configuration of the parameters p. If a number is too large for an int, config
// takes a smaller one that is out of range, too.
func config(p []uint64) Config {
	return Config{
		Slots: p[0],
		Ways:  int(min(p[1], math.MaxInt32)),
		Bits:  int(min(p[2], math.MaxInt32)),
	}
}

// MarshalText returns the standard base64 encoding of the binary form. JSON, XML, flags and
// cookies hold a filter in this way. The zero value is the empty text.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText is [Filter.UnmarshalBinary] of base64 text. Empty text makes f the
// zero Filter.
func (f *Filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("flower", text, f, func() { f.filter = filter{} })
}

// SaveFile writes f's binary form to a file at path, for [LoadFile]. After a crash
// at any moment, path holds what it held before, or all of f. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (f *Filter) SaveFile(path string) error {
	return storage.SaveFile(form.Flower, path, f.SizeBytes(), f)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error, which wraps
// [bloom.ErrFormat], if the file has changed since. If another program wrote the file, look at
// its Info's Hash before the first look-up; see [bloom.View].
func LoadFile(path string) (*Filter, error) {
	return storage.LoadFile(form.Flower, path, new(Filter))
}

// LoadOrNew returns the filter in the file at path, or New(c) if there is no such file. It writes
// no file. It returns an error immediately if the file's directory does not exist, because SaveFile
// would fail later.
//
// If the filter in the file has other parameters than New(c), LoadOrNew returns an error that wraps
// [bloom.ErrMismatch]. The parameters are the fields of its Config. The Info does not count: if
// another program may have written the file, look at its Hash before the first look-up.
func LoadOrNew(path string, c Config) (*Filter, error) {
	if _, err := c.words(); err != nil {
		return nil, err
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
