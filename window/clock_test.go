package window

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// noTimes are what a clock shows whose owner does not know the time yet: no event has come, or the
// machine has no battery for its clock and has not asked another one.
var noTimes = map[string]time.Time{
	"zero Time": {},
	"1970":      time.Unix(20, 0),
}

// beforeTheTime are calls that may come before the clock has a time.
var beforeTheTime = map[string]func(*Filter){
	"nothing":  func(*Filter) {},
	"Contains": func(f *Filter) { f.ContainsString("x") },
	"ContainsBatch": func(f *Filter) {
		f.ContainsBatch(make([]bool, 1), []bloom.Hash{bloom.SumString("x")})
	},
	"Reach":   func(f *Filter) { f.Reach() },
	"Stats":   func(f *Filter) { f.Stats() },
	"Marshal": func(f *Filter) { bloom.Must(f.MarshalBinary()) },
	"Add":     func(f *Filter) { f.AddString("early") },
	"AddBatch": func(f *Filter) {
		f.AddBatch(nil, []bloom.Hash{bloom.SumString("early")})
	},
	"Do": func(f *Filter) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, _ = f.Do(ctx, bloom.SumString("early"), func(context.Context) error {
			return nil
		})
	},
	"Add of a plane's keys": func(f *Filter) {
		f.AddBatch(nil, filtertest.Digests(7, 3*int(f.ring.share)))
		f.AddString("early")
	},
	"Add, and a plane's keys": func(f *Filter) {
		f.AddString("early")
		f.AddBatch(nil, filtertest.Digests(7, 3*int(f.ring.share)))
	},
	"all": func(f *Filter) {
		for range 3 {
			f.Reach()
			f.AddString("early")
			f.ContainsString("early")
			f.Stats()
		}
	},
	"save and load": func(f *Filter) {
		f.AddString("early")
		if err := f.UnmarshalBinary(bloom.Must(f.MarshalBinary())); err != nil {
			panic(err)
		}
		f.AddString("early")
	},
}

// lost returns how many of hs f does not find.
func lost(f *Filter, hs []bloom.Hash) (n int) {
	for _, h := range hs {
		if !f.ContainsHash(h) {
			n++
		}
	}
	return n
}

// TestLoadedBeforeTheTime: a filter is loaded, and asked before its clock knows the time. Nothing
// is forgotten when the clock knows it, and what was added before is found for a Span from then.
func TestLoadedBeforeTheTime(t *testing.T) {
	saved := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for unknown, noTime := range noTimes {
		for name, call := range beforeTheTime {
			for _, away := range []time.Duration{0, 20 * time.Hour} {
				for _, ids := range []int{1000, 1793} { // with 1793 the newest plane is full
					now := saved
					c := Config{N: 100_000, P: 1e-9, Span: day, Now: func() time.Time { return now }}
					f := bloom.Must(New(c))
					hs := filtertest.Digests(1, ids)
					f.AddBatch(nil, hs)
					data := bloom.Must(f.MarshalBinary())

					now = noTime
					require.NoError(t, f.UnmarshalBinary(data))
					call(f)
					if unknown == "1970" {
						now = now.Add(5 * time.Second)
					}
					early := f.ContainsString("early")
					now = saved.Add(away)
					about := []any{"%s, %s, %d ids, after %v", unknown, name, ids, away}
					require.Zero(t, lost(f, hs), about...)
					require.Equal(t, early, f.ContainsString("early"), about...)
					require.Equal(t, day, f.Reach(), about...)
					now = saved.Add(day - 1)
					require.Zero(t, lost(f, hs), about...)
					if name != "save and load" { // a form has no planes without a time
						now = saved.Add(away + day - 1)
						require.Equal(t, early, f.ContainsString("early"), about...)
					}
					now = saved.Add(away + 3*day)
					require.Equal(t, len(hs), lost(f, hs), about...)
				}
			}
		}
	}
}

