package window

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestSpan walks at random. Every key lives for its least time and no longer than its longest.
func TestSpan(t *testing.T) {
	for _, generations := range []int{1, 2, 7, 8, 24, 31, 63} {
		t.Run(fmt.Sprintf("generations=%d", generations), func(t *testing.T) {
			const span = time.Hour
			longest := span + span/time.Duration(generations)
			var hand testkit.Clock
			f := bloom.Must(New(Config{
				Capacity: 2000, FPR: 1e-6, Span: span, Generations: generations, Now: hand.Now,
			}))
			rnd := rand.New(rand.NewPCG(1, uint64(generations)))
			added := map[uint64]time.Duration{} // when last
			early, late := false, false
			for now := time.Duration(0); now < 10*span; {
				key := rnd.Uint64N(2000)
				last, ok := added[key]
				age := now - last
				isLive, isGone := ok && age < span, !ok || age > longest
				early, late = early || ok && age > span && age < longest, late || ok && age > longest
				got := f.ContainsHash(bloom.SumUint64(key))
				if isLive {
					require.True(t, got, "key %d is forgotten after %v", key, age)
				}
				if isGone {
					require.False(t, got, "key %d is remembered after %v", key, age)
				}
				if rnd.IntN(2) == 0 {
					require.Equal(t, !got, f.AddHash(bloom.SumUint64(key)), "Add and Contains disagree")
					added[key] = now
				}
				step := time.Duration(rnd.ExpFloat64() * float64(span) / 1000)
				if rnd.IntN(3000) == 0 {
					step = time.Duration(rnd.Float64() * 1.2 * float64(span))
				}
				now += step
				hand.Advance(step)
			}
			require.True(t, early && late, "the walk met no key between the bounds, or none beyond")
		})
	}
}

// TestBounds finds a key's end to the nanosecond, where Span is not a multiple of
// Generations.
func TestBounds(t *testing.T) {
	const span, generations = 10*time.Millisecond + 3, 7
	for added := time.Duration(0); added < 3*span; added += span / 101 {
		for life := span; ; life++ {
			// The generation of added is gone once generations more have passed after it.
			if (added+life)*generations/span-added*generations/span <= generations {
				life = ((added*generations/span+generations+1)*span+generations-1)/generations - added - 1
				continue
			}
			require.LessOrEqual(t, life, span+span/generations+1) // +1: Span/Generations is a fraction
			for _, age := range []time.Duration{span, life - 1, life} {
				var hand testkit.Clock
				f := bloom.Must(New(Config{Capacity: 100, FPR: 1e-9, Span: span, Generations: generations, Now: hand.Now}))
				hand.Advance(added)
				f.AddString("key")
				hand.Advance(age)
				require.Equal(t, age < life, f.ContainsString("key"), "added at %d, %d later", added, age)
			}
			break
		}
	}
}

// TestNow has what Config says of a Now that does not advance, goes back, leaps or goes
// too far.
func TestNow(t *testing.T) {
	config := Config{Capacity: 1000, FPR: 1e-6, Span: time.Hour, Generations: 7}
	t.Run("still", func(t *testing.T) {
		config.Now = func() time.Time { return time.Time{} }
		f := bloom.Must(New(config))
		keys := testkit.Digests[bloom.Hash](1, 1000)
		for _, h := range keys {
			f.AddHash(h)
		}
		for _, h := range keys {
			require.True(t, f.ContainsHash(h))
		}
	})
	t.Run("back", func(t *testing.T) {
		var hand testkit.Clock
		config.Now = hand.Now
		f := bloom.Must(New(config))
		hand.Advance(-time.Hour) // before it was made
		f.AddString("a")
		hand.Advance(2 * time.Hour)
		f.AddString("b") // an hour after a, by the clock's furthest
		hand.Advance(-90 * time.Minute)
		require.True(t, f.ContainsString("a"))
		require.True(t, f.AddString("c")) // counts as added with b
		hand.Advance(90*time.Minute + 30*time.Minute)
		require.False(t, f.ContainsString("a"))
		require.True(t, f.ContainsString("b"))
		require.True(t, f.ContainsString("c"))
		hand.Advance(time.Hour)
		require.False(t, f.ContainsString("b"))
		require.False(t, f.ContainsString("c"))
	})
	t.Run("ahead", func(t *testing.T) {
		for _, leap := range []time.Duration{2 * time.Hour, 1e5 * time.Hour, math.MaxInt64 / 3} {
			var hand testkit.Clock
			config.Now = hand.Now
			f := bloom.Must(New(config))
			for range 3 {
				require.True(t, f.AddString("key"))
				require.True(t, f.ContainsString("key"))
				hand.Advance(leap)
			}
			require.False(t, f.ContainsString("key"))
			require.Zero(t, f.FPR())
		}
	})
	t.Run("beyond", func(t *testing.T) {
		now := time.Time{}
		config.Now = func() time.Time { return now }
		f := bloom.Must(New(config))
		for _, year := range []int{1, 1000, 1e6, 1e9, -1e9} {
			now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			f.AddString("key")
			require.True(t, f.ContainsString("key"))
		}
	})
}

// TestOneIsNew has many goroutines add the same keys: of each key, one is told that
// it is new.
func TestOneIsNew(t *testing.T) {
	f := bloom.Must(New(Config{Capacity: 50000, FPR: 1e-9, Span: time.Hour, Generations: 7}))
	var added atomic.Int64
	keys := testkit.Digests[bloom.Hash](1, 5000)
	add := func() {
		for _, h := range keys {
			if f.AddHash(h) {
				added.Add(1)
			}
		}
	}
	testkit.Together(add, add)
	require.EqualValues(t, len(keys), added.Load())
}

