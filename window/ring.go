package window

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// ring has the live planes, and the times at which they end and die. The terms are explained in
// window.go.
//
// Planes are numbered in the order in which they begin. Plane i is bit i mod 64 of each lane. A
// plane begins with its first key, and is the newest until the next one begins. It ends by count
// when it holds its share, or by time, usually a part after it began; see prolong. With a clock, it
// dies a Span after its end, or with Renew a Span and a part, unless it is given up earlier. The
// live planes have consecutive numbers.
//
// The time at which a plane ends is its stamp, in nanoseconds since 1970; the plane takes keys only
// before that time. Stamps never decrease from one plane to the next. When a plane has ended, its
// stamp is at most now + 1.
//
// Some fields are loaded without the lock, but stored only under it:
//
//   - Two fields decide whether a plane takes a key: live, which shows whether the newest plane is
//     open, and the stamp of that plane. live is loaded first and stored last. So if another plane
//     begins in between, the loaded stamp still belongs to the plane into which the key goes.
//   - An add reads the clock before it loads the fields stamped and expires. A goroutine that
//     removes dead planes or lowers stamps first stores shut in expires, then reads the clock, then
//     stores live, and finally stores expires. So an add that did not wait for the lock has read
//     the time before that goroutine.
//   - A plane that becomes full is closed before the time of its end is read. So no key was added
//     to it after that time.
type ring struct {
	clock
	span int64 // Config.Span, in nanoseconds
	part int64 // Span/Generations, rounded up; farthest if there is no Span
	life int64 // how long a plane lives after its end: a Span, or with Renew a Span and a part
	counts
	share uint64

	live    atomic.Uint64 // the live planes, as a run
	stamped atomic.Int64  // the time at which a stamp was last set
	expires atomic.Int64  // when the oldest plane dies, MaxInt64 if none dies, or the constant shut
	count   atomic.Uint64 // number of keys counted in the newest plane

	sync.Mutex
	ends [planes]atomic.Int64 // the stamps, by column
	full uint64               // the columns of the full planes
	// Keys that were given up before their Span was over were added no later than lost. If there
	// are none, lost is the constant never.
	lost      int64
	prolonged bool   // the newest plane may be in its second part; see prolong
	fresh     bool   // the planes were decoded, and the clock has not shown a time since
	undated   uint64 // the first plane that began after decoding but before the clock was set, or 0
}

const (
	shut  = math.MinInt64 // the value of expires while adds need the lock
	never = math.MinInt64 // the value of lost while no key has been given up early
)

// run describes planes with consecutive numbers. The low lenBits bits count these planes, up to 64.
// The next bit is set if the newest plane is open: it takes keys until the time of its stamp. The
// other bits are the number of the newest plane.
type run uint64

const (
	lenBits = 7
	openBit = 1 << lenBits
)

func newRun(newest, n uint64) run { return run(newest<<(lenBits+1) | n) }

func (r run) newest() uint64 { return uint64(r) >> (lenBits + 1) }
func (r run) len() uint64    { return uint64(r) & (openBit - 1) }
func (r run) oldest() uint64 { return r.newest() + 1 - r.len() }

func (r run) isOpen() bool { return r&openBit != 0 }
func (r run) opened() run  { return r | openBit }
func (r run) closed() run  { return r &^ openBit }

func (r run) withoutOldest() run {
	if r.len() == 1 {
		return newRun(r.newest(), 0)
	}
	return r - 1
}

func (r run) withNext() run { return newRun(r.newest()+1, r.len()+1).opened() }

// columns returns the bits that planes first to first+n-1 have in a lane. n is at most 64.
func columns(first, n uint64) uint64 {
	return bits.RotateLeft64(1<<n-1, int(first%planes))
}

func (r run) columns() uint64 { return columns(r.oldest(), r.len()) }

func (r run) upTo(last uint64) uint64 {
	first := r.oldest()
	return columns(first, max(min(last, r.newest())+1, first)-first)
}

func (r *ring) planes() run { return run(r.live.Load()) }

func (r *ring) stampOf(plane uint64) *atomic.Int64 { return &r.ends[plane%planes] }

// accepts reports whether the newest of the live planes takes a key that is added at time now.
func (r *ring) accepts(live run, now int64) bool {
	return live.isOpen() && now < r.stampOf(live.newest()).Load()
}

