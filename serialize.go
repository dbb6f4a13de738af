package bloom

import (
	"io"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// ErrFormat is wrapped by the errors of all decoders in this module for bytes that they cannot
// decode.
var ErrFormat = form.ErrFormat

// ErrVersion is wrapped by errors that also wrap [ErrFormat] if the bytes seem to be from a newer
// version of this module, for example because their kind is unknown to this version. Damaged bytes
// may look the same. A program that replaces unreadable files should keep such a file.
var ErrVersion = form.ErrVersion

const (
	errNoForm = form.NoForm("bloom")
	guavaForm = form.Guava("bloom")
)

func init() {
	door.Open(door.Functions[Filter, SyncFilter]{
		Words: func(f *Filter) (form.Header, []uint64) { return f.header(), f.bits.words },
		Filter: func(h form.Header, words []uint64, info form.Info) *Filter {
			return &Filter{filter: filterOf(h, words, info)}
		},
		Share: func(f *Filter) *SyncFilter { return syncOf(f.filter) },
		Size:  size,
	})
	form.NewParamError = func(p form.Param) error { return (*ParamError)(&p) }
}

func (f *filter) header() form.Header {
	return form.Header{Strategy: uint8(f.strategy), K: f.k, Words: len(f.bits.words)}
}

// filterOf retains array.
func filterOf(h form.Header, array []uint64, info form.Info) filter {
	f := filter{bits: bitsetOf(array), k: h.K, strategy: Strategy(h.Strategy), info: form.Keep(info)}
	f.ones = bitwords.OnesCount(f.bits.words)
	return f
}

// SizeBytes returns the length of the binary form in bytes: 6 + M()/8, or 0 for the zero value. The
// file that [Filter.SaveFile] writes is longer. In memory, a large f needs about M()/8 bytes.
func (f *Filter) SizeBytes() int64 { return f.size() }

func (f *filter) size() int64 {
	if f.k == 0 {
		return 0
	}
	return f.header().Size()
}

// AppendBinary implements encoding.BinaryAppender.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	if f.k == 0 {
		return dst, errNoForm
	}
	return form.AppendWords(f.header().Append(dst), f.bits.words, form.BigEndian), nil
}

// MarshalBinary implements encoding.BinaryMarshaler; see "Encodings" in the package comment. It
// returns Guava's binary form of f, without the Info. Java's BloomFilter.readFrom can read it.
func (f filter) MarshalBinary() ([]byte, error) {
	return f.AppendBinary(make([]byte, 0, f.size()))
}

// WriteTo implements io.WriterTo.
func (f *filter) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, errNoForm
	}
	return form.WriteWords(w, f.header().Append(nil), f.bits.words, form.BigEndian)
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see "Encodings" in the package comment.
// data may also be the content of a file that [Filter.SaveFile] wrote. Otherwise there is no
// checksum, so damaged words go unnoticed, and f's Info becomes zero.
func (f *filter) UnmarshalBinary(data []byte) error {
	h, body, info, err := guavaForm.Parse(data)
	if err == nil {
		err = guavaForm.Verify(data)
	}
	if err != nil {
		return err
	}
	g := newBitset(h.Words)
	form.GetWords(g.words, body, form.BigEndian)
	*f = filterOf(h, g.words, info)
	return nil
}

// ReadFrom implements io.ReaderFrom. In a file that [Filter.SaveFile] wrote, it does not read the
// trailer with the Info and the checksum; for files, use [LoadFile] or UnmarshalBinary. The Info of
// f becomes zero.
func (f *filter) ReadFrom(r io.Reader) (int64, error) {
	h, array, n, err := guavaForm.Read(r)
	if err == nil {
		*f = filterOf(h, array, form.Info{})
	}
	return n, err
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, &f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("bloom", text, f, func() { *f = filter{} })
}

// Diff returns a patch that turns the filter before into the filter after; see [Filter.Patch]. The
// patch holds the bits that differ, whether set or cleared, a checksum of before, and the Info of
// after; see docs/format.md. A bit that differs usually takes one to three bytes, and a patch is
// longer than the filter's binary form by at most 200 bytes and the Info. If the two filters are
// equal, the patch is valid and changes no bit.
//
// Diff returns an error that wraps [ErrMismatch] if the filters differ in M, K or Strategy, or if
// one of them is nil. It also returns an error if both are zero, or if the Info of after cannot be
// saved.
func Diff(before, after *Filter) ([]byte, error) {
	if before == nil || after == nil {
		return nil, form.MismatchNil("bloom")
	}
	h := before.header()
	if g := after.header(); g != h {
		return nil, form.Mismatch("bloom", "parameters", h, g)
	}
	if h.K == 0 {
		return nil, errNoForm
	}
	changes := func(yield func(int, uint64) bool) {
		news := after.bits.words[:len(before.bits.words)]
		for i, old := range before.bits.words {
			if mask := old ^ news[i]; mask != 0 && !yield(i, mask) {
				return
			}
		}
	}
	// the number of bits that differ if keys were only added
	guess := max(before.ones, after.ones) - min(before.ones, after.ones)
	proof := form.WordsSum(before.bits.words)
	return form.AppendPatch(nil, h, after.info.Get(), proof, guess, changes)
}

// Patch applies a patch that [Diff] returned. f must have the parameters and exactly the bits of
// the filter before. If the parameters or a checksum of the bits differ, the error wraps
// [ErrMismatch]. So patches must be applied in order, each of them once. f gets the Info of the
// filter after, but keeps its Hash if that Info has none. Patch reads the whole filter.
//
// If data is not a patch, or is damaged, the error wraps [ErrFormat]. On error, f is unchanged.
// Patch does not retain data.
func (f *Filter) Patch(data []byte) error {
	p, err := form.ParsePatch(data)
	if err != nil {
		return err
	}
	if _, err := p.Check(f.header(), f.bits.words); err != nil {
		return err
	}
	for c := p.Changes(); ; {
		i, mask, ok := c.Next()
		if !ok {
			break
		}
		old := f.bits.words[i]
		f.bits.words[i] = old ^ mask
		f.ones += uint64(bits.OnesCount64(old ^ mask))
		f.ones -= uint64(bits.OnesCount64(old))
	}
	f.info.Replace(p.Info)
	return nil
}
