package window

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestEnds finds to the nanosecond how long keys are found: a key from a plane's beginning, a key
// from its end, a key of a plane that ended by count, and keys that are renewed.
func TestEnds(t *testing.T) {
	const span, part = 10*time.Second + 3, (10*time.Second + 3 + 6) / 7
	for _, test := range []struct{ first, key, lives time.Duration }{
		{0, 0, span + part - 1}, {0, part - 1, span}, {5, 5 + part/2, span + part - part/2 - 1},
		{0, part, span + part - 1},
	} {
		var hand filtertest.Clock
		f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: span, Now: hand.Now}))
		hand.Advance(test.first)
		f.AddString("first")
		hand.Advance(test.key - hand.Elapsed())
		f.AddString("key")
		hand.Advance(test.lives)
		require.True(t, f.ContainsString("key"), "%v", test)
		hand.Advance(1)
		require.False(t, f.ContainsString("key"), "%v", test)
	}
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 56, P: 1e-9, Span: span, Now: hand.Now})) // each plane holds one key
	f.AddString("key")
	hand.Advance(span)
	require.True(t, f.ContainsString("key"))
	hand.Advance(1)
	require.False(t, f.ContainsString("key"))

	// A repeat relies on a plane until a part after the plane's end. Later, the repeat is written.
	for after, lives := range map[time.Duration]time.Duration{
		part - 1: span, part: span + 2*part - 1,
	} {
		hand = filtertest.Clock{}
		f = bloom.Must(New(Config{N: 1000, P: 1e-9, Span: span, Renew: true, Now: hand.Now}))
		f.AddString("key")
		hand.Advance(part + after)
		f.AddString("key")
		hand.Advance(lives)
		require.True(t, f.ContainsString("key"))
		hand.Advance(1)
		require.False(t, f.ContainsString("key"))
	}
}