// start makes r ready for use. If now is nil, the clock is time.Now. The stamps of the live planes
// must already be set; newest is the time at which the newest plane's stamp was set.
func (r *ring) start(now func() time.Time, live run, newest int64) {
	r.source = now
	if now == nil {
		r.source = time.Now
		if r.part >= coarseFrom {
			r.wake = func(after time.Duration, call func()) { time.AfterFunc(after, call) }
		}
	}
	if r.span > 0 { // without a Span, the time is always 0
		r.reading.Store(stale)
	}
	r.stamped.Store(max(newest, stale+1))
	r.prolonged = true // a decoded newest plane may have been prolonged
	r.fresh = live.len() > 0 && r.span > 0
	if !r.fresh {
		live = r.reopened(live)
	}
	r.publish(live)
}

// reopened returns live with the newest plane open, unless that plane is full.
func (r *ring) reopened(live run) run {
	if live.len() == 0 || r.full&columns(live.newest(), 1) != 0 {
		return live
	}
	return live.opened()
}

// publish stores live and expires; expires is shut while r is fresh. The caller must hold the lock.
func (r *ring) publish(live run) {
	expires := int64(math.MaxInt64)
	switch {
	case r.fresh:
		expires = shut
	case live.len() > 0 && r.span > 0:
		expires = r.death(live.oldest())
	}
	if invariants.On {
		r.verify(live)
	}
	r.live.Store(uint64(live))
	r.expires.Store(expires)
}

func (r *ring) death(plane uint64) int64 { return r.stampOf(plane).Load() + r.life }

// current returns false if a plane is due to die, if now is before r.stamped, or while r.expires is
// shut.
func (r *ring) current(now int64) bool { return now >= r.stamped.Load() && now < r.expires.Load() }

// age reads the time, removes the planes that are due to die, and returns the time. If a plane is
// due, or the clock has stepped back, age makes adds wait and reads the time again, because a key
// may have been added after the first reading. The caller must hold the lock.
//
// If the clock has stepped back, or was ahead when the filter was saved, age lowers the stamps that
// are later than latest allows, so that their planes die before the clock catches up. It does not
// change other stamps, so older keys keep their age when a clock leaps ahead and comes back.
func (r *ring) age() (now int64) {
	if r.span == 0 {
		return 0
	}
	now = r.exact()
	if r.current(now) {
		return now
	}
	r.expires.Store(shut)
	now = r.exact()
	live := r.planes()
	if now < r.stamped.Load() {
		for plane := live.oldest(); plane != live.newest()+1; plane++ {
			r.stampOf(plane).Store(min(r.stampOf(plane).Load(), r.latest(plane, live, now)))
		}
		r.lost = min(r.lost, now)
		r.prolonged = false
		r.stamped.Store(now)
	}
	// While the time is unknown, nothing dies: now is then r.stamped, which may be in the future.
	for !r.fresh && live.len() > 0 && now >= r.death(live.oldest()) {
		live = live.withoutOldest()
	}
	r.publish(live)
	return now
}

// latest returns the latest stamp that a live plane can have at time now.
func (r *ring) latest(plane uint64, live run, now int64) int64 {
	if plane == live.newest() && live.isOpen() {
		return now + r.part
	}
	return now + 1
}

// newestKey returns the latest time at which a key could have been added to the plane.
func (r *ring) newestKey(plane uint64) int64 { return r.stampOf(plane).Load() - 1 }

// begin begins a plane for a key that is added at time now, unless the newest plane takes the key
// or is prolonged. It returns the live planes. The key goes into the newest one.
func (r *ring) begin(now int64) run {
	r.Lock()
	defer r.Unlock()
	if r.wake != nil || !r.current(now) {
		now = r.age() // with a coarse clock, now may be out of date
	}
	live := r.planes()
	if r.accepts(live, now) || r.prolong(live, now) {
		return live
	}
	if live.len() == planes {
		live = r.giveUp(live, now)
	}
	live = live.withNext()
	r.full &^= columns(live.newest(), 1)
	r.count.Store(0)
	r.prolonged = false
	if r.undated == 0 && (r.fresh || r.lag.Load() > 0) {
		r.undated = live.newest()
		now = max(now, r.newestKey(live.newest()-1))
	}
	r.stamp(live.newest(), now, now+r.part)
	r.publish(live)
	return live
}

// prolong may continue the newest plane although its time is over. If so, it sets a later end and
// returns true. The caller must hold the lock.
//
// Partial planes end at least a part apart, so at most spare of them are live while the clock runs
// evenly. After a step back there may be more, because planes that ended before the step may still
// be live. Each additional one takes the place of a full plane. If more than spare are live, the
// newest one lasts for two parts; if more than limit are live, it lasts as long as necessary.
// Otherwise a clock that steps back and forth would fill the ring with planes of one key each.
func (r *ring) prolong(live run, now int64) bool {
	if !live.isOpen() {
		return false
	}
	partial := bits.OnesCount64(live.columns() &^ r.full)
	if partial <= r.spare {
		return false
	}
	if twice := r.stampOf(live.newest()).Load() + r.part; !r.prolonged && now < twice {
		r.prolonged = true
		r.stamp(live.newest(), now, twice)
		return true
	}
	if partial <= r.limit {
		return false
	}
	r.stamp(live.newest(), now, min(now+r.part, r.death(live.oldest())))
	return true
}

