package window

import (
	"fmt"
	"io"
	"math"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

const errNoForm = form.NoForm("window")

// The parameters of a frame, as docs/format.md has them. Its words are the lanes.
const (
	paramN, paramP, paramSpan, paramGenerations, paramRenew, paramK, paramPages, paramLanes = 0, 1, 2, 3, 4, 5, 6, 7
	paramLive, paramNewest, paramCount, paramFull, paramLost, paramFrom, paramEnds          = 8, 9, 10, 11, 12, 13, 14
)

// params returns the parameters of f's frame, and the live planes.
func (s *state) params() (p []uint64, live run) {
	p = make([]uint64, paramEnds+planes)
	c, r := s.config, &s.ring
	p[paramN], p[paramP], p[paramSpan], p[paramGenerations] = c.N, math.Float64bits(c.P), uint64(c.Span), uint64(c.Generations)
	if c.Renew {
		p[paramRenew] = 1
	}
	p[paramK], p[paramPages], p[paramLanes] = uint64(s.k), s.pages, s.lanes
	r.Lock()
	defer r.Unlock()
	live = r.planes()
	if live.len() == 0 {
		return p, live
	}
	p[paramLive], p[paramNewest] = live.len(), live.newest()%planes
	count := r.count.Load()
	for i := range s.parts {
		count += atomic.LoadUint64(&s.parts[i].pending)
	}
	p[paramCount], p[paramFull] = min(count, r.share), r.full&live.columns()
	p[paramLost], p[paramFrom] = uint64(r.lost), uint64(r.from.Load())
	for plane := live.oldest(); plane <= live.newest(); plane++ {
		p[paramEnds+plane%planes] = uint64(r.end(plane).Load())
	}
	return p, live
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
func (f filter) AppendBinary(b []byte) ([]byte, error) { return form.AppendBinary(b, f.SizeBytes(), f) }

// MarshalBinary returns f's binary form; see [Filter.AppendBinary].
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo writes f's binary form to w through a small buffer; see
// [Filter.AppendBinary]. Others that add at the same time wait for a page to be copied, at most.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.zero() {
		return 0, errNoForm
	}
	params, live := f.params()
	n := int(f.lanes)
	return form.Window.WriteFunc(w, params, len(f.array), form.Info(f.info), func(out []byte, from int) {
		for len(out) > 0 {
			page := uint64(from / n)
			p := &f.parts[page]
			p.Lock()
			// Of the planes, later ones may have taken the places by now, and some may not
			// have begun in this page.
			clean := p.clean.Load()
			first := max(live.oldest(), clean+1-planes)
			mask := columns(first, max(first, min(live.newest(), clean)+1)-first)
			part := f.lanesOf(page)[from%n:]
			part = part[:min(len(part), len(out)/8)]
			form.PutWords(out, part, mask, form.LittleEndian)
			p.Unlock()
			out = out[8*len(part):]
			from += len(part)
		}
	})
}

// UnmarshalBinary decodes data into f. data is a binary form, and no byte more. Its
// keys have aged since it was encoded, by the Now that f was made with, or by
// the system's time if there is none. f gets the configuration from data, and keeps its Now. On
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

// MarshalText returns the standard base64 encoding of the binary form. JSON, XML, flags and
// cookies hold a filter in this way. The zero value is the empty text.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText is [Filter.UnmarshalBinary] of base64 text. Empty text makes f the
// zero Filter, which keeps its Now for what is decoded later.
func (f *Filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("window", text, f, func() { f.filter = filter{now: f.now} })
}

// SaveFile writes f's binary form to a file at path, for [LoadFile] and [LoadOrNew]. After
// a crash at any moment, path holds what it held before, or all of f. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (f *Filter) SaveFile(path string) error {
	return storage.SaveFile(form.Window, path, f.SizeBytes(), f)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error,
// which wraps [bloom.ErrFormat], if the file has changed since. The filter has the
// configuration of the one that was saved, and reads the system's time. [LoadOrNew] checks
// the configuration, and sets Now.
func LoadFile(path string) (*Filter, error) { return load(path, nil) }

func load(path string, now func() time.Time) (*Filter, error) {
	f := new(Filter)
	f.now = now
	return storage.LoadFile(form.Window, path, f)
}

