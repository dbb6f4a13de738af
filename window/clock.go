package window

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// clock cuts time into generations and knows the current one. It never goes
// back. All methods but set, which comes first and once, may be called by many goroutines
// at once.
//
// A coarse clock does not read the time at each call, which would be slower than
// a look-up. It reads the time at a call's request, and then trusts what it found
// until a timer has it read again, at the end of the generation at the latest.
// If the timer is late, calls have taken the old generation for the current one.
// The clock then counts that generation as so much longer, and lets all later ones
// begin so much later. So no key is forgotten early.
type clock struct {
	now    func() time.Time
	wake   func(time.Duration, func()) // nil if time is read at each call
	coarse bool

	span  uint64    // nanoseconds
	gens  uint64    // in span
	epoch time.Time // when generation 0 began, on the wall clock

	gen  atomic.Uint64 // the newest generation that any reading was in
	ends atomic.Int64  // when gen ends, or sooner, in nanoseconds after epoch

	fresh atomic.Bool // a coarse clock needs no reading
	mu    sync.Mutex  // guards what tick uses and changes: fresh, epoch, gen, ends and due
	due   time.Time   // when gen ends, on the monotonic clock
}

const (
	coarsePrecision = 100 * time.Millisecond
	coarseFrom      = time.Second // the shortest generation that a coarse clock is for
)

// set starts the clock: gens generations last for span nanoseconds, generation 0
// began at epoch, and gen is the current one or an earlier one. A clock without a
// function to read gets time.Now.
func (c *clock) set(span, gens uint64, epoch time.Time, gen uint64) {
	if c.now == nil {
		c.now = time.Now
		c.wake = func(after time.Duration, call func()) { time.AfterFunc(after, call) }
	}
	c.span, c.gens, c.epoch = span, gens, epoch.Round(0)
	c.coarse = c.wake != nil && span >= gens*uint64(coarseFrom)
	c.gen.Store(gen)
}

// generation returns the current generation.
func (c *clock) generation() uint64 {
	if !c.coarse {
		c.advance(c.now())
	} else if !c.fresh.Load() {
		c.freshen()
	}
	return c.gen.Load()
}

// began returns when generation 0 began.
func (c *clock) began() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// freshen reads the time, and has tick called when it must be read again.
func (c *clock) freshen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh.Load() {
		return
	}
	now := c.now()
	left := c.advance(now)
	c.due = now.Add(left)
	c.fresh.Store(true)
	c.wake(min(left, coarsePrecision), c.tick)
}

// tick has the time read at the next call. It moves the epoch by as much as it is
// late.
func (c *clock) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fresh.Store(false)
	c.epoch = c.epoch.Add(max(0, c.now().Sub(c.due)))
}

// advance moves on to the generation of now, unless it has been left, and
// returns how long that will last, or less. It sets gen before ends: who finds a
// time to be before ends then finds a gen that is at least that time's.
func (c *clock) advance(now time.Time) (left time.Duration) {
	elapsed := max(0, int64(now.Sub(c.epoch)))
	if ends := c.ends.Load(); elapsed < ends {
		return time.Duration(ends - elapsed)
	}
	hi, lo := bits.Mul64(uint64(elapsed), c.gens)
	g, rest := bits.Div64(hi, lo, c.span) // hi < span: elapsed < 2^63 and gens <= span
	for newest := c.gen.Load(); g > newest && !c.gen.CompareAndSwap(newest, g); {
		newest = c.gen.Load()
	}
	ends := int64(min(uint64(elapsed)+(c.span-rest+c.gens-1)/c.gens, math.MaxInt64))
	c.ends.Store(ends)
	return time.Duration(ends - elapsed)
}