// giveUp removes the oldest plane from live. It also removes the planes after it that the newest N
// keys do not need, so that a page clears all of these at once. The caller must hold the lock.
func (r *ring) giveUp(live run, now int64) run {
	for {
		until := r.stampOf(live.oldest()).Load()
		if r.lean > 0 {
			until = min(until+r.part, r.stampOf(live.oldest()+r.lean).Load())
		}
		r.lost = max(r.lost, min(until-1, now))
		live = live.withoutOldest()
		if bits.OnesCount64(live.withoutOldest().columns()&r.full) < r.fulls {
			return live
		}
	}
}

func (r *ring) stamp(newest uint64, now, end int64) {
	r.stamped.Store(now)
	r.stampOf(newest).Store(end)
}

// countKeys counts n more keys in the newest plane, and ends the plane if it holds its share.
func (r *ring) countKeys(n uint64) {
	if r.count.Add(n) < r.share || !r.planes().isOpen() {
		return
	}
	r.Lock()
	defer r.Unlock()
	live := r.planes()
	if !live.isOpen() || r.count.Load() < r.share {
		return
	}
	newest := live.newest()
	r.live.Store(uint64(live.closed()))
	now := r.age() // no key in the plane was added later
	r.full |= columns(newest, 1)
	r.stamp(newest, now, min(r.stampOf(newest).Load(), now+1))
	r.publish(r.planes())
}

// renews reports whether a repeat is written again, so that its key is remembered for another Span.
// columns has a bit for each plane that has the key.
//
// The newest of these planes decides. The key is written again if that plane ended at least a part
// ago, or if more than r.lean planes follow it, including one that the write would begin. Otherwise
// at least a Span is left, because the plane lives for a Span and a part after its end. While the
// clock runs evenly, it is given up earlier only if r.fulls full planes follow it, and by then N
// more keys have been added.
func (r *ring) renews(columns uint64, live run, now int64) bool {
	newest := live.newest()
	// The bit of the newest plane becomes the highest bit.
	inOrder := bits.RotateLeft64(columns, int(planes-1-newest%planes))
	plane := newest - uint64(bits.LeadingZeros64(inOrder))
	end := r.stampOf(plane).Load()
	if now >= end && r.wake != nil {
		now = r.read() // with a coarse clock, now may be out of date
	}
	age := newest - plane
	if !r.accepts(live, now) {
		age++
	}
	return age > r.lean || now-r.part >= end
}

func (r *ring) reach() time.Duration {
	r.Lock()
	defer r.Unlock()
	now := r.age()
	if r.lost == never {
		return time.Duration(r.span)
	}
	return time.Duration(min(max(0, now-r.lost), r.span))
}

// reset gives up all planes. The next plane has the same column as the first plane of a new filter,
// so that the same keys produce the same bytes.
func (r *ring) reset() {
	r.Lock()
	defer r.Unlock()
	r.full, r.lost = 0, never
	r.publish(newRun((r.planes().newest()+planes-1)/planes*planes, 0))
}

// clock reads the time in nanoseconds since 1970.
//
// A coarse clock does not read the time on each call, because that can take longer than a look-up.
// It uses its last reading until a timer fires. If the timer is late, keys may have been written to
// a plane after its end; endLate then moves the end, so that no key is forgotten early. Only the
// holder of the ring's lock replaces a reading, so endLate knows which reading was in use.
//
// A clock may be read before it has been set. The zero Time means that the time is unknown: the
// ring's time then stands still. If the clock is far behind the newest stamp of a decoded filter,
// as on a machine that starts in 1970, the ring's time continues from that stamp: it is the clock's
// time plus lag.
type clock struct {
	source  func() time.Time
	wake    func(time.Duration, func()) // nil unless the clock is coarse
	reading atomic.Int64                // the last reading of a coarse clock, or the constant stale
	timing  atomic.Bool                 // whether a timer is set
	lag     atomic.Int64                // stored only under the ring's lock
}

const (
	stale           = math.MinInt64 // the value of reading when the time must be read
	farthest        = 1 << 62       // the limit of times, in nanoseconds before or after 1970
	coarsePrecision = 100 * time.Millisecond
	coarseFrom      = int64(time.Second) // the shortest part for which a coarse clock is used
)

