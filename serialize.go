package bloom

import (
	"io"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// ErrFormat is wrapped by the errors of decoders that cannot read the bytes they got, in this
// package and in the others of this module.
var ErrFormat = form.ErrFormat

// ErrVersion is wrapped, as is [ErrFormat], if a newer version of this module may have
// written the bytes: they have a version, a kind, a strategy or a flag that this version does
// not know. Damage can look like that, too. Programs that replace what they cannot read should
// keep a file that gives this error.
var ErrVersion = form.ErrVersion

const errNoForm = form.NoForm("bloom")

// header returns the start of f's binary form. It has no words if f is zero.
func (f *filter) header() form.Header {
	return form.Header{Strategy: uint8(f.strategy), K: f.k, Words: len(f.bits.words)}
}

// filterOf returns the filter that has the words that follow h.
func filterOf(h form.Header, array []uint64, info form.Info) filter {
	f := filter{bits: bitsetOf(array), k: h.K, strategy: Strategy(h.Strategy), info: form.Share(info)}
	f.ones = bitwords.OnesCount(f.bits.words)
	return f
}

// SizeBytes returns the length of the binary form in bytes: 6 + M()/8. It is 0 for
// the zero value.
func (f *Filter) SizeBytes() int64 { return f.size() }

func (f *filter) size() int64 {
	if f.k == 0 {
		return 0
	}
	return f.header().Size()
}

// AppendBinary appends Guava's binary form of f to b. It returns an error only
// for the zero value, which has no binary form.
func (f filter) AppendBinary(b []byte) ([]byte, error) {
	if f.k == 0 {
		return b, errNoForm
	}
	return form.AppendWords(f.header().Append(b), f.bits.words, form.BigEndian), nil
}

// MarshalBinary returns Guava's binary form of f, which Java's
// BloomFilter.readFrom reads. Its length is Stats' SizeBytes. It does not hold the Info.
func (f filter) MarshalBinary() ([]byte, error) {
	return f.AppendBinary(make([]byte, 0, f.size()))
}

// WriteTo writes Guava's binary form of f to w through a small buffer.
func (f *filter) WriteTo(w io.Writer) (int64, error) {
	if f.k == 0 {
		return 0, errNoForm
	}
	return form.WriteWords(w, f.header().Append(nil), f.bits.words, form.BigEndian)
}

// parse returns the header of data, the bytes of its words and its Info, after checking
// the trailer, if there is one. If whole, that includes the checksum of the words.
func parse(data []byte, whole bool) (h form.Header, body []byte, info form.Info, err error) {
	trailer := 0
	if h, err = form.ParseHeader("bloom", data); err == nil {
		trailer, err = h.CheckSize("bloom", int64(len(data)))
	}
	if err != nil {
		return h, nil, info, form.Refused("bloom", data, err)
	}
	if trailer == 0 {
		return h, data[form.HeaderSize:], info, nil
	}
	check := form.ParseTrailer
	if whole {
		var sum form.Sum
		sum.Write(data[:h.Size()])
		check = sum.CheckTrailer
	}
	info, err = check("bloom", data[:form.HeaderSize], data[h.Size():])
	return h, data[form.HeaderSize:h.Size()], info, err
}

// UnmarshalBinary decodes data into f. data is a binary form, or the content of a
// file that [Filter.SaveFile] wrote, and no byte more. Only a file has an Info; without
// it, f's Info becomes zero. On error, which wraps [ErrFormat], f is unchanged.
// UnmarshalBinary does not retain data.
//
// Guava's binary form has no checksum, so a damaged word in it goes unnoticed. A
// file has a checksum, which UnmarshalBinary checks.
func (f *filter) UnmarshalBinary(data []byte) error {
	h, body, info, err := parse(data, true)
	if err != nil {
		return err
	}
	g := newBitset(h.Words)
	form.GetWords(g.words, body, form.BigEndian)
	*f = filterOf(h, g.words, info)
	return nil
}

// ReadFrom decodes the binary form that r yields next into f, and checks no checksum: of
// a file that [Filter.SaveFile] wrote, it reads the filter and leaves the trailer, with
// checksum and Info, unread in r. Use [LoadFile] or UnmarshalBinary for files.
//
// ReadFrom reads no byte more than the binary form. It allocates memory as data arrives,
// whatever the header claims. f's Info becomes zero. On error f is unchanged. The error is
// r's own, or wraps [ErrFormat] if r ends too early or yields no filter.
func (f *filter) ReadFrom(r io.Reader) (int64, error) {
	h, n, err := form.ReadHeader("bloom", r)
	if err != nil {
		return int64(n), err
	}
	array, m, err := form.ReadWords(r, nil, h.Words, form.BigEndian)
	if err != nil {
		return int64(n) + m, form.ReadError("bloom", err)
	}
	*f = filterOf(h, array, form.Info{})
	return int64(n) + m, nil
}

// AppendText appends the text of MarshalText to b.
func (f *Filter) AppendText(b []byte) ([]byte, error) { return form.AppendText(b, f) }

// MarshalText returns the standard base64 encoding of the binary form. JSON, XML, flags and
// cookies hold a filter in this way. The zero value is the empty text.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, &f) }

// UnmarshalText is [Filter.UnmarshalBinary] of base64 text. Empty text makes f the zero
// value.
func (f *filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("bloom", text, f, func() { *f = filter{} })
}

// Diff returns a patch, the bytes that make [Filter.Patch] turn from into to. Only the bits that
// differ travel, set or cleared: each takes six bytes at most, and usually two. 200 bytes and
// the Info of to, which the patch has, come on top. A patch is never larger than
// its filter by more than these. docs/format.md describes it. If from and to are equal, the patch
// is valid, and changes no bit.
//
// Diff returns an error that wraps [ErrMismatch] if M, K or Strategy of from and to differ, or
// one of them is nil. It also returns an error if both are the zero Filter, or if the Info of to
// is out of its range.
func Diff(from, to *Filter) ([]byte, error) {
	if from == nil || to == nil {
		return nil, form.MismatchNil("bloom")
	}
	h := from.header()
	if g := to.header(); g != h {
		return nil, form.Mismatch("bloom", "parameters", h, g)
	}
	if h.K == 0 {
		return nil, errNoForm
	}
	changes := func(yield func(form.Change) bool) {
		news := to.bits.words[:len(from.bits.words)]
		for i, old := range from.bits.words {
			if mask := old ^ news[i]; mask != 0 && !yield(form.Change{Word: i, Old: old, Mask: mask}) {
				return
			}
		}
	}
	return form.AppendPatch(nil, h, to.info.Info(), changes)
}

// Patch turns f into the second filter that [Diff] was given, with its bits and its Info, if f
// has the bits of the first one in the words that change. The patch has a checksum of these
// words. If they differ, or if the patch is for filters of another size, K or Strategy, Patch returns
// an error that wraps [ErrMismatch]. So the same patch fits once, unless it changes no bit. Bits
// that other words have stay as they are.
//
// Bytes that are no patch, or a damaged one, give an error that wraps [ErrFormat]. On error f is
// unchanged. Patch does not retain data.
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
	f.info = form.Share(p.Info)
	return nil
}