// TestEmptyBeforeTheTime: a decoded filter without keys has given up none, whatever its clock shows.
func TestEmptyBeforeTheTime(t *testing.T) {
	for unknown, noTime := range noTimes {
		now := noTime
		c := Config{N: 1000, P: 1e-9, Span: day, Now: func() time.Time { return now }}
		f := bloom.Must(New(c))
		require.NoError(t, f.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		require.Equal(t, day, f.Reach(), unknown)
		require.True(t, f.AddString("key"))
		require.Equal(t, day, f.Reach(), unknown)
	}
}

// TestNewBeforeTheTime: keys that are added before a new filter's clock knows the time are found
// for a Span from the first time.
func TestNewBeforeTheTime(t *testing.T) {
	for _, renew := range []bool{false, true} {
		var now time.Time
		f := bloom.Must(New(Config{
			N: 1000, P: 1e-9, Span: day, Renew: renew, Now: func() time.Time { return now },
		}))
		hs := filtertest.Digests(1, 100) // several planes
		for _, h := range hs {
			require.True(t, f.AddHash(h))
		}
		require.Equal(t, day, f.Reach())
		now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
		require.Zero(t, lost(f, hs))
		now = now.Add(day - 1)
		require.Zero(t, lost(f, hs))
		now = now.Add(day)
		require.Len(t, hs, lost(f, hs))
	}
}

// TestDecodersReadNoClock: whatever the form has, decoding does not ask for the time, and neither
// does encoding what was decoded.
func TestDecodersReadNoClock(t *testing.T) {
	for _, c := range []Config{
		{N: 100, Span: day}, {N: 100_000, Span: day}, {N: 100_000, Span: day, Renew: true}, {N: 100},
	} {
		var hand filtertest.Clock
		c.P, c.Now = 1e-9, hand.Now
		f := bloom.Must(New(c))
		share := int(f.ring.share)
		closed := 0
		for i := range share + 40 {
			f.AddHash(bloom.SumUint64(uint64(i)))
			if i < share-40 {
				continue
			}
			g := new(Filter)
			g.now = func() time.Time { panic("asked for the time") }
			require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			require.NoError(t, g.UnmarshalBinary(bloom.Must(g.MarshalBinary())))
			if g.ring.full != 0 && f.ring.full == 0 {
				closed++
			}
		}
		if f.pages > 1 {
			require.Positive(t, closed, "some forms have a full plane that was not closed")
		}
	}
}

// TestFullPlaneOfAForm: the newest plane of a form is full, and was not closed. Its keys are found
// for a Span from the last of them.
func TestFullPlaneOfAForm(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 100_000, P: 1e-9, Span: day, Now: hand.Now}))
	f.AddHash(bloom.SumUint64(0))
	hand.Advance(3 * time.Hour) // the plane ends 26 minutes later
	last := uint64(0)
	g := new(Filter)
	g.now = hand.Now
	for g.state == nil || g.ring.full == 0 {
		last++
		f.AddHash(bloom.SumUint64(last))
		require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
	}
	require.Zero(t, f.ring.full, "closed only by decoding")
	hand.Advance(day - 1)
	require.True(t, g.ContainsHash(bloom.SumUint64(last)), "less than a Span after Add")
	require.NoError(t, g.UnmarshalBinary(bloom.Must(g.MarshalBinary())))
	require.True(t, g.ContainsHash(bloom.SumUint64(last)), "saved once more")
	hand.Advance(time.Duration(f.ring.part))
	require.False(t, g.ContainsHash(bloom.SumUint64(last)))
}

// coarsely gives f a coarse clock that shows now. The timers wait until the result is called.
func coarsely(f *Filter, now func() time.Time) (fire func()) {
	var pending []func()
	f.ring.source = now
	f.ring.wake = func(_ time.Duration, call func()) { pending = append(pending, call) }
	return func() {
		calls := pending
		pending = nil
		for _, call := range calls {
			call()
		}
	}
}