// TestClock: the window does what Config promises if Now steps back, leaps ahead, goes too far, or
// is the zero Time.
func TestClock(t *testing.T) {
	config := Config{N: 1000, P: 1e-9, Span: time.Hour}
	start := func() (*Filter, *filtertest.Clock) {
		hand := new(filtertest.Clock)
		config.Now = hand.Now
		return bloom.Must(New(config)), hand
	}
	// lives adds a key, and requires that it is found for a Span and forgotten in time.
	lives := func(f *Filter, hand *filtertest.Clock, key string) {
		t.Helper()
		require.True(t, f.AddString(key))
		for eighths := range 8 {
			require.True(t, f.ContainsString(key), "%s is forgotten after %d/8 of a Span", key, eighths)
			hand.Advance(config.Span / 8)
		}
		require.True(t, f.ContainsString(key), "%s is forgotten after a Span", key)
		hand.Advance(config.Span/7 + 1)
		require.False(t, f.ContainsString(key),
			"%s is found after more than Span + Span/Generations", key)
	}
	t.Run("back", func(t *testing.T) {
		for _, back := range []time.Duration{1, time.Minute, time.Hour, 240 * time.Hour} {
			f, hand := start()
			f.AddString("a")
			hand.Advance(-back)
			require.True(t, f.ContainsString("a"), "back by %v: a was added before the step", back)
			lives(f, hand, "b")
			require.False(t, f.ContainsString("a"),
				"back by %v: a lives for a Span from the step at most", back)
			for i := range uint64(3000) {
				f.AddHash(bloom.SumUint64(i))
			}
			hand.Advance(-back)
			require.Zero(t, f.Reach(), "back by %v: keys were given up just now", back)
			hand.Advance(time.Minute)
			require.Equal(t, time.Minute, f.Reach(), "back by %v", back)
		}
	})
	t.Run("saved by a clock ahead", func(t *testing.T) {
		f, hand := start()
		f.AddString("a")
		hand.Advance(240 * time.Hour)
		f.AddString("b")
		data := bloom.Must(f.MarshalBinary())
		hand.Advance(-240 * time.Hour)
		require.NoError(t, f.UnmarshalBinary(data))
		require.True(t, f.ContainsString("b"))
		lives(f, hand, "c")
		require.False(t, f.ContainsString("b"))
	})
	t.Run("back after a loss", func(t *testing.T) {
		// Keys were given up before the step. No key that comes after the step is given up.
		f, hand := start()
		for i := range uint64(5000) {
			hand.Advance(time.Millisecond)
			f.AddHash(bloom.SumUint64(i))
		}
		require.Less(t, f.Reach(), 5*time.Second)
		hand.Advance(-240 * time.Hour)
		f.AddString("a")
		require.NoError(t, f.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
		hand.Advance(time.Minute)
		require.Equal(t, time.Minute, f.Reach())
		require.True(t, f.ContainsString("a"))
		f.Reset()
		require.Equal(t, f.Config().Span, f.Reach())
	})
	t.Run("ahead", func(t *testing.T) {
		f, hand := start()
		f.AddString("a")
		hand.Advance(50 * time.Minute)
		f.AddString("b")
		hand.Advance(40 * time.Minute) // the clock leaps
		require.False(t, f.ContainsString("a"))
		require.True(t, f.ContainsString("b"))
		hand.Advance(1e5 * time.Hour)
		lives(f, hand, "a")
	})
	t.Run("jumping", func(t *testing.T) {
		// Each jump ends a plane of one key. The newest N keys stay.
		f, hand := start()
		for i := range uint64(3000) {
			step := 10 * time.Minute
			hand.Advance(step - time.Duration(i%2)*2*step)
			require.True(t, f.AddHash(bloom.SumUint64(i)))
			if i > 1000 {
				require.True(t, f.ContainsHash(bloom.SumUint64(i-rand.Uint64N(1000))))
			}
		}
	})
	t.Run("beyond", func(t *testing.T) {
		now := time.Time{}
		config.Now = func() time.Time { return now }
		f := bloom.Must(New(config))
		for _, year := range []int{1, 1000, 1e6, 1e9, -1e9, 2024} {
			now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			f.AddString("key")
			require.True(t, f.ContainsString("key"))
			require.NoError(t, f.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			require.True(t, f.ContainsString("key"))
		}
		now = now.Add(2 * time.Hour)
		require.False(t, f.ContainsString("key"))

		// Beyond 146 years from 1970 time stands still: all keys of earlier times are forgotten, and
		// those that come then are found whatever year the clock shows.
		for _, year := range []int{2117, 2262, 2263, 2500, 2600, 9999, 1e6, 1e9} {
			f.AddString("earlier")
			now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			require.False(t, f.ContainsString("earlier"), year)
			require.True(t, f.AddString("late"), year)
			for _, other := range []int{2117, 2263, 2500, 2600, 1e6, 1e9} {
				now = time.Date(other, 1, 1, 0, 0, 0, 0, time.UTC)
				require.True(t, f.ContainsString("late"), "from %d to %d", year, other)
			}
			now = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
			f.Reset()
		}
	})
}

// TestEmptyKey: the empty key, whose digest is all zeros, is like other keys. Windows that do not
// hold it report it at their rate. Windows that hold it find it.
func TestEmptyKey(t *testing.T) {
	const filters = 400
	for _, p := range []float64{1e-2, 1e-3, 1e-6, 1e-9} {
		for _, percent := range []int{1, 5, 20, 50, 100} {
			reported := 0
			for seed := range uint64(filters) {
				f := bloom.Must(New(Config{N: 1000, P: p}))
				keys := int(f.ring.share) * planes * percent / 100
				f.AddBatch(nil, filtertest.Digests(seed, keys))
				if f.ContainsString("") {
					reported++
				}
				f.AddString("")
				require.True(t, f.ContainsString(""), "P = %v: the empty key was added", p)
			}
			most := filtertest.RateBound(filters, p)
			assert.LessOrEqual(t, float64(reported), most,
				"P = %v, %d %% full: filters that report an empty key which they do not hold", p, percent)
		}
	}
	f := bloom.Must(New(Config{N: 200_000, P: 0.01})) // has several pages
	f.AddBatch(nil, filtertest.Digests(1, 250_000))
	require.False(t, f.ContainsString(""), "the empty key was not added")
	handled, err := f.Do(filtertest.Minute(t), bloom.SumString(""), func(context.Context) error {
		return nil
	})
	require.NoError(t, err)
	require.True(t, handled, "an event with an empty id is handled")
}

// TestByCount: without a Span, the newest N keys are found, and older keys are soon forgotten.
func TestByCount(t *testing.T) {
	for _, renew := range []bool{false, true} {
		f := bloom.Must(New(Config{N: 1000, P: 1e-9, Renew: renew, Now: func() time.Time {
			panic("asked for the time")
		}}))
		for i := range uint64(20_000) {
			require.True(t, f.AddHash(bloom.SumUint64(i)), "Renew %v: key %d is new", renew, i)
			if i >= 1000 {
				require.True(t, f.ContainsHash(bloom.SumUint64(i-990)),
					"Renew %v: the key 990 before key %d is among the newest N", renew, i)
			}
			if i >= 1350 {
				require.False(t, f.ContainsHash(bloom.SumUint64(i-1350)),
					"Renew %v: the key 1350 before key %d is found: planes hold more than their share", renew, i)
			}
			fresh := f.AddString("always")
			if renew || i < 900 {
				require.Equal(t, i == 0, fresh, "Renew %v: the repeat after key %d is new", renew, i)
			}
			if i%3000 == 0 {
				require.NoError(t, f.UnmarshalBinary(bloom.Must(f.MarshalBinary())))
			}
		}
		require.Zero(t, f.Reach())
	}
}

// TestTogether: eight goroutines add the same keys and keys of their own, while time passes and a
// ninth goroutine saves. For each key, one Add returns true. All keys are found.
func TestTogether(t *testing.T) {
	// one or several pages
	for _, c := range []Config{{N: 2000}, {N: 60_000}, {N: 60_000, Renew: true}} {
		var hand filtertest.Clock
		n := c.N
		if c.Renew {
			n /= 5 // a shared key can count for each goroutine that adds it
		}
		// The order of the keys differs from run to run, and no order may have a false positive.
		c.P, c.Span, c.Now = 1e-15, time.Hour, hand.Now
		f := bloom.Must(New(c))
		var fresh, left atomic.Int64
		shared := filtertest.Digests(1, int(n/2))
		left.Store(8)
		filtertest.AtOnce(9, func(worker int) {
			if worker == 8 {
				for left.Load() > 0 {
					f.Stats()
					assert.NoError(t, new(Filter).UnmarshalBinary(bloom.Must(f.MarshalBinary())))
					runtime.Gosched() // lets the others run if there is one thread
				}
				return
			}
			defer left.Add(-1)
			own := filtertest.Digests(uint64(worker+2), int(n/16))
			for i, h := range shared {
				if f.AddHash(h) {
					fresh.Add(1)
				}
				if i%8 == 0 {
					assert.True(t, f.AddHash(own[i/8]))
					assert.True(t, f.ContainsHash(own[i/8]))
					assert.True(t, f.ContainsHash(own[i/16]))
				}
				if i%100 == 0 {
					hand.Advance(time.Hour / time.Duration(n))
				}
			}
		})
		require.EqualValues(t, len(shared), fresh.Load())
		require.NotContains(t, filtertest.Found(f, shared), false)
		require.Equal(t, time.Hour, f.Reach())
	}
}

// TestSavedWhileAdding: a loaded filter keeps its rate, although planes became full while they were
// written.
func TestSavedWhileAdding(t *testing.T) {
	const n, p = 100_000, 0.01
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: n, P: p, Now: hand.Now}))
	key := uint64(0)
	add := func(f *Filter, keys int) (refused int) {
		for range keys {
			if !f.AddHash(bloom.SumUint64(key)) {
				refused++
			}
			key++
		}
		return refused
	}
	for range 60 {
		add(f, 2000)
		g := new(Filter)
		_, err := g.ReadFrom((&slowly{f, func() { add(f, 150) }}).of(t))
		require.NoError(t, err)
		f = g
	}
	require.LessOrEqual(t, float64(add(f, n)), filtertest.RateBound(n, p))
}