// nanoseconds returns t in nanoseconds since 1970, limited to the range from -farthest to farthest.
func nanoseconds(t time.Time) int64 {
	switch s := t.Unix(); {
	case s <= -farthest/int64(time.Second):
		return -farthest
	case s >= farthest/int64(time.Second):
		return farthest
	}
	return t.UnixNano()
}

func (r *ring) now() int64 {
	now := r.reading.Load()
	if now != stale {
		return now
	}
	now = r.read()
	if r.wake != nil && r.reading.CompareAndSwap(stale, now) {
		r.setTimer(now)
	}
	return now
}

func (r *ring) read() int64 { return r.timeAt(r.source()) }

// timeAt returns the ring's time when the clock shows t.
func (r *ring) timeAt(t time.Time) int64 {
	if t.IsZero() {
		return max(r.stamped.Load(), -farthest)
	}
	now, lag := nanoseconds(t), r.lag.Load()
	if now > farthest-lag {
		return farthest
	}
	return now + lag
}

// exact reads the time even if a coarse clock has a reading. The caller must hold the lock.
func (r *ring) exact() int64 {
	t := r.source()
	r.notice(t)
	now := r.timeAt(t)
	if r.wake != nil {
		r.endLate(r.reading.Swap(now), now)
		r.setTimer(now)
	}
	return now
}

// notice adjusts the ring to t, which the clock shows. The caller must hold the lock.
//
// It may raise the stamps of the live planes in three cases: t is the first time since the planes
// were decoded, t is the first time after keys were added without a time, or the clock was far
// behind and has now been set.
//
// A clock that was far behind counts as set when it is nearer to r.stamped than the ring's time is,
// and the ring's time is more than a life after r.stamped. If the clock was not set, but ran
// evenly for that long, all planes are due to die anyway.
func (r *ring) notice(t time.Time) {
	clock, live := nanoseconds(t), r.planes()
	if t.IsZero() || clock <= -farthest || live.len() == 0 {
		return
	}
	last, lag := r.stamped.Load(), r.lag.Load()
	timeless := last <= -farthest // the planes began without a time
	wasSet := lag > 0 && clock > last-min(lag-r.life, lag/2)
	switch {
	case r.fresh && !timeless && clock < last-r.life:
		r.fresh = false
		last = max(last, r.newestKey(live.newest()))
		r.lag.Store(last - clock)
		r.raise(live.oldest(), live, last)
	case r.fresh || timeless || wasSet:
		r.fresh = false
		r.lag.Store(0)
		if r.undated == 0 && clock < r.stampOf(live.newest()).Load() {
			// A plane that has ended stays closed. Otherwise calls without a time would write to
			// it.
			live = r.reopened(live)
			r.live.Store(uint64(live))
		}
		first := live.newest() + 1 // raise no stamps, unless a case below applies
		switch {
		case timeless:
			first = live.oldest()
		case r.undated != 0:
			first = max(r.undated, live.oldest())
		}
		r.undated = 0
		r.raise(first, live, clock)
	}
}

// raise raises the stamps of the live planes from first on, so that their keys are found for a Span
// from now. It raises r.stamped as well, so that calls with an earlier reading read the time again.
// The caller must hold the lock.
func (r *ring) raise(first uint64, live run, now int64) {
	for plane := first; plane <= live.newest(); plane++ {
		r.stampOf(plane).Store(max(r.stampOf(plane).Load(), r.latest(plane, live, now)))
	}
	r.stamped.Store(max(r.stamped.Load(), now))
}

// setTimer sets the timer of a coarse clock, unless it is already set. now is the clock's reading.
func (r *ring) setTimer(now int64) {
	if !r.timing.CompareAndSwap(false, true) {
		return
	}
	after := coarsePrecision
	if live := r.planes(); r.accepts(live, now) {
		after = min(after, time.Duration(r.stampOf(live.newest()).Load()-now))
	}
	r.wake(after, r.tick)
}

// tick makes the next call read the time.
func (r *ring) tick() {
	r.timing.Store(false)
	r.Lock()
	defer r.Unlock()
	used := r.reading.Swap(stale) // before t is read, so adds with this reading began before t
	t := r.source()
	r.notice(t)
	r.endLate(used, r.timeAt(t))
}

// endLate moves the end of the newest plane to now if the plane ended by time between the readings
// used and now, because calls with the earlier reading may have written to it since its end. No
// call writes to the plane after that, even if the clock advances in steps and shows the same time
// again. The caller must hold the lock.
func (r *ring) endLate(used, now int64) {
	live := r.planes()
	newest := live.newest()
	end := r.stampOf(newest).Load()
	endsByTime := live.len() > 0 && r.full&columns(newest, 1) == 0
	if endsByTime && used != stale && used < end && now >= end {
		r.stamp(newest, now, now)
	}
}
