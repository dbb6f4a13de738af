package window

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// ring has the live planes, and the times at which they end and die. See window.go for the words.
//
// Planes are numbered in the order in which they begin. Plane i is bit i mod 64 of the lanes. New
// keys are written into the newest plane. A plane begins with its first key. It ends by count when
// it holds its share, or by time when a part has passed since it began. It dies a Span after its
// end, and with Renew a part later. The live planes have consecutive numbers, up to that of the
// newest plane. The method renews tells when a repeat is written again.
//
// The time of a plane's end is its stamp. Stamps are nanoseconds since 1970, as the clock reads
// them. They never decrease from a plane to the next. No stamp of a plane that has ended is later
// than now.
//
// Look-ups load fields without the lock. The holder of the lock stores live after the other fields
// that a look-up needs. Only expires is stored after live, and may be too early for a moment.
type ring struct {
	clock
	span   int64  // Config.Span, in nanoseconds
	part   int64  // Span/Generations, rounded up
	life   int64  // how long a plane lives after its end: a Span, or with Renew a Span and a part
	counts        // numbers of planes
	share  uint64 // the largest number of keys in a plane

	live    atomic.Uint64 // the live planes, as a run
	from    atomic.Int64  // the time at which a stamp was last set
	until   atomic.Int64  // when the newest plane will end by time, or the constant ended
	expires atomic.Int64  // when the oldest plane dies, or earlier
	count   atomic.Uint64 // the number of counted keys of the newest plane

	sync.Mutex
	ends [planes]atomic.Int64 // the stamps; renews loads them without the lock
	full uint64               // the columns of the full planes
	// lost is about keys that were given up before their Span was over. It is the latest time at
	// which such a key may have been added, or never.
	lost      int64
	prolonged bool // the newest plane lasts for a second part; see prolong
}

const (
	ended = math.MinInt64 // the value of until after the newest plane has ended by count
	never = math.MinInt64 // the value of lost while no key was given up
)

// run is a run of planes with consecutive numbers. The low lenBits bits hold the number of planes
// in the run, which is at most 64. The other bits hold the number of the newest plane.
type run uint64

const lenBits = 7

func newRun(newest, n uint64) run { return run(newest<<lenBits | n) }

func (r run) newest() uint64 { return uint64(r) >> lenBits }
func (r run) len() uint64    { return uint64(r) & (1<<lenBits - 1) }
func (r run) oldest() uint64 { return r.newest() + 1 - r.len() }

// withoutOldest returns r without its oldest plane.
func (r run) withoutOldest() run { return newRun(r.newest(), r.len()-1) }

// withNext returns r with one more plane, which is the newest.
func (r run) withNext() run { return newRun(r.newest()+1, r.len()+1) }

// columns returns the bits of n planes in a lane. The oldest of them has the number first. n is at
// most 64.
func columns(first, n uint64) uint64 {
	return bits.RotateLeft64(1<<n-1, int(first%planes))
}

// columns returns the bits of r's planes in a lane.
func (r run) columns() uint64 { return columns(r.oldest(), r.len()) }

// upTo returns the columns of r's planes whose numbers are at most last.
func (r run) upTo(last uint64) uint64 {
	if last >= r.newest() {
		return r.columns()
	}
	return columns(r.oldest(), max(last+1, r.oldest())-r.oldest())
}

// planes returns the live planes.
func (r *ring) planes() run { return run(r.live.Load()) }

// end returns the variable with the stamp of a plane.
func (r *ring) end(plane uint64) *atomic.Int64 { return &r.ends[plane%planes] }

// start begins a ring that reads the time with now. The caller has set the stamps of the live
// planes. from is the time at which the last stamp was set.
func (r *ring) start(now func() time.Time, live run, from int64) {
	r.source = now
	if now == nil {
		r.source = time.Now
		if r.part >= coarseFrom {
			r.wake = func(after time.Duration, call func()) { time.AfterFunc(after, call) }
		}
	}
	if r.span > 0 { // otherwise the time is always 0
		r.reading.Store(stale)
	}
	r.from.Store(max(from, stale+1))
	r.prolonged = true // the newest plane of a file may have been prolonged
	r.until.Store(ended)
	if newest := live.newest(); live.len() > 0 && r.full&columns(newest, 1) == 0 {
		r.until.Store(r.end(newest).Load())
	}
	r.publish(live)
}