// TestLookUpsDoNotWait: a look-up waits neither for the lock of its page nor for that of the ring,
// even if planes are due to die.
func TestLookUpsDoNotWait(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Now: hand.Now}))
	f.AddString("key")
	lookUp := func() {
		f.ContainsString("key")
		f.ContainsBatch(make([]bool, 1), []bloom.Hash{{}})
	}
	for _, due := range []bool{false, true} {
		if due {
			hand.Advance(3 * time.Hour)
		}
		require.False(t, filtertest.Waits(&f.table[0], false, lookUp),
			"a page is locked, planes are due: %v", due)
		f.AddString("key") // now no plane is due to die
		if due {
			hand.Advance(3 * time.Hour)
		}
		require.False(t, filtertest.Waits(&f.ring, false, lookUp),
			"the ring is locked, planes are due: %v", due)
	}
	require.False(t, f.ContainsString("key"), "the plane died when the lock was free")
	require.True(t, f.AddString("key"), "a key that was forgotten is new")
}

// TestDo: several goroutines handle one key concurrently. The first few handlers fail, the next one
// succeeds, and no other is called.
func TestDo(t *testing.T) {
	ctx := filtertest.Minute(t)
	config := Config{N: 100, P: 1e-9, Span: time.Hour}
	for _, fails := range []int64{0, 1, 3} {
		f := bloom.Must(New(config))
		var calls, errs, done atomic.Int64
		var inside atomic.Bool
		do := func() {
			handled, err := f.Do(ctx, bloom.SumString("id"), func(context.Context) error {
				assert.False(t, inside.Swap(true), "two handlers at once")
				runtime.Gosched()
				defer inside.Store(false)
				if calls.Add(1) <= fails {
					return errors.New("failed")
				}
				return nil
			})
			if handled {
				done.Add(1)
			}
			if err != nil {
				errs.Add(1)
				assert.False(t, handled)
			}
		}
		filtertest.Together(slices.Repeat([]func(){do}, 10)...)
		require.Equal(t, [3]int64{fails + 1, fails, 1}, [3]int64{calls.Load(), errs.Load(), done.Load()})
		require.True(t, f.ContainsString("id"))
		require.Empty(t, f.underWay)
	}

	// If a handler panics, the next call handles the key. Calls with other keys do not wait. A call
	// that waits returns when its context ends.
	f := bloom.Must(New(config))
	h := bloom.SumString("id")
	require.Panics(t, func() { f.Do(ctx, h, func(context.Context) error { panic("in the handler") }) })
	require.Empty(t, f.underWay, "the next one would wait forever")
	require.False(t, f.ContainsHash(h))
	handled, err := f.Do(ctx, h, func(got context.Context) error {
		require.Equal(t, ctx, got)
		_, err := f.Do(ctx, bloom.SumString("another"), func(context.Context) error { return nil })
		require.NoError(t, err)
		ended, cancel := context.WithCancel(ctx)
		cancel()
		handled, err := f.Do(ended, h, func(context.Context) error { panic("called") })
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, handled)
		return nil
	})
	require.True(t, handled)
	require.NoError(t, err)
	require.True(t, f.ContainsHash(h))
	handled, err = f.Do(ctx, h, func(context.Context) error { panic("called") })
	require.False(t, handled)
	require.NoError(t, err)

	var zero Filter
	require.PanicsWithValue(t, errZero, func() {
		zero.Do(ctx, h, func(context.Context) error { return nil })
	})
	require.Zero(t, zero.Config())
	require.Zero(t, zero.Reach())
}

