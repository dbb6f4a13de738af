package window

import (
	"errors"
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

// These are the parameters of a frame; see docs/format.md. If no plane is live, paramLive and all
// following ones are 0.
const (
	paramN           = iota
	paramP           // the bits of a float64
	paramSpan        // nanoseconds
	paramGenerations // not 0
	paramRenew       // 0 or 1
	paramK           // number of positions of a key
	paramPages
	paramLanes  // number of lanes in a page
	paramLive   // number of live planes
	paramNewest // column of the newest plane
	paramCount  // number of keys in the newest plane
	paramFull   // columns of the live planes that are full
	paramLost   // ring.lost
	paramFrom   // ring.stamped
	paramEnds   // the first of 64 stamps, one for each column
)

func (s *state) params() (p []uint64, live run) {
	p = make([]uint64, paramEnds+planes)
	c, r := s.config, &s.ring
	p[paramN] = c.N
	p[paramP] = math.Float64bits(c.P)
	p[paramSpan] = uint64(c.Span)
	p[paramGenerations] = uint64(c.Generations)
	if c.Renew {
		p[paramRenew] = 1
	}
	p[paramK] = uint64(s.k)
	p[paramPages] = s.pages
	p[paramLanes] = s.lanes
	r.Lock()
	defer r.Unlock()
	live = r.planes()
	if live.len() == 0 {
		return p, live
	}
	if r.reading.Load() != stale && r.wake != nil {
		r.exact() // keys may have been added after the newest plane's end; see endLate
	}
	p[paramLive] = live.len()
	p[paramNewest] = live.newest() % planes
	count := r.count.Load()
	for i := range s.table {
		count += atomic.LoadUint64(&s.table[i].pending)
	}
	p[paramCount] = min(count, r.share)
	p[paramFull] = r.full & live.columns()
	p[paramLost] = uint64(r.lost)
	p[paramFrom] = uint64(r.stamped.Load())
	for plane := live.oldest(); plane <= live.newest(); plane++ {
		p[paramEnds+plane%planes] = uint64(r.stampOf(plane).Load())
	}
	return p, live
}

// Info returns the filter's Info. New, UpdateInfo and decoding set it.
func (f *Filter) Info() bloom.Info { return bloom.Info(f.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (f *Filter) UpdateInfo(update func(*bloom.Info)) {
	f.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// SizeBytes returns the length of the binary form in bytes, or 0 for the zero Filter. In memory, f
// needs little more.
func (f filter) SizeBytes() int64 {
	if f.zero() {
		return 0
	}
	return form.Window.Size(len(f.array), f.info.Get())
}

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.SizeBytes(), f)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo implements io.WriterTo. A concurrent Add waits only while one page is copied.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	if f.zero() {
		return 0, errNoForm
	}
	params, live := f.params()
	n := int(f.lanes)
	return form.Window.WriteFunc(w, params, len(f.array), f.info.Get(), func(dst []byte, pos int) {
		for len(dst) > 0 {
			page := uint64(pos / n)
			p := &f.table[page]
			p.Lock()
			// Since the head was written, later planes may have taken the columns of the oldest
			// ones. Also, the columns of the newest planes may still have stale bits in this page.
			clean := p.clean.Load()
			first := max(live.oldest(), clean+1-planes)
			mask := columns(first, max(first, min(live.newest(), clean)+1)-first)
			lanes := f.lanesOf(page)[pos%n:]
			lanes = lanes[:min(len(lanes), len(dst)/8)]
			form.PutWords(dst, lanes, mask, form.LittleEndian)
			p.Unlock()
			dst = dst[8*len(lanes):]
			pos += len(lanes)
		}
	})
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler. f gets its configuration from data, but
// keeps its Now. With a Span, the keys have continued to age since they were encoded: f measures
// their age by Now, or by the system's time if Now is nil; see [Config].
func (f *Filter) UnmarshalBinary(data []byte) error {
	params, array, info, err := form.Window.Unmarshal(data, checkParams)
	if err != nil {
		return err
	}
	f.restore(params, array, info)
	return nil
}

// ReadFrom implements io.ReaderFrom; see [Filter.UnmarshalBinary].
func (f *Filter) ReadFrom(r io.Reader) (int64, error) {
	params, array, info, n, err := form.Window.Read(r, checkParams)
	if err != nil {
		return n, err
	}
	f.restore(params, array, info)
	return n, nil
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText implements encoding.TextUnmarshaler. Empty text makes f the zero Filter, but f
// keeps its Now for later decoding.
func (f *Filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("window", text, f, func() { f.filter = filter{now: f.now} })
}

// SaveFile saves f to the file at path; see "Files" in package bloom.
func (f *Filter) SaveFile(path string) error {
	return storage.SaveFile(form.Window, path, f.SizeBytes(), f.info.Get(), f)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom. The filter has the saved
// configuration, and its Now is nil. [LoadOrNew] also checks the configuration and sets Now.
func LoadFile(path string) (*Filter, error) { return load(path, nil) }

func load(path string, now func() time.Time) (*Filter, error) {
	f := new(Filter)
	f.now = now
	return storage.LoadFile(form.Window, path, f)
}

// LoadOrNew loads the file at path, or returns New(c) if there is none; see "Files" in package
// bloom. The saved filter must have the same Config as New(c). It gets the Now of c.
func LoadOrNew(path string, c Config) (*Filter, error) {
	c = c.withDefaults()
	if _, err := c.layout(); err != nil {
		return nil, err
	}
	load := func(path string) (*Filter, error) { return load(path, c.Now) }
	create := func() (*Filter, error) { return New(c) }
	return storage.LoadOr(path, load, create, func(f *Filter) error {
		if saved, want := f.Config().text(), c.text(); saved != want {
			return fmt.Errorf("window: the filter has %s, not %s: %w", saved, want, bloom.ErrMismatch)
		}
		return nil
	})
}

// checkParams is a form.Check. It also rejects stamps that no clock can produce.
func checkParams(p []uint64) (words uint64, err error) {
	if p[paramGenerations] > maxGenerations || p[paramSpan] > math.MaxInt64 || p[paramRenew] > 1 {
		return 0, fmt.Errorf("span of %d ns, %d generations or renew = %d is out of range",
			p[paramSpan], p[paramGenerations], p[paramRenew])
	}
	c := configOf(p)
	if bad := c.check(); bad != nil {
		return 0, fmt.Errorf("%v", bad)
	}
	if c.N == 0 {
		return 0, errors.New("its N is 0")
	}
	if err := checkLayout(p[paramK], p[paramPages], p[paramLanes]); err != nil {
		return 0, err
	}
	if p[paramLive] > planes || p[paramNewest] >= planes {
		return 0, fmt.Errorf("%d planes with the newest at %d are out of range",
			p[paramLive], p[paramNewest])
	}
	if !clockMakes(p, c) {
		return 0, fmt.Errorf("no clock can have produced its stamps")
	}
	return p[paramPages] * p[paramLanes], nil
}

func checkLayout(k, pages, lanes uint64) error {
	if k < 2 || k > maxK || k%2 != 0 {
		return fmt.Errorf("k = %d is not an even number in [2, %d]", k, maxK)
	}
	lanesFit := lanes > 0 && lanes <= math.MaxUint32
	tooSmall := pages > 1 && lanes < leastPage
	if !lanesFit || tooSmall || pages == 0 || pages > form.MaxFrameWords/lanes {
		return fmt.Errorf("%d pages of %d lanes are out of range", pages, lanes)
	}
	return nil
}

// clockMakes reports whether a clock could have produced the times in p. The stamps of the live
// planes must not decrease. At the time paramFrom, all planes except the newest must have ended,
// and the newest must end at most a part later.
func clockMakes(p []uint64, c Config) bool {
	stamped := int64(p[paramFrom])
	if stamped < -farthest || stamped > farthest || int64(p[paramLost]) > stamped {
		return false
	}
	if c.Span == 0 && stamped != 0 { // without a Span, the time is always 0
		return false
	}
	live := liveOf(p)
	before := int64(-farthest)
	for plane := live.oldest(); plane <= live.newest(); plane++ {
		end := int64(p[paramEnds+plane%planes])
		latest := stamped + 1
		if full := p[paramFull]&columns(plane, 1) != 0; plane == live.newest() && !full {
			latest = stamped + c.part()
		}
		if end < before || end > latest {
			return false
		}
		before = end
	}
	return true
}

func configOf(p []uint64) Config {
	return Config{
		N:           p[paramN],
		P:           math.Float64frombits(p[paramP]),
		Span:        time.Duration(p[paramSpan]),
		Renew:       p[paramRenew] == 1,
		Generations: int(p[paramGenerations]),
	}
}

// liveOf returns the live planes according to p. Their numbers are between 1 and 127.
func liveOf(p []uint64) run { return newRun(p[paramNewest]+planes, p[paramLive]) }

// restore sets f to the filter in a frame that checkParams has accepted. f keeps its Now.
func (f *Filter) restore(p, array []uint64, info form.Info) {
	f.info = form.Keep(info)
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
	r.full = p[paramFull]
	r.lost = int64(p[paramLost])
	// Keys may have been added to the newest plane while the words were written. paramCount does
	// not include them, so the count is also estimated from the plane's bits. The estimate is
	// lowered, by about three standard deviations at a P of 1 % and by more at a lower P, so that
	// it rarely counts keys that are not there.
	ones := uint64(0)
	for _, lane := range array {
		ones += lane >> p[paramNewest] & 1
	}
	estimate := float64(bloom.StatsOf(uint64(len(array)), s.k, ones).ApproxCount)
	estimate -= math.Sqrt(float64(r.share)) / 2
	count := min(max(p[paramCount], uint64(max(0, estimate))), r.share)
	if s.pages == 1 && count < r.share {
		s.table[0].pending = count
	} else {
		r.count.Store(count)
	}
	stamped := int64(p[paramFrom])
	if end := r.stampOf(live.newest()); count == r.share && r.full&columns(live.newest(), 1) == 0 {
		// The newest plane became full after its end was set. Decoding does not read the clock, so
		// the first call that reads it moves the end to that time, if that is earlier.
		r.full |= columns(live.newest(), 1)
		if r.span == 0 {
			end.Store(stamped + 1)
		}
		stamped = max(stamped, end.Load()-1)
	}
	s.begin(f.now, live, stamped, live.newest())
}
