package window

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestGenerations: the generation is floor(elapsed * gens / span), for times in order.
func TestGenerations(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct{ span, gens, most int64 }{
		{7, 7, 2}, {1000, 7, 40}, {63, 63, 2}, {math.MaxInt64, 63, math.MaxInt64 / 100}, {int64(time.Hour), 24, int64(time.Hour)},
	} {
		t.Run(fmt.Sprintf("span=%d/gens=%d", test.span, test.gens), func(t *testing.T) {
			var hand testkit.Clock
			c := clock{now: hand.Now}
			c.set(uint64(test.span), uint64(test.gens), hand.Now(), 0)
			for hand.Elapsed() < math.MaxInt64-time.Duration(test.most) && hand.Elapsed() < 20_000*time.Duration(test.span/100+1) {
				want := new(big.Int).Mul(big.NewInt(int64(hand.Elapsed())), big.NewInt(test.gens))
				want.Div(want, big.NewInt(test.span))
				if got := c.generation(); got != want.Uint64() {
					t.Fatalf("generation %d after %d, want %d", got, hand.Elapsed(), want)
				}
				hand.Advance(time.Duration(rnd.Int64N(test.most) + 1))
			}
		})
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	var hand testkit.Clock
	c := clock{now: hand.Now}
	c.set(7, 7, hand.Now(), 0)
	for _, step := range []struct {
		move time.Duration
		want uint64
	}{{-5, 0}, {10, 5}, {-4, 5}, {4, 5}, {1, 6}, {1000, 1006}, {-1000, 1006}} {
		hand.Advance(step.move)
		require.Equal(t, step.want, c.generation(), "at %d", hand.Elapsed())
	}
}

// TestAdvanceTogether: however many goroutines advance the clock, it is never before the time
// that one of them has read, and does not go back.
func TestAdvanceTogether(t *testing.T) {
	rounds := 2_000_000
	if testing.Short() {
		rounds = 50_000
	}
	var hand testkit.Clock
	c := clock{now: hand.Now}
	c.set(1, 1, hand.Now(), 0)
	var next atomic.Uint64 // keeps their times close to each other
	advance := func() {
		last := uint64(0)
		for range rounds {
			d := next.Add(1)
			c.advance(hand.Now().Add(time.Duration(d)))
			now := c.gen.Load()
			if now < max(d, last) {
				t.Errorf("generation %d at %d, after %d", now, d, last)
				return
			}
			last = now
		}
	}
	testkit.Together(advance, advance, advance, advance)
}

// TestWallClock: a machine that is suspended stops the monotonic clock. So the epoch has no
// reading of that.
func TestWallClock(t *testing.T) {
	f, err := New(Config{Capacity: 1, FPR: 0.5, Span: time.Hour})
	require.NoError(t, err)
	require.Equal(t, f.clock.epoch.Round(0), f.clock.epoch)
}

// handCoarse is a coarse clock whose time and timer are moved by hand.
type handCoarse struct {
	clock
	hand  testkit.Clock
	reads int
	after []time.Duration // what the timer was set to
}

func newHandCoarse(span time.Duration, gens uint64) *handCoarse {
	h := new(handCoarse)
	h.now = func() time.Time {
		h.reads++
		return h.hand.Now()
	}
	h.wake = func(after time.Duration, _ func()) { h.after = append(h.after, after) }
	h.set(uint64(span), gens, h.hand.Now(), 0)
	return h
}

// TestCoarseReads: one reading serves until the timer, which is set to a tenth of a
// second, or to the end of the generation if that comes first.
func TestCoarseReads(t *testing.T) {
	h := newHandCoarse(2250*time.Millisecond, 2)
	for range 12 {
		for range 10 {
			h.generation()
		}
		h.hand.Advance(100 * time.Millisecond)
		h.tick()
	}
	require.Len(t, h.after, 12)
	require.Equal(t, 24, h.reads, "the reader's and the timer's")
	for i, after := range h.after {
		want := 100 * time.Millisecond
		if i == 11 {
			want = 25 * time.Millisecond // of 1125
		}
		require.Equal(t, want, after, "reading %d", i)
	}
	require.EqualValues(t, 1, h.generation())

	c := clock{now: h.hand.Now}
	c.set(uint64(time.Hour), 1, h.hand.Now(), 0)
	require.False(t, c.coarse, "another's time is read at each call")
	c = clock{}
	c.set(uint64(2*time.Second)-1, 2, h.hand.Now(), 0)
	require.False(t, c.coarse, "a generation is shorter than a second")
	c.set(uint64(2*time.Second), 2, h.hand.Now(), 0)
	require.True(t, c.coarse)
}

// TestCoarseLate: until the timer goes off, calls take the old generation for the
// current one. It then has lasted so much longer, and so has no later one.
func TestCoarseLate(t *testing.T) {
	const late = 10 * time.Minute
	h := newHandCoarse(2*time.Hour, 2)
	h.generation()
	h.hand.Advance(30 * time.Minute)
	h.tick() // far from the end: not late
	h.hand.Advance(30*time.Minute - 1)
	require.EqualValues(t, 0, h.generation())
	h.hand.Advance(1 + late)
	require.EqualValues(t, 0, h.generation(), "on the quick path")
	h.tick()
	require.EqualValues(t, 1, h.generation())
	require.Equal(t, late, h.began().Sub(new(testkit.Clock).Now()))

	h.tick()
	h.hand.Advance(time.Hour - 1)
	require.EqualValues(t, 1, h.generation(), "as long as any other")
	h.hand.Advance(1)
	h.tick()
	require.EqualValues(t, 2, h.generation())
	require.Equal(t, late, h.began().Sub(new(testkit.Clock).Now()))
}

// TestEpochToCome: bytes may have an epoch that is further away than a Duration.
func TestEpochToCome(t *testing.T) {
	h := newHandCoarse(2*time.Hour, 2)
	epoch := h.hand.Now().AddDate(300, 0, 0)
	h.set(uint64(2*time.Hour), 2, epoch, 7)
	require.EqualValues(t, 7, h.generation())
	require.Equal(t, []time.Duration{coarsePrecision}, h.after)
	h.tick()
	require.True(t, h.began().Equal(epoch))
}

// TestSystemTime runs on time.Now and its timers.
func TestSystemTime(t *testing.T) {
	t.Parallel() // it waits for two seconds
	for _, span := range []time.Duration{60 * time.Millisecond, time.Second} {
		c := Config{Capacity: 1000, FPR: 1e-6, Span: span, Generations: 1}
		f, err := New(c)
		require.NoError(t, err)
		require.Equal(t, span == time.Second, f.clock.coarse)
		start := time.Now()
		require.True(t, f.AddString("key"))
		for f.ContainsString("key") {
			time.Sleep(time.Millisecond)
		}
		require.GreaterOrEqual(t, time.Since(start), span)
	}
}