// TestCoarse: a reading of the system's time is used until a timer goes off, a tenth of a second
// later or when a plane ends. If the timer is late, the plane ends later by the same time.
func TestCoarse(t *testing.T) {
	var hand filtertest.Clock
	reads, timers := 0, []time.Duration(nil)
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: 7 * time.Second}))
	require.NotNil(t, f.ring.wake)
	f.ring.source = func() time.Time { reads++; return hand.Now() }
	f.ring.wake = func(after time.Duration, _ func()) { timers = append(timers, after) }
	f.AddString("key")
	reads = 0
	for range 100 {
		f.ContainsString("key")
		f.AddString("key")
	}
	require.Zero(t, reads)
	require.Equal(t, []time.Duration{coarsePrecision}, timers)
	hand.Advance(950 * time.Millisecond)
	f.ring.tick()
	f.AddString("key")
	require.Equal(t, 50*time.Millisecond, timers[1])
	hand.Advance(10 * time.Minute)
	require.True(t, f.AddString("late"), "in the old plane")
	f.ring.tick()
	hand.Advance(7*time.Second - 1)
	require.True(t, f.ContainsString("late"))
	f.ring.tick()
	hand.Advance(1)
	require.False(t, f.ContainsString("late"))
	f.AddString("next")
	f.ring.tick()
	hand.Advance(time.Minute) // no call comes
	require.False(t, f.ContainsString("next"))

	exact := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: 7*time.Second - 7}))
	require.Nil(t, exact.ring.wake, "a plane lasts for less than a second")
	exact = bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Now: hand.Now}))
	require.Nil(t, exact.ring.wake, "another's time is read at each call")
}

