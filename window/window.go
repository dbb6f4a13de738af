// Package window provides a filter that remembers a key for a span of time, and then forgets it.
//
//	clicks, err := window.New(window.Config{N: 1_000_000, P: 0.001, Span: 24 * time.Hour})
//	if err != nil {
//		return err // a parameter is out of range
//	}
//	clicks.AddString("click 7")      // true: certainly not within a day
//	clicks.AddString("click 7")      // false: probably seen
//	clicks.ContainsString("click 8") // false
//
// If at most N new keys are added within any Span, however unevenly, each key for which Add
// returned true is found for at least a Span, unless the clock steps back; see [Config]. While the
// clock runs evenly, it is found for about Span + Span/Generations at most or, with Renew, Span +
// 2 Span/Generations. If more keys are added, the newest N are found;
// [Filter.Reach] returns how far back that is. A key that is not remembered is reported as present
// with a probability of at most P, whatever the traffic.
//
// Keys cannot be removed. If a program adds an event's id and then fails to handle the event, the
// retry is dropped. [Filter.Do] therefore handles an event before it adds the id; see
// examples/kafka. After a crash, ids that were added since the last [Filter.SaveFile] are new
// again.
//
// The memory is fixed: 23 bits for each of N keys at 1 %. A [bloom.Filter], which forgets nothing,
// needs 9.6; see docs/sizes.md for other rates. If memory is short, and it is enough that recent
// keys are probably found, use package flower; docs/memory.svg compares the two. If every answer
// must be right, use a map.
package window

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/invariants"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// The terms of this package:
//
//	lane        a 64-bit word: one position in each of the 64 planes
//	plane       a Bloom filter with the keys of one period; it is one bit of every lane
//	page        lanes with a lock of their own; all positions of a key are in one page
//	ring        the planes in the order in which they begin, and when each of them ends and dies
//	generation  one of the Config.Generations periods into which a Span is divided
//	part        the length of a generation in nanoseconds: Span/Generations
//	share       the number of keys that fill a plane
//	full        a plane that holds its share is full; a plane that has ended by time is partial
//	fulls       the number of full planes that are enough for the newest N keys
//	spare       the largest number of live partial planes while the clock runs evenly
//	lean        with Renew, how many planes may follow a key's plane before a repeat is written
//	feed        the number of keys that a page collects before it counts them in the ring
//	clean       up to this plane, a page has no bits that dead planes left
//	reach       how far back, in nanoseconds, all keys that were added are found

// Filter remembers keys for a span of time. Any number of goroutines may use it; see "Goroutines"
// in package bloom. Look-ups never wait for a lock. Calls of Add may wait for each other.
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. A Filter must not
// be copied.
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter has the data of a Filter. String and the encoding methods have value receivers, so that
// fmt, json and gob also find them in a Filter value. They copy the filter, so it must be small.
type filter struct {
	*state // nil in the zero Filter
	info   form.Kept
	now    func() time.Time // Config.Now
}

type state struct {
	layout
	ring   ring
	config Config // with defaults; its Now is not used
	feed   uint64 // number of keys that a page collects; with a single page, the share
	table  []page
	array  []uint64 // the lanes of all pages, page by page

	doing sync.Mutex // guards underWay
	// underWay maps each key that Do is handling to a channel that Do closes when it ends.
	underWay map[bloom.Hash]chan struct{}
}

func (s *state) zero() bool { return s == nil }

// page is the state of a page. Code that writes to the page must hold its lock.
//
// A look-up holds no lock. It loads the live planes first, then clean, then lanes. An add clears
// lanes before it raises clean, and writes to a plane only when clean covers it. So a look-up sees
// no bits that a dead plane left behind.
type page struct {
	sync.Mutex
	clean   atomic.Uint64 // planes after this one may have bits that dead planes left
	pending uint64        // number of keys not yet counted in the ring; loaded without the lock
}

