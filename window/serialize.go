package window

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
)

const errNoForm = form.NoForm("window")

// The parameters of a frame. Its words are the blocks', one after the other, as
// they are in generation paramGen. The bounds are what New makes.
const (
	paramSpan = iota
	paramGens
	paramK
	paramBlocks
	paramLanes
	paramEpoch     // seconds since 1970, two's complement
	paramEpochNano // and nanoseconds
	paramGen
	paramCapacity
	paramFPR // as math.Float64bits has it
)

// params returns the parameters of f's frame in generation g.
func (s *state) params(g uint64) []uint64 {
	epoch := s.clock.began()
	return []uint64{
		paramSpan:      s.clock.span,
		paramGens:      s.clock.gens,
		paramK:         uint64(s.k),
		paramBlocks:    s.blockCount,
		paramLanes:     s.lanes,
		paramEpoch:     uint64(epoch.Unix()),
		paramEpochNano: uint64(epoch.Nanosecond()),
		paramGen:       g,
		paramCapacity:  s.capacity,
		paramFPR:       math.Float64bits(s.fpr),
	}
}

// Info returns what New and SetInfo set, and what the filter's binary form held.
func (f *Filter) Info() bloom.Info { return f.info }

// SetInfo replaces the Info. If N or P of i is 0, the filter's own stays. Nothing else may use the filter at the same time. Encoding
// returns an error if a field is out of its range; see [bloom.Info].
func (f *Filter) SetInfo(i bloom.Info) { f.info = bloom.Info(form.Info(f.info).With(form.Info(i))) }

// SizeBytes returns the length of the binary form in bytes. f needs hardly more memory. It
// is 0 for the zero Filter.
func (f filter) SizeBytes() int64 {
	if f.zero() {
		return 0
	}
	return form.Window.Size(len(f.array), form.Info(f.info))
}

// AppendBinary appends f's binary form, which carries a checksum, to b. A key
// whose Add returned before the call is in it. AppendBinary returns an error for the zero
// Filter, which has no binary form, and for an Info that cannot be saved.
func (f filter) AppendBinary(b []byte) ([]byte, error) { return form.AppendBinary(b, f) }

// MarshalBinary returns f's binary form; see [Filter.AppendBinary].
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes f's binary form to w through a small buffer; see
// [Filter.AppendBinary]. Others that add or look up meanwhile wait for a block to
// be copied, at most.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.zero() {
		return 0, errNoForm
	}
	g := f.clock.generation()
	n := int(f.words())
	return form.Window.WriteFunc(w, f.params(g), len(f.array), form.Info(f.info), func(out []byte, from int) {
		for len(out) > 0 {
			i := uint64(from / n)
			live := f.lockAt(i, g)
			part := f.wordsOf(i)[from%n:]
			part = part[:min(len(part), len(out)/8)]
			form.PutWords(out, part, live, form.LittleEndian)
			f.blocks[i].Unlock()
			out = out[8*len(part):]
			from += len(part)
		}
	})
}

// UnmarshalBinary decodes data into f. data is a binary form, and no byte more. Its
// keys have aged since it was encoded, by the Now that f was made with, or else by
// the system's time. f gets the configuration from data, and keeps its Now. On
// error, which wraps [bloom.ErrFormat], f is unchanged. It does not retain data.
func (f *Filter) UnmarshalBinary(data []byte) error {
	params, array, info, err := form.Window.Unmarshal(data, checkParams)
	if err != nil {
		return err
	}
	f.restore(params, array, info)
	return nil
}

// ReadFrom decodes the binary form that r yields next into f, as
// [Filter.UnmarshalBinary] does, and reads no byte more. It allocates as data
// arrives. On error f is unchanged. The error is r's own, or it wraps
// [bloom.ErrFormat] if r ends too early or holds anything else.
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	params, array, info, n, err := form.Window.Read(r, checkParams)
	if err != nil {
		return n, err
	}
	f.restore(params, array, info)
	return n, nil
}

// AppendText appends the standard base64 encoding of f's binary form to b. The zero
// Filter is the empty text.
func (f filter) AppendText(b []byte) ([]byte, error) { return form.AppendText(b, f) }

// MarshalText returns the standard base64 encoding of f's binary form. With it a
// Filter is a string in JSON. The zero Filter is the empty text.
func (f filter) MarshalText() ([]byte, error) { return f.AppendText(nil) }

