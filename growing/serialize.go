package growing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
)

// The binary form is a frame with the parameters p, as the bits of a float64, and the
// number of shards. Its words are the number of layers of each shard. After it come the
// layers' own binary forms, shard by shard, oldest first. How many keys a layer holds
// is not in it: the bits say so, and in a filter that was added to meanwhile only they
// are right.

var errZeroForm = errors.New("growing: the zero value has no binary form")

// head returns the first frame's parameters and words, and the layers that follow.
func (f *Filter) head() (params, counts []uint64, layers []*layer) {
	for i := range f.shards {
		list := f.shards[i].list()
		counts = append(counts, uint64(len(list)))
		layers = append(layers, list...)
	}
	return []uint64{math.Float64bits(f.rates.p), shards}, counts, layers
}

// checkParams is the frame's check of parameters.
func checkParams(params []uint64) (uint64, error) {
	if err := checkP(math.Float64frombits(params[0])); err != nil {
		return 0, err
	}
	if params[1] != shards {
		return 0, fmt.Errorf("shard count %d is not %d", params[1], shards)
	}
	return shards, nil
}

// Info returns what New and SetInfo set, and what the filter's binary form held.
func (f *Filter) Info() bloom.Info { return f.info }

// SetInfo replaces the Info. Nothing else may use the filter at the same time. Encoding
// returns an error if a field is out of its range; see [bloom.Info].
func (f *Filter) SetInfo(i bloom.Info) { f.info = i }

// SizeBytes returns the length of the binary form in bytes: 0 for the zero Filter. The
// memory in use is as much, and for a short time before a layer begins up to 3 % more.
func (f *Filter) SizeBytes() int64 {
	if f.zero() {
		return 0
	}
	_, counts, layers := f.head()
	n := frame.Growing.Size(len(counts), format.Info(f.info))
	for _, l := range layers {
		n += l.filter.SizeBytes()
	}
	return n
}

// AppendBinary appends f's binary form, which carries checksums, to dst. It holds all
// keys that were added before the call, and some or none of those that are added
// meanwhile. AppendBinary returns an error only for the zero Filter, which has no
// binary form.
func (f *Filter) AppendBinary(dst []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	out.Grow(int(f.SizeBytes()))
	if _, err := f.WriteTo(out); err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}

// MarshalBinary returns f's binary form, which carries checksums; see
// [Filter.AppendBinary].
func (f *Filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes f's binary form to w through a small buffer; see
// [Filter.AppendBinary].
func (f *Filter) WriteTo(w io.Writer) (int64, error) {
	if f.zero() {
		return 0, errZeroForm
	}
	params, counts, layers := f.head()
	total, err := frame.Growing.Write(w, params, counts, format.Info(f.info))
	for _, l := range layers {
		if err != nil {
			return total, err
		}
		var n int64
		n, err = l.filter.WriteTo(w)
		total += n
	}
	return total, err
}

// UnmarshalBinary decodes data into f. data is a binary form, and no byte more. The
// filter goes on growing as the encoded one would have. On error, which wraps
// [bloom.ErrFormat], f is unchanged. UnmarshalBinary does not retain data.
func (f *Filter) UnmarshalBinary(data []byte) error {
	r := bytes.NewReader(data)
	p, filters, info, _, err := read(r)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return format.Errorf("growing", "%d bytes too many", r.Len())
	}
	f.set(p, filters)
	f.info = info
	return nil
}

// ReadFrom decodes the binary form that r yields next into f, and reads no byte more.
// It allocates as data arrives. On error f is unchanged. The error is r's own, or
// wraps [bloom.ErrFormat] if r ends too early or holds anything else.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	p, filters, info, n, err := read(r)
	if err != nil {
		return n, err
	}
	f.set(p, filters)
	f.info = info
	return n, nil
}

// read reads what WriteTo writes.
func read(r io.Reader) (p float64, filters [shards][]*blocked.SyncFilter, info bloom.Info, total int64, err error) {
	params, counts, i, total, err := frame.Growing.Read(r, checkParams)
	if err != nil {
		return 0, filters, info, total, err
	}
	for i := range filters {
		if counts[i] == 0 {
			return 0, filters, info, total, format.Errorf("growing", "shard %d has no layers", i)
		}
		for left := counts[i]; left > 0; left-- {
			filter := new(blocked.SyncFilter)
			n, err := filter.ReadFrom(r)
			total += n
			if err != nil {
				return 0, filters, info, total, layerError(i, err)
			}
			filters[i] = append(filters[i], filter)
		}
	}
	return math.Float64frombits(params[0]), filters, bloom.Info(i), total, nil
}

// layerError returns the error for a layer that could not be read.
func layerError(shard int, err error) error {
	switch {
	case errors.Is(err, format.ErrEmpty): // before a layer, but not before the filter
		return format.ReadError("growing", format.ErrTruncated)
	case errors.Is(err, format.ErrFormat):
		return format.Errorf("growing", "in shard %d: %w", shard, err)
	default:
		return fmt.Errorf("growing: %w", err)
	}
}

// set makes f the filter that has these layers.
func (f *Filter) set(p float64, filters [shards][]*blocked.SyncFilter) {
	f.rates = &rates{p: p} // a layer that is being made may use the ones of before
	for i := range f.shards {
		list := make([]*layer, len(filters[i]))
		for j, filter := range filters[i] {
			list[j] = layerOf(f.rates, j, filter)
		}
		f.shards[i].layers.Store(&list)
		f.shards[i].next = nil
	}
}

// AppendText appends the standard base64 encoding of f's binary form to dst, or
// nothing if f is zero.
func (f *Filter) AppendText(dst []byte) ([]byte, error) {
	if f.zero() {
		return dst, nil
	}
	return frame.AppendText(dst, f)
}

// MarshalText returns the standard base64 encoding of f's binary form, which is empty
// if f is zero. With it a *Filter is a string in JSON. Package encoding/json refuses a
// Filter that is held by value in a struct which is passed to it by value.
func (f *Filter) MarshalText() ([]byte, error) { return f.AppendText(nil) }

// UnmarshalText is [Filter.UnmarshalBinary] of base64 text. Empty text makes f zero.
func (f *Filter) UnmarshalText(text []byte) error {
	if len(text) > 0 {
		return frame.UnmarshalText("growing", text, f)
	}
	f.rates = nil
	f.info = bloom.Info{}
	for i := range f.shards {
		f.shards[i].layers.Store(nil)
		f.shards[i].next = nil
	}
	return nil
}

// SaveFile writes f's binary form to a file at path, for [LoadFile]. After a crash at
// any moment, path holds what it held before, or all of f. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (f *Filter) SaveFile(path string) error {
	if f.zero() {
		return errZeroForm
	}
	return frame.Growing.SaveFile(path, f)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error, which
// wraps [bloom.ErrFormat], if the file has changed since.
func LoadFile(path string) (*Filter, error) {
	f := new(Filter)
	if err := frame.Growing.LoadFile(path, f); err != nil {
		return nil, err
	}
	return f, nil
}