// LoadOrNew returns the filter in the file at path, with c's Now, or New(c) if there is no
// such file. LoadOrNew writes no file. It returns an error at once if the file's directory
// does not exist, as SaveFile would later.
//
// If the filter in the file has another N, P, Span, Renew or Generations than New(c),
// LoadOrNew returns an error that wraps [bloom.ErrMismatch] and names them.
func LoadOrNew(path string, c Config) (*Filter, error) {
	c = c.withDefaults()
	if _, err := c.layout(); err != nil {
		return nil, err
	}
	load := func(path string) (*Filter, error) { return load(path, c.Now) }
	return storage.LoadOr(path, load, func() (*Filter, error) { return New(c) }, func(f *Filter) error {
		if has, want := f.Config().text(), c.text(); has != want {
			return fmt.Errorf("window: the filter has %s, not %s: %w", has, want, bloom.ErrMismatch)
		}
		return nil
	})
}

// checkParams returns how many words there should be.
func checkParams(p []uint64) (uint64, error) {
	if p[paramGenerations] > maxParts || p[paramSpan] > math.MaxInt64 || p[paramRenew] > 1 {
		return 0, fmt.Errorf("span of %d ns, %d generations, renew = %d", p[paramSpan], p[paramGenerations], p[paramRenew])
	}
	c := configOf(p)
	if err := c.check(); err != nil {
		return 0, err
	}
	k, pages, lanes, live := p[paramK], p[paramPages], p[paramLanes], liveOf(p)
	switch {
	case k < 2 || k > maxK || k%2 != 0:
		return 0, fmt.Errorf("k = %d", k)
	case lanes == 0 || lanes > math.MaxUint32 || pages > 1 && lanes < leastPage || pages == 0 || pages > form.MaxFrameWords/lanes:
		return 0, fmt.Errorf("%d pages of %d lanes", pages, lanes)
	case p[paramLive] > planes || p[paramNewest] >= planes:
		return 0, fmt.Errorf("%d planes, the newest one at %d", p[paramLive], p[paramNewest])
	}
	from, last := int64(p[paramFrom]), int64(-farthest)
	bad := from < -farthest || from > farthest || int64(p[paramLost]) > from || c.Span == 0 && from != 0
	for plane := live.oldest(); plane <= live.newest() && !bad; plane++ {
		end, latest := int64(p[paramEnds+plane%planes]), from+1
		if plane == live.newest() && p[paramFull]&columns(plane, 1) == 0 {
			latest = from + c.part()
		}
		bad = end < last || end > latest
		last = end
	}
	if bad {
		return 0, fmt.Errorf("stamps that no clock makes")
	}
	return pages * lanes, nil
}

func configOf(p []uint64) Config {
	return Config{N: p[paramN], P: math.Float64frombits(p[paramP]), Span: time.Duration(p[paramSpan]),
		Renew: p[paramRenew] == 1, Generations: int(p[paramGenerations])}
}

func liveOf(p []uint64) run { return newRun(p[paramNewest]+planes, p[paramLive]) }

// restore makes f what a frame holds, and keeps its Now.
func (f *Filter) restore(p, array []uint64, info form.Info) {
	f.info = bloom.Info(info)
	s := newState(configOf(p), layout{int(p[paramK]), p[paramPages], p[paramLanes]}, array)
	f.state = s
	r, live := &s.ring, liveOf(p)
	if live.len() == 0 {
		s.begin(f.now, live, stale, live.newest())
		return
	}
	for i := range r.ends {
		r.ends[i].Store(int64(p[paramEnds+i]))
	}
	r.full, r.lost = p[paramFull], int64(p[paramLost])
	// Keys may have been added while the words were written. They count, but for three
	// deviations of the estimate or more.
	ones := uint64(0)
	for _, lane := range array {
		ones += lane >> p[paramNewest] & 1
	}
	estimate := float64(bloom.StatsOf(uint64(len(array)), s.k, ones).ApproxCount) - math.Sqrt(float64(r.share))/2
	count := min(max(p[paramCount], uint64(max(0, estimate))), r.share)
	if s.pages == 1 && count < r.share {
		s.parts[0].pending = count
	} else {
		r.count.Store(count)
	}
	s.begin(f.now, live, int64(p[paramFrom]), live.newest())
	r.add(0)
}