// TestSavedBeforeTheTimer: a machine sleeps for hours. After it wakes, a key is added and the
// filter is saved before the timer of the coarse clock goes off. In the saved filter, too, the key
// is found for a Span.
func TestSavedBeforeTheTimer(t *testing.T) {
	for _, asleep := range []time.Duration{
		0, time.Hour, 4 * time.Hour, 20 * time.Hour, 100 * time.Hour,
	} {
		var hand filtertest.Clock
		f := bloom.Must(New(Config{N: 100_000, P: 1e-9, Span: day}))
		fire := coarsely(f, hand.Now)
		require.True(t, f.AddString("a"))
		hand.Advance(asleep)
		require.True(t, f.AddString("b"))
		g := new(Filter)
		g.now = hand.Now
		require.NoError(t, g.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		fire()
		for _, f := range []*Filter{f, g} {
			require.True(t, f.ContainsString("b"), "asleep for %v", asleep)
		}
		hand.Advance(day - 1)
		fire()
		for _, f := range []*Filter{f, g} {
			require.True(t, f.ContainsString("b"), "asleep for %v", asleep)
		}
		hand.Advance(day + time.Duration(f.ring.part))
		fire()
		require.False(t, f.ContainsString("b"), "asleep for %v", asleep)
	}
}

// TestClockInSteps: the machine's clock advances in steps. A plane whose timer is late ends later
// by one step, and not by one at each tick.
func TestClockInSteps(t *testing.T) {
	for _, step := range []time.Duration{time.Millisecond, 15 * time.Millisecond, 3 * time.Second} {
		var hand filtertest.Clock
		f := bloom.Must(New(Config{N: 100_000, P: 1e-9, Span: 7 * time.Second}))
		readings := 0
		fire := coarsely(f, func() time.Time {
			readings++
			return hand.Now().Truncate(step)
		})
		require.True(t, f.AddString("a"))
		found := time.Duration(0)
		for f.ContainsString("a") {
			hand.Advance(time.Millisecond)
			fire()
			found = hand.Elapsed()
			require.Less(t, found, 20*time.Second, "steps of %v", step)
		}
		require.GreaterOrEqual(t, found, 7*time.Second, "steps of %v", step)
		require.LessOrEqual(t, found, 8*time.Second+2*step, "steps of %v", step)
	}
}

// TestNoStormOfTimers: after a late timer, timers do not follow each other at once while the clock
// stands still.
func TestNoStormOfTimers(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 100_000, P: 1e-9, Span: 7 * time.Second}))
	fire := coarsely(f, hand.Now)
	f.AddString("a")
	hand.Advance(1500 * time.Millisecond)
	fire()
	var waits []time.Duration
	wake := f.ring.wake
	f.ring.wake = func(after time.Duration, call func()) {
		waits = append(waits, after)
		wake(after, call)
	}
	for range 100 {
		f.ContainsString("a")
		fire()
	}
	for _, wait := range waits {
		require.Equal(t, coarsePrecision, wait)
	}
}

// TestNoTimeBeforeAPlanesEnd: while the time is unknown nothing ages, although a plane has an end
// that is later than the saved time.
func TestNoTimeBeforeAPlanesEnd(t *testing.T) {
	for unknown, noTime := range noTimes {
		for _, generations := range []int{1, 2, 7} {
			at := time.Unix(1e9, 0)
			c := Config{N: 300, P: 1e-9, Span: time.Hour, Generations: generations}
			c.Now = func() time.Time { return at }
			share := int(bloom.Must(New(c)).ring.share)
			for _, n := range []int{0, 1, share - 2, share - 1, share, share + 1} {
				at = time.Unix(1e9, 0)
				f := bloom.Must(New(c))
				part := time.Duration(c.withDefaults().part())
				f.AddString("first")
				at = at.Add(part - 1)
				f.AddString("last")
				at = at.Add(c.Span - part/2)
				f.AddBatch(nil, filtertest.Digests(1, n))
				data := bloom.Must(f.MarshalBinary())
				for name, call := range beforeTheTime {
					if strings.Contains(name, "a plane's keys") || name == "save and load" {
						continue
					}
					shown := noTime
					loaded := c
					loaded.Now = func() time.Time { return shown }
					f := bloom.Must(New(loaded))
					require.NoError(t, f.UnmarshalBinary(data))
					call(f)
					call(f)
					require.True(t, f.ContainsString("last"), "%s, %s, %d keys", unknown, name, n)
					if unknown == "zero Time" {
						shown = at.Add(part/2 - 2)
						require.True(t, f.ContainsString("last"), "%s, then set", name)
						shown = shown.Add(part + 10)
						require.False(t, f.ContainsString("last"), "%s, too long", name)
					}
				}
			}
		}
	}
}
