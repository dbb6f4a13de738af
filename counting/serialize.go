package counting

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

var errNoForm = errors.New("counting: the zero value has no binary form")

// Filter returns the filter of the keys that are there: a copy, byte for byte the one
// that [bloom.New] makes for the same n and p, after an Add of each of those keys. Full
// counters make an exception; see [Filter]. Of the zero Filter it is the zero one.
func (f *Filter) Filter() *bloom.Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	g := new(bloom.Filter)
	if f.k == 0 {
		return g
	}
	words := memory.Words(len(f.counters.words) / perBits)
	f.counters.toBits(words)
	g = bloom.Must(bloom.NewWords(words, f.k))
	g.SetInfo(f.info)
	return g
}

func (f *Filter) params() []uint64 { return []uint64{f.M() / 64, uint64(f.k)} }

// checkParams returns how many words there should be.
func checkParams(p []uint64) (uint64, error) {
	switch {
	case p[0] < 1 || p[0] > maxWords:
		return 0, fmt.Errorf("counting: word count %d is outside [1, %d]", p[0], uint64(maxWords))
	case p[1] < 1 || p[1] > guava.MaxK:
		return 0, fmt.Errorf("counting: k = %d is outside [1, %d]", p[1], guava.MaxK)
	}
	return p[0] * perBits, nil
}

// Info returns what New and SetInfo set, and what the filter's binary form held.
func (f *Filter) Info() bloom.Info { return f.info }

// SetInfo replaces the Info. Nothing else may use the filter at the same time. Encoding
// returns an error if a field is out of its range; see [bloom.Info].
func (f *Filter) SetInfo(i bloom.Info) { f.info = i }

// SizeBytes returns the length of the binary form in bytes, about M()/2. It is 0 for the
// zero Filter.
func (f *Filter) SizeBytes() int64 {
	if f.k == 0 {
		return 0
	}
	return frame.Counting.Size(len(f.counters.words), format.Info(f.info))
}

// AppendBinary appends f's binary form, which carries a checksum, to b. It returns an
// error only for the zero Filter, which has none.
func (f *Filter) AppendBinary(b []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.k == 0 {
		return b, errNoForm
	}
	return frame.Counting.Append(b, f.params(), f.counters.words, format.Info(f.info))
}

// MarshalBinary returns f's binary form; see [Filter.AppendBinary].
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes f's binary form to w through a small buffer. Whoever adds or removes
// waits for it. Where w is slow, write a [Filter.Clone].
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.k == 0 {
		return 0, errNoForm
	}
	return frame.Counting.Write(w, f.params(), f.counters.words, format.Info(f.info))
}

// UnmarshalBinary decodes data into f. data is a binary form, and no byte more. On
// error, which wraps [bloom.ErrFormat], f is unchanged. It does not retain data.
func (f *Filter) UnmarshalBinary(data []byte) error {
	params, array, info, err := frame.Counting.Unmarshal(data, checkParams)
	if err != nil {
		return err
	}
	f.set(array, int(params[1]))
	f.info = bloom.Info(info)
	return nil
}

// ReadFrom decodes the binary form that r yields next into f, and reads no byte more.
// It allocates as data arrives. On error f is unchanged. The error is r's own or, if r
// ends too early or holds anything else, wraps [bloom.ErrFormat].
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	params, array, info, n, err := frame.Counting.Read(r, checkParams)
	if err != nil {
		return n, err
	}
	f.set(array, int(params[1]))
	f.info = bloom.Info(info)
	return n, nil
}

// AppendText appends the standard base64 encoding of f's binary form to b, or nothing
// if f is zero.
func (f *Filter) AppendText(b []byte) ([]byte, error) {
	if f.k == 0 {
		return b, nil
	}
	return frame.AppendText(b, f)
}

// MarshalText returns the standard base64 encoding of f's binary form, which is empty
// if f is zero. With it a pointer to a Filter is a string in JSON.
func (f *Filter) MarshalText() ([]byte, error) { return f.AppendText(nil) }

// UnmarshalText is UnmarshalBinary of base64 text. Empty text makes f zero.
func (f *Filter) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		f.counters, f.k = counters{}, 0
		f.info = bloom.Info{}
		f.ones.Store(0)
		return nil
	}
	return frame.UnmarshalText("counting", text, f)
}

// SaveFile writes f's binary form to a file at path, for [LoadFile]. After a crash at
// any moment, path holds what it held before, or all of f. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files. Whoever adds or
// removes waits, as with [Filter.WriteTo].
func (f *Filter) SaveFile(path string) error {
	if f.k == 0 {
		return errNoForm
	}
	return frame.Counting.SaveFile(path, f)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error, which
// wraps [bloom.ErrFormat], if the file has changed since.
func LoadFile(path string) (*Filter, error) {
	f := new(Filter)
	if err := frame.Counting.LoadFile(path, f); err != nil {
		return nil, err
	}
	return f, nil
}