// UnmarshalText is [Filter.UnmarshalBinary] of base64 text. Empty text makes f the
// zero Filter, which keeps its Now for what is decoded later.
func (f *Filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("window", text, f, func() { f.filter = filter{now: f.now} })
}

// SaveFile writes f's binary form to a file at path, for [LoadFile] and [LoadOrNew]. After
// a crash at any moment, path holds what it held before, or all of f. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (f *Filter) SaveFile(path string) error { return form.Window.SaveFile(path, f) }

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error,
// which wraps [bloom.ErrFormat], if the file has changed since. The filter has the
// configuration of the one that was saved, and reads the system's time. [LoadOrNew] checks
// the configuration, and sets Now.
func LoadFile(path string) (*Filter, error) { return load(path, nil) }

func load(path string, now func() time.Time) (*Filter, error) {
	f := new(Filter)
	f.now = now
	return form.LoadFile(form.Window, path, f)
}

// LoadOrNew returns the filter in the file at path, with c's Now, or New(c) if there is no
// such file. LoadOrNew writes no file. It returns an error at once if the file's directory
// does not exist, as SaveFile would later.
//
// If the filter in the file has another Capacity, FPR, Span or Generations than New(c),
// LoadOrNew returns an error that wraps [bloom.ErrMismatch] and names the fields.
func LoadOrNew(path string, c Config) (*Filter, error) {
	c = c.withDefaults()
	if _, err := c.layout(); err != nil {
		return nil, err
	}
	f, err := load(path, c.Now)
	if form.Missing(path, err) {
		return New(c)
	}
	if err == nil {
		err = form.In(path, f.fits(c))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// fits returns an error unless f has configuration c.
func (f *Filter) fits(c Config) error {
	var differ []string
	has := f.Config()
	for _, field := range []struct {
		name      string
		has, want any
	}{
		{"Capacity", has.Capacity, c.Capacity},
		{"FPR", has.FPR, c.FPR},
		{"Span", has.Span, c.Span},
		{"Generations", has.Generations, c.Generations},
	} {
		if field.has != field.want {
			differ = append(differ, fmt.Sprintf("%s = %v, not %v", field.name, field.has, field.want))
		}
	}
	if differ != nil {
		return fmt.Errorf("window: the filter has %s: %w", strings.Join(differ, ", "), bloom.ErrMismatch)
	}
	return nil
}

// checkParams returns how many words there should be.
func checkParams(p []uint64) (uint64, error) {
	if p[paramGens] > maxGenerations || p[paramSpan] > math.MaxInt64 {
		return 0, fmt.Errorf("span of %d ns, %d generations", p[paramSpan], p[paramGens])
	}
	c := Config{Capacity: p[paramCapacity], FPR: math.Float64frombits(p[paramFPR]),
		Span: time.Duration(p[paramSpan]), Generations: int(p[paramGens])}
	if err := c.check(); err != nil {
		return 0, err
	}
	perWord := uint64(64) >> laneBits(p[paramGens])
	k, blocks, lanes := p[paramK], p[paramBlocks], p[paramLanes]
	switch {
	case k < 2 || k > maxK || k%2 != 0:
		return 0, fmt.Errorf("k = %d", k)
	case lanes < minLanes && blocks != 1 || lanes > 2*minLanes || lanes == 0 || lanes%perWord != 0:
		return 0, fmt.Errorf("%d blocks of %d positions", blocks, lanes)
	case blocks < 1 || blocks > form.MaxFrameWords/(lanes/perWord):
		return 0, fmt.Errorf("block count %d", blocks)
	case p[paramEpochNano] >= uint64(time.Second):
		return 0, fmt.Errorf("epoch with %d ns", p[paramEpochNano])
	case p[paramGen] > math.MaxInt64:
		return 0, fmt.Errorf("generation = %d", p[paramGen])
	}
	return blocks * (lanes / perWord), nil
}

// restore makes f what a frame holds, and keeps its Now.
func (f *Filter) restore(p, array []uint64, info form.Info) {
	f.info = bloom.Info(info)
	f.state = &state{
		layout:   layout{int(p[paramK]), p[paramBlocks], p[paramLanes], laneBits(p[paramGens])},
		capacity: p[paramCapacity],
		fpr:      math.Float64frombits(p[paramFPR]),
	}
	f.clock.now = f.now
	f.clock.set(p[paramSpan], p[paramGens], time.Unix(int64(p[paramEpoch]), int64(p[paramEpochNano])), p[paramGen])
	f.setArray(array, p[paramGen])
}