// publish sets the live planes. The lock is held.
func (r *ring) publish(live run) {
	expires := int64(math.MaxInt64)
	if live.len() == 0 {
		r.until.Store(ended)
	} else if r.span > 0 {
		expires = r.death(live.oldest())
	}
	r.live.Store(uint64(live))
	r.expires.Store(expires)
}

// death returns when a plane dies.
func (r *ring) death(plane uint64) int64 { return r.end(plane).Load() + r.life }

// current reports whether no plane is due to die and the clock has not stepped back.
func (r *ring) current(now int64) bool { return now >= r.from.Load() && now < r.expires.Load() }

// age lets the planes die that are due. The lock is held.
//
// If the clock has stepped back, or was ahead when the filter was saved, age lowers the stamps
// that are later than now. Otherwise their planes would not die until the clock catches up.
// Earlier stamps do not change. So the age of older keys is right after a clock has leapt ahead and
// come back.
func (r *ring) age(now int64) {
	live := r.planes()
	if now < r.from.Load() {
		for plane := live.oldest(); plane != live.newest()+1; plane++ {
			latest := now + 1
			if plane == live.newest() && r.until.Load() != ended {
				latest = now + r.part
				r.until.Store(min(r.until.Load(), latest))
			}
			r.end(plane).Store(min(r.end(plane).Load(), latest))
		}
		r.lost = min(r.lost, now)
		r.prolonged = false
		r.from.Store(now)
	}
	for r.span > 0 && live.len() > 0 && now >= r.death(live.oldest()) {
		live = live.withoutOldest()
	}
	r.publish(live)
}

// begin begins a plane for a key that comes now, unless the newest plane has not ended or is
// prolonged.
func (r *ring) begin() {
	r.Lock()
	defer r.Unlock()
	now := r.read()
	r.age(now)
	if now < r.until.Load() || r.prolong(now) {
		return
	}
	live := r.planes()
	if live.len() == planes {
		live = r.giveUp(live, now)
	}
	live = live.withNext()
	r.full &^= columns(live.newest(), 1)
	r.count.Store(0)
	r.prolonged = false
	r.stamp(live.newest(), now, now+r.part)
	r.publish(live)
}

// prolong decides whether the newest plane continues, although it should have ended by time. If so,
// prolong sets a new end and returns true. The lock is held.
//
// The ends of partial planes are at least a part apart. So while the clock runs evenly, at most
// spare partial planes live. After a step back there are more: planes that ended before the step
// live for up to a Span after it, and new planes begin. Each partial plane takes the place of a
// plane that could hold a share of N. So if more than spare partial planes live, the newest one
// lasts for two parts. If more than most live, it lasts as long as necessary. Otherwise a clock
// that steps to and fro would fill the ring with planes of one key.
func (r *ring) prolong(now int64) bool {
	until := r.until.Load()
	if until == ended {
		return false
	}
	live := r.planes()
	partial := bits.OnesCount64(live.columns() &^ r.full)
	if partial <= r.spare {
		return false
	}
	if twice := until + r.part; !r.prolonged && now < twice {
		r.prolonged = true
		r.stamp(live.newest(), now, twice)
		return true
	}
	if partial <= r.most {
		return false
	}
	r.stamp(live.newest(), now, min(now+r.part, r.death(live.oldest())))
	return true
}

// giveUp returns live without its oldest plane. It also drops the next planes if the newest N keys
// do not need them, so that a page clears them together. The lock is held.
func (r *ring) giveUp(live run, now int64) run {
	for {
		until := r.end(live.oldest()).Load()
		if r.lean > 0 {
			until = min(until+r.part, r.end(live.oldest()+r.lean).Load())
		}
		r.lost = max(r.lost, min(until-1, now))
		live = live.withoutOldest()
		if bits.OnesCount64(live.withoutOldest().columns()&r.full) < r.fulls {
			return live
		}
	}
}

// stamp sets the stamp of the newest plane at the time now. The plane ends by time at end. The lock
// is held.
func (r *ring) stamp(newest uint64, now, end int64) {
	r.from.Store(now)
	r.end(newest).Store(end)
	r.until.Store(end)
}