// Config configures a Filter. N and P are required.
type Config struct {
	// N is the number of new keys that may be added within any Span, however unevenly. Each is
	// remembered for a Span. If more are added, the newest N are remembered. With Renew, some
	// repeats count as new. For a clock that steps back, see Now.
	N uint64
	// P is the highest false-positive rate: the probability of reporting a key that is not
	// remembered. P must be between 0 and 1. It holds whatever the traffic: it does not rise if a
	// day's keys arrive in a minute, if a hundred times N keys or many repeats arrive, or if the
	// clock leaps. A P below 6.4e-17 counts as 6.4e-17.
	P float64
	// Span is how long a key is remembered after Add returned true for it. It must be at least a
	// millisecond for each generation, and less than about 36 years. If Span is 0, there is no
	// clock, and the newest N keys are remembered.
	Span time.Duration
	// Renew makes each Add remember its key for another Span, even if the key is already
	// remembered. While the clock runs evenly, the key is then found for about Span +
	// 2 Span/Generations at most. Use Renew if Contains must find every key that was added, as in a
	// list of revoked tokens.
	//
	// A repeat counts towards N only if, since the key was last counted, more than Span/Generations
	// has passed or more than N/(Generations+1) other keys were counted. So it is enough if N is
	// Generations + 1 times the number of different keys in a Span: a key then counts at most
	// Generations + 1 times within a Span.
	//
	// Without Renew, a repeat needs no memory, and a key is remembered for a Span from the Add that
	// returned true. If an event repeats forever, Add returns true for it about once in each Span.
	Renew bool
	// Generations is the number of periods into which a Span is divided, from 1 to 31. 0 means 7.
	// Compared with 7 generations, a large window needs 7 % less memory with 3, 17 % more with 15,
	// and 75 % more with 31. With Renew, it needs 2 % more with 3, 9 % more with 15, and 60 % more
	// with 31.
	Generations int
	// Now returns the time. It must be safe for concurrent use. If Now is nil, the window reads the
	// system's time; if Span/Generations is a second or more, it usually does so only every tenth
	// of a second. To deduplicate a log by its own times, let Now return the time of the newest
	// event.
	//
	// The zero Time means that the time is not yet known, for example before the first event.
	// Nothing ages then. A key that is added counts as added at the first time that Now returns.
	//
	// A machine may start in 1970 and set its clock later. The saved time of a decoded window is
	// about that of its newest key. If the first time after decoding is earlier than the saved time
	// by more than a Span (with Renew, by more than Span + Span/Generations), the window's own time
	// continues from the saved time instead. Once Now has leapt to about the saved time or beyond,
	// the window uses the times of Now again, and keys that were added between decoding and the
	// leap count as added at the leap. In a window that was not decoded, or that was saved before
	// the leap and decoded after it, this leap is like any other.
	//
	// With a Span, Now is called once at the beginning of Stats, of Reach, and of each call that
	// adds or looks up keys. A batch is one call. Do calls Now again after handle has returned nil.
	// Any of these calls may call Now again, for example if it forgets keys or if the clock has
	// stepped back. No other method calls Now, and no decoder does.
	//
	// If the clock leaps ahead, the window forgets only the keys whose Span has ended by then.
	//
	// If the clock steps back, however far, or was ahead when a file was saved, the window forgets
	// nothing. A key that is already present is remembered for a Span from the time at which it was
	// added or from the time that the clock shows after the step, whichever is earlier. A key that
	// is added later is found for at least a Span, and at most Span/Generations longer than without
	// the step; if the clock steps back several times within a Span, the key is found for at most
	// twice as long as after one step. For a Span after a step, keys from before and after it share
	// the memory. If more than N/2 keys are added in that time, the newest N/2 are found, and Reach
	// returns how far back that is.
	//
	// Times are limited to 146 years before and after 1970.
	Now func() time.Time
}

// New returns an empty filter. Its Info has N and P. New returns an error that names the field
// unless N >= 1, 0 < P < 1, Generations is 0 to 31, Span is 0 or in the range that [Config] gives,
// and the filter needs at most a tebibyte, or less than 2 GiB on 32-bit platforms. If the machine
// has too little memory, the process ends, as with make.
func New(c Config) (*Filter, error) {
	c = c.withDefaults()
	l, err := c.layout()
	if err != nil {
		return nil, err
	}
	s := newState(c, l, bitwords.Make(int(l.pages*l.lanes)))
	s.begin(c.Now, newRun(planes, 0), stale, 2*planes)
	return &Filter{filter: filter{s, form.Keep(form.Info{N: c.N, P: c.P}), c.Now}}, nil
}

// The caller of newState must call begin before using the state.
func newState(c Config, l layout, array []uint64) *state {
	s := &state{layout: l, config: c, table: make([]page, l.pages), array: array}
	r := &s.ring
	r.share, s.feed = c.share(l.pages)
	r.counts, r.lost = c.counts(), never
	r.span = int64(c.Span)
	r.part = c.part()
	r.life = r.span
	if c.Renew {
		r.life += r.part
	}
	return s
}

// begin makes s ready for use. The stamp of the newest live plane was set at time newest. All pages
// are clean up to plane number cleared.
func (s *state) begin(now func() time.Time, live run, newest int64, cleared uint64) {
	s.ring.start(now, live, newest)
	for i := range s.table {
		s.table[i].clean.Store(cleared)
	}
}

// Config returns the configuration that f was made or saved with. If Generations was 0, it is 7.
// The zero Filter has the zero Config.
func (f *filter) Config() Config {
	if f.zero() {
		return Config{}
	}
	c := f.config
	c.Now = f.now
	return c
}