// TestRepeatBetweenReadings: with Renew, a repeat is written again if its key's plane lives for
// less than a Span, even if the last reading of a coarse clock says that the plane lives long
// enough.
func TestRepeatBetweenReadings(t *testing.T) {
	var hand filtertest.Clock
	f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: 7 * time.Second, Renew: true}))
	require.NotNil(t, f.ring.wake, "the clock is coarse")
	f.ring.source = hand.Now
	f.ring.wake = func(time.Duration, func()) {}
	f.AddString("key") // its plane ends after a second, and lives for eight seconds more
	hand.Advance(999 * time.Millisecond)
	f.ring.tick()
	hand.Advance(961 * time.Millisecond)
	f.ContainsString("key") // reads the time
	hand.Advance(90 * time.Millisecond)
	require.False(t, f.AddString("key"))
	hand.Advance(7*time.Second - 1)
	f.ring.tick()
	require.True(t, f.ContainsString("key"), "less than a Span after the repeat")
}

// TestLateReading: a goroutine reads the time, and uses it only after another goroutine has read a
// later time. This is not mistaken for a step back of the clock.
func TestLateReading(t *testing.T) {
	var hand filtertest.Clock
	var f *Filter
	between := func() {}
	f = bloom.Must(New(Config{N: 1000, P: 1e-9, Span: time.Hour, Now: func() time.Time {
		now := hand.Now()
		other := between
		between = func() {}
		other()
		return now
	}}))
	f.AddString("first")
	between = func() { // the look-up's goroutine has read the time, and waits
		hand.Advance(30 * time.Minute)
		f.AddString("key")
	}
	f.ContainsString("first")
	hand.Advance(time.Hour)
	require.True(t, f.ContainsString("key"), "it came a Span ago")
}

// TestSystemTime runs on time.Now and its timers.
func TestSystemTime(t *testing.T) {
	t.Parallel() // it waits for two seconds
	for _, span := range []time.Duration{60 * time.Millisecond, time.Second} {
		f := bloom.Must(New(Config{N: 1000, P: 1e-9, Span: span, Generations: 1}))
		start := time.Now()
		require.True(t, f.AddString("key"))
		filtertest.Becomes(t, "the key is forgotten", func() bool { return !f.ContainsString("key") })
		require.GreaterOrEqual(t, time.Since(start), span)
	}
}