// TestNoEventYet: a Now of the caller's returns the zero Time until there is an event, and
// the time of the newest event then.
func TestNoEventYet(t *testing.T) {
	var newest time.Time
	f := bloom.Must(New(Config{Capacity: 100, FPR: 1e-6, Span: time.Hour, Now: func() time.Time { return newest }}))
	require.False(t, f.ContainsString("key"))
	for _, at := range []string{"1999-12-31T23:59:00Z", "2026-05-01T10:00:00Z"} {
		newest = bloom.Must(time.Parse(time.RFC3339, at))
		require.True(t, f.AddString("key"), at)
		newest = newest.Add(time.Hour)
		require.False(t, f.AddString("key"), at)
		newest = newest.Add(time.Hour + time.Hour/15)
		require.False(t, f.ContainsString("key"), at)
	}
}

func TestZero(t *testing.T) {
	var f Filter
	assert.Equal(t, Config{}, f.Config())
	assert.PanicsWithValue(t, errZero, func() { f.Do(bloom.Hash{}, func() error { panic("handled") }) })
	require.NoError(t, f.UnmarshalText(nil))
	assert.Equal(t, Config{}, f.Config())
}

// TestReset empties many blocks.
// TestStats fills windows. One has many more blocks than Stats reads.
func TestStats(t *testing.T) {
	for _, c := range []Config{
		{Capacity: 10_000, FPR: 0.01, Generations: 7}, {Capacity: 90_000, FPR: 0.001, Generations: 2},
	} {
		var hand testkit.Clock
		c.Span, c.Now = 63*24*time.Hour, hand.Now
		f := bloom.Must(New(c))
		added := fill(f, &hand, c)
		ones := uint64(0)
		for _, word := range f.array {
			ones += uint64(bits.OnesCount64(word))
		}
		s := f.Stats()
		require.Equal(t, f.blockCount*f.lanes*uint64(c.Generations+1), s.M)
		require.Equal(t, f.k, s.K)
		require.InEpsilon(t, ones, s.OnesCount, 0.01)
		require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
		require.InEpsilon(t, added, s.ApproxCount, 0.02)
		require.InEpsilon(t, c.FPR, s.FPR, 0.1)
		require.Equal(t, f.SizeBytes(), s.SizeBytes)
		hand.Advance(2 * c.Span)
		s = f.Stats()
		require.Zero(t, s.OnesCount+s.ApproxCount)
		require.Equal(t, c.Capacity > 10_000, f.blockCount > 64)
	}
}

// TestDo has goroutines handle one key at once, whose first few handlers fail: one more
// succeeds, and no other is called.
func TestDo(t *testing.T) {
	for _, fails := range []int64{0, 1, 3} {
		f := bloom.Must(New(Config{Capacity: 100, FPR: 1e-9, Span: time.Hour}))
		var calls, errs atomic.Int64
		var inside atomic.Bool
		do := func() {
			err := f.Do(bloom.SumString("id"), func() error {
				assert.False(t, inside.Swap(true), "two handlers at once")
				runtime.Gosched()
				defer inside.Store(false)
				if calls.Add(1) <= fails {
					return errors.New("failed")
				}
				return nil
			})
			if err != nil {
				errs.Add(1)
			}
		}
		testkit.Together(slices.Repeat([]func(){do}, 10)...)
		require.Equal(t, fails+1, calls.Load())
		require.Equal(t, fails, errs.Load())
		require.True(t, f.ContainsString("id"))
		require.Empty(t, f.underWay)
	}

	// A panic lets the next one handle it. Other keys do not wait.
	f := bloom.Must(New(Config{Capacity: 100, FPR: 1e-9, Span: time.Hour}))
	h := bloom.SumString("id")
	require.Panics(t, func() { f.Do(h, func() error { panic("in the handler") }) })
	require.Empty(t, f.underWay, "the next one would wait for ever")
	require.False(t, f.ContainsHash(h))
	require.NoError(t, f.Do(h, func() error {
		return f.Do(bloom.SumString("another"), func() error { return nil })
	}))
	require.True(t, f.ContainsHash(h))
}

// TestLookUpsMeanwhile looks keys up while others are added and generations end.
func TestLookUpsMeanwhile(t *testing.T) {
	const span, generations, rounds = time.Hour, 63, 500
	var hand testkit.Clock
	f := bloom.Must(New(Config{Capacity: 15000, FPR: 1e-9, Span: span, Generations: generations, Now: hand.Now}))
	require.Len(t, f.blocks, 1)
	var added atomic.Uint64 // keys below are there
	look := func() {
		for n := uint64(0); n < rounds; n = added.Load() {
			// A key lives for 63 rounds at least. Some of them may pass meanwhile.
			if n > 0 && !f.ContainsHash(bloom.SumUint64(n-1)) && added.Load() < n+generations {
				t.Errorf("key %d is missing", n-1)
			}
		}
	}
	testkit.Together(look, look, func() {
		for i := range uint64(rounds) {
			f.AddHash(bloom.SumUint64(i))
			added.Store(i + 1)
			hand.Advance(span/generations + 1)
		}
	})

	// Goroutines that find a key's end together all find it.
	ends := 5000
	if testing.Short() {
		ends = 200
	}
	look = func() {
		if f.ContainsString("key") {
			t.Error("the key has expired")
		}
	}
	for range ends {
		f.AddString("key")
		hand.Advance(span + span/generations + 2)
		testkit.Together(look, look)
	}
}