// add counts n more keys of the newest plane. It ends the plane if that holds its share.
func (r *ring) add(n uint64) {
	if r.count.Add(n) < r.share || r.until.Load() == ended {
		return
	}
	r.Lock()
	defer r.Unlock()
	now := r.read()
	r.age(now)
	if until := r.until.Load(); until != ended && r.count.Load() >= r.share {
		live := r.planes()
		r.full |= columns(live.newest(), 1)
		r.stamp(live.newest(), now, min(until, now+1))
		r.until.Store(ended)
		r.publish(live)
	}
}

// renews reports whether a repeat is written again, so that its key stays for a Span. seen has the
// columns of the planes that have the key.
//
// A key is not written again if the newest of these planes has not ended. It is also not written
// again if that plane ended less than a part ago, and at most lean planes follow it. A plane that
// the next write begins counts as one of these. The plane lives for a Span and a part after its
// end, so at least a Span is left. It is given up only when fulls full planes follow it. Before
// that, N more keys have come.
func (r *ring) renews(seen uint64, live run, now int64) bool {
	newest := live.newest()
	// The bit of the newest plane becomes the highest.
	inOrder := bits.RotateLeft64(seen, int(planes-1-newest%planes))
	plane := newest - uint64(bits.LeadingZeros64(inOrder))
	end := r.end(plane).Load()
	if now >= end && r.wake != nil {
		now = r.read() // a coarse clock's now may be a tenth of a second old
	}
	age := r.planes().newest() - plane
	if now >= r.until.Load() {
		age++
	}
	return age > r.lean || now-r.part >= end
}

// reach is Filter.Reach.
func (r *ring) reach() time.Duration {
	r.Lock()
	defer r.Unlock()
	now := r.read()
	r.age(now)
	if r.lost == never {
		return time.Duration(r.span)
	}
	return time.Duration(min(max(0, now-r.lost), r.span))
}

// reset gives up all planes. The next plane has the same column as the very first one, so that the
// same keys make the same bytes again.
func (r *ring) reset() {
	r.Lock()
	defer r.Unlock()
	r.full, r.lost = 0, never
	r.count.Store(0)
	r.publish(newRun((r.planes().newest()+planes-1)/planes*planes, 0))
}

// clock reads the time, as nanoseconds since 1970. Time further than 146 years from 1970 does not
// advance.
//
// A coarse clock does not read the time at each call, because that takes longer than a look-up. It
// uses its last reading until a timer goes off. If the timer is late, keys may have been written
// into a plane after its end. Then tick moves the plane's end, so that no key is forgotten early.
type clock struct {
	source  func() time.Time
	wake    func(time.Duration, func()) // nil unless the clock is coarse
	reading atomic.Int64                // the last reading of a coarse clock, or stale
	timing  atomic.Bool                 // true while a timer is set
}

const (
	stale           = math.MinInt64 // the value of reading when the time must be read
	farthest        = 1 << 62       // nanoseconds from 1970; time does not advance beyond this
	coarsePrecision = 100 * time.Millisecond
	coarseFrom      = int64(time.Second) // the shortest part of a Span that a coarse clock serves
)

// nanoseconds returns t in nanoseconds since 1970. Beyond farthest nanoseconds from 1970, it
// returns farthest or -farthest.
func nanoseconds(t time.Time) int64 {
	switch s := t.Unix(); {
	case s <= -farthest/int64(time.Second):
		return -farthest
	case s >= farthest/int64(time.Second):
		return farthest
	}
	return t.UnixNano()
}

// read reads the time. A coarse clock keeps it for later calls, and sets a timer.
func (r *ring) read() int64 {
	if r.span == 0 {
		return 0
	}
	t := nanoseconds(r.source())
	if r.wake != nil {
		r.reading.Store(t)
		if r.timing.CompareAndSwap(false, true) {
			after := coarsePrecision
			if left := r.until.Load() - t; left > 0 {
				after = min(after, time.Duration(left))
			}
			r.wake(after, r.tick)
		}
	}
	return t
}

// tick makes the next call read the time. If the timer was late, it moves the newest plane's end.
func (r *ring) tick() {
	r.timing.Store(false)
	trusted := r.reading.Swap(stale)
	r.Lock()
	defer r.Unlock()
	now := nanoseconds(r.source())
	until := r.until.Load()
	endsByTime := until != ended
	trustedBefore := trusted != stale && trusted < until
	if endsByTime && trustedBefore && now >= until {
		r.stamp(r.planes().newest(), now, now+1)
	}
}