// String returns the name of f's type, its configuration and its size.
func (f filter) String() string {
	if f.zero() {
		return "window.Filter(zero)"
	}
	return fmt.Sprintf("window.Filter(%s, %d bytes)", f.Config().text(), f.SizeBytes())
}

// multiplier is 2^64 divided by the golden ratio.
const multiplier = 0x9e3779b97f4a7c15

// locate returns the page of h, and the first x and the step for twoPositions. Without the XOR,
// every position of the empty key, with the digest 0, 0, would be lane 0.
func (l *layout) locate(h bloom.Hash) (page, x, step uint64) {
	h1, step := h.Words()
	page, x = bits.Mul64(h1, l.pages)
	return page, x ^ multiplier, step
}

// twoPositions returns two of a key's positions in a page with the given number of lanes, and the x
// for the next two.
//
// Each half of x produces a sequence of positions. Double hashing, which only adds a step, has too
// few different sequences in a page, and keys with the same sequence are false positives.
func twoPositions(x, step, lanes uint64) (p, q uint32, nextX uint64) {
	low, high := uint64(uint32(x)), x>>32
	return uint32(low * lanes >> 32), uint32(high * lanes >> 32), x*multiplier + step
}

func (s *state) lanesOf(page uint64) []uint64 { return s.array[page*s.lanes:][:s.lanes] }

// clear clears the bits that dead planes left in a locked page. Afterwards the page is clean up to
// the last plane that can begin before another plane dies.
func (s *state) clear(page uint64, live run) {
	p := &s.table[page]
	clean := p.clean.Load()
	free := live.oldest() + planes - 1
	keep := ^columns(clean+1, min(free-clean, planes))
	lanes := s.lanesOf(page)
	for i, lane := range lanes {
		bitwords.Store(&lanes[i], lane&keep)
	}
	p.clean.Store(free)
	if invariants.On {
		s.verifyClear(page, clean+1, min(free-clean, planes))
		s.verifyClear(page, live.newest()+1, planes-live.len())
	}
}

// ready makes sure that the newest plane can take a key in a locked page, and returns the live
// planes.
func (s *state) ready(page uint64, live run, now int64) run {
	p := &s.table[page]
	if !s.ring.accepts(live, now) {
		before := live.newest()
		live = s.ring.begin(now)
		if s.pages == 1 && live.newest() != before {
			// The pending keys of a single page count only in the plane that ended. With several
			// pages, pending keys count in the next plane.
			bitwords.Store(&p.pending, 0)
		}
	}
	if p.clean.Load() < live.newest() {
		s.clear(page, live)
	}
	return live
}

// count sets p.pending. If pending reaches the feed, the ring counts these keys instead. The caller
// must hold the page's lock.
func (s *state) count(p *page, pending uint64) {
	if pending >= s.feed {
		s.ring.countKeys(pending)
		pending = 0
	}
	bitwords.Store(&p.pending, pending)
}

// time returns the time, and removes the planes that are due to die. If lookUp is true, it removes
// none while another call holds the lock.
func (s *state) time(lookUp bool) int64 {
	now := s.ring.reading.Load()
	if !s.ring.current(now) {
		now = s.tend(lookUp)
	}
	return now
}

// tend is the slow path of time.
func (s *state) tend(lookUp bool) int64 {
	r := &s.ring
	now := r.now()
	if r.current(now) { // speed
		return now
	}
	if !lookUp {
		r.Lock()
	} else if !r.TryLock() {
		return now
	}
	defer r.Unlock()
	// If another goroutine has removed planes at a later time, now looks like a step back. So age
	// reads the time again: readings under the lock decrease only if the clock has stepped back.
	if !r.current(now) {
		now = r.age()
	}
	return now
}

// Add adds key unless f contains it, and reports whether key was new. True is certain: key was not
// remembered. False means that key is probably remembered; with Renew, it is remembered for another
// Span.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is like Add.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.zero() {
		panic(errZero)
	}
	return f.addAt(h, stale)
}

