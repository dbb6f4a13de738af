package growing

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// The binary form begins with a frame. Its parameters are n, the bits of p as a float64, and the
// number of shards. Its words are the numbers of layers in the shards. The binary forms of the
// layers follow, shard by shard, oldest first. The form does not hold the number of keys in a
// layer, because keys that are added during the encoding would make that number wrong. Decoders
// estimate it from the bits.

const errNoForm = form.NoForm("growing")

// head returns the parameters and words of the frame, and the layers that follow it.
func (s *state) head() (params, counts []uint64, layers []*layer) {
	for i := range s.shards {
		list := s.shards[i].list()
		counts = append(counts, uint64(len(list)))
		layers = append(layers, list...)
	}
	return []uint64{s.rates.n, math.Float64bits(s.rates.p), shards}, counts, layers
}

func stateOf(params []uint64) *state {
	return newState(params[0], math.Float64frombits(params[1]))
}

func checkParams(params []uint64) (uint64, error) {
	if bad := stateOf(params).rates.check(); bad != nil {
		return 0, fmt.Errorf("%v", bad)
	}
	if params[2] != shards {
		return 0, fmt.Errorf("shard count %d is not %d", params[2], shards)
	}
	return shards, nil
}

// Info returns the filter's Info, which New and UpdateInfo set. Every encoding keeps it.
func (f *Filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *Filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// SizeBytes returns the length of the binary form in bytes, or 0 for the zero Filter. In memory, f
// usually needs up to 15 % more, because it allocates each layer in advance. A filter that was made
// for n keys needs twice as much when it contains about n.
func (f filter) SizeBytes() int64 {
	if f.zero() {
		return 0
	}
	_, counts, layers := f.head()
	n := form.Growing.Size(len(counts), f.info.Get())
	for _, l := range layers {
		n += l.blocks.Size(l.info)
	}
	return n
}

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.SizeBytes(), f)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo implements io.WriterTo.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.zero() {
		return 0, errNoForm
	}
	params, counts, layers := f.head()
	total, err := form.Growing.Write(w, params, counts, f.info.Get())
	for _, l := range layers {
		if err != nil {
			return total, err
		}
		var n int64
		n, err = l.blocks.Write(w, l.info)
		total += n
	}
	return total, err
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. f then grows about as the encoded filter
// would have grown.
func (f *filter) UnmarshalBinary(data []byte) error {
	return form.Unmarshal("growing", data, f, read)
}

// ReadFrom implements io.ReaderFrom.
func (f *filter) ReadFrom(r io.Reader) (int64, error) { return form.ReadFrom(r, f, read) }

func read(r io.Reader) (f filter, total int64, err error) {
	params, counts, info, total, err := form.Growing.Read(r, checkParams)
	if err != nil {
		return filter{}, total, err
	}
	s := stateOf(params)
	for i := range s.shards {
		if counts[i] < 1 || counts[i] > maxLayers {
			return filter{}, total, form.Errorf("growing",
				"layer count %d of shard %d is outside [1, %d]", counts[i], i, maxLayers)
		}
		var list []*layer
		for j := range int(counts[i]) {
			b, info, n, err := splitblock.Read(r)
			total += n
			if err != nil {
				return filter{}, total, layerError(i, err)
			}
			list = append(list, layerOf(&s.rates, j, b))
			list[j].info = info
			list[j].count = b.Stats(0).ApproxCount
		}
		s.shards[i].set(list...)
	}
	return filter{s, form.Keep(info)}, total, nil
}

func layerError(shard int, err error) error {
	switch {
	case errors.Is(err, form.ErrEmpty): // the bytes ended where a layer should begin
		return form.ReadError("growing", form.ErrTruncated)
	case errors.Is(err, form.ErrFormat):
		return form.Errorf("growing", "in shard %d: %w", shard, err)
	default:
		return fmt.Errorf("growing: %w", err)
	}
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("growing", text, f, func() { *f = filter{} })
}

// SaveFile saves f to the file at path; see "Files" in package bloom.
func (f *Filter) SaveFile(path string) error {
	return storage.SaveFile(form.Growing, path, f.SizeBytes(), f.info.Get(), f)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom.
func LoadFile(path string) (*Filter, error) {
	return storage.LoadFile(form.Growing, path, new(Filter))
}