// addAt is like AddHash, for a key that is added at time now. If now is the constant stale, addAt
// reads the time.
func (s *state) addAt(h bloom.Hash, now int64) bool {
	if now == stale {
		now = s.time(false)
	}
	if s.k > 16 && len(s.array) >= farLanes { // speed
		s.touch(h, s.k) // speed
	}
	page, start, step := s.locate(h)
	p, lanes := &s.table[page], s.lanesOf(page)
	k, width, x := s.k, uint64(len(lanes)), start
	p.Lock()
	live := s.ring.planes()
	// Planes above clean have no keys in the page. The loop has no early exit, because a
	// misprediction would cost more than the remaining positions.
	seen := live.upTo(p.clean.Load())
	for i := k; i > 0; i -= 2 {
		var a, b uint32
		a, b, x = twoPositions(x, step, width)
		seen &= lanes[a] & lanes[b]
	}
	if seen == 0 || s.ring.lean > 0 && s.ring.renews(seen, live, now) {
		if !s.ring.accepts(live, now) || p.clean.Load() < live.newest() {
			live = s.ready(page, live, now)
		}
		bit := uint64(1) << (live.newest() % planes)
		x = start
		for i := k; i > 0; i -= 2 {
			var a, b uint32
			a, b, x = twoPositions(x, step, width)
			bitwords.Store(&lanes[a], lanes[a]|bit)
			bitwords.Store(&lanes[b], lanes[b]|bit)
		}
		s.count(p, p.pending+1)
		if invariants.On {
			s.verifyAdded(page, start, step, bit, live)
		}
	}
	p.Unlock()
	return seen == 0
}

// Contains reports whether key is remembered. False is certain. For a key that is not remembered,
// it returns true with probability FPR; see [Filter.Stats]. Contains does not renew key.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is like Contains.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	if f.zero() {
		return false
	}
	f.time(true)
	return f.contains(h)
}

// contains is like ContainsHash, but does not read the clock.
func (s *state) contains(h bloom.Hash) bool {
	page, x, step := s.locate(h)
	live := s.ring.planes()
	seen := live.upTo(s.table[page].clean.Load())
	lanes, width := s.lanesOf(page), s.lanes
	for i := s.k; i > 0; i -= 2 {
		// Most absent keys turn out to be absent within half of the positions. A test after each
		// pair would keep the processor from reading ahead.
		if 2*i <= s.k && seen == 0 { // speed
			return false
		}
		var a, b uint32
		a, b, x = twoPositions(x, step, width)
		seen &= atomic.LoadUint64(&lanes[a]) & atomic.LoadUint64(&lanes[b])
	}
	return seen != 0
}

// Reach returns how far back all keys that were added are still remembered. That is Span, unless
// some keys were given up early, because more than N were added or the clock stepped back. Then
// Reach is the time since the newest of these was added, or up to Span/Generations less while the
// clock runs evenly. With Renew it may be lower still, because Reach does not know which of these
// were written again.
//
// Reach does not count keys that Reset removed, or that were lost in a crash because they were
// added after the last save. It is 0 if Span is 0, and for the zero Filter.
func (f *Filter) Reach() time.Duration {
	if f.zero() {
		return 0
	}
	return f.ring.reach()
}

// Reset removes all keys. f keeps its memory, Config and Info.
func (f *Filter) Reset() {
	if !f.zero() {
		f.ring.reset()
	}
}

// Stats returns the statistics of f, which consists of 64 Bloom filters with K hash functions each,
// for keys from different times. M, OnesCount and FillRatio describe all of them together. FPR is
// the current probability of reporting a key that is not remembered. ApproxCount estimates the
// number of keys that are remembered; with Renew, a key counts once for each time that Add wrote
// it. If N is 100,000 or more, Stats may estimate from a sample, so that its time does not grow
// with N.
func (f *Filter) Stats() bloom.Stats {
	if f.zero() {
		return bloom.Stats{}
	}
	f.time(false)
	sample := min(f.pages, 16)
	var ones [planes]uint64
	var rates float64
	for i := range sample {
		absent := 1.0 // the probability that no plane reports an absent key
		for plane, n := range f.ones(i * f.pages / sample) {
			ones[plane] += n
			absent *= 1 - math.Pow(float64(n)/float64(f.lanes), float64(f.k))
		}
		rates += 1 - absent
	}
	s := bloom.Stats{
		M:         f.pages * f.lanes * planes,
		K:         f.k,
		FPR:       rates / float64(sample),
		SizeBytes: f.SizeBytes(),
	}
	scale := float64(f.pages) / float64(sample)
	for _, n := range ones {
		s.OnesCount += uint64(float64(n) * scale)
		s.ApproxCount += uint64(float64(bloom.StatsOf(sample*f.lanes, f.k, n).ApproxCount) * scale)
	}
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	return s
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (f *Filter) LogValue() slog.Value { return slog.StringValue(f.String()) }

func (s *state) ones(page uint64) (ones [planes]uint64) {
	live := s.ring.planes()
	columns := live.upTo(s.table[page].clean.Load())
	lanes := s.lanesOf(page)
	for i := range lanes {
		for lane := atomic.LoadUint64(&lanes[i]) & columns; lane != 0; lane &= lane - 1 {
			ones[bits.TrailingZeros64(lane)]++
		}
	}
	return ones
}

const errZero = "window: Add to a zero Filter: make it with New, or decode into it"
