package window_test

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
	"github.com/seed79a3ff49/bloom/window"
)

const (
	day = 24 * time.Hour
	n   = 10_000 // N
)

// traffic yields times since the start, in order or with leaps, and keys.
type traffic = iter.Seq2[time.Duration, uint64]

// daily yields perDay new keys in the first open hours of each of days.
func daily(days, perDay int, open time.Duration) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		for d := range days {
			for i := range perDay {
				if !yield(time.Duration(d)*day+time.Duration(float64(open)*float64(i)/float64(perDay)), uint64(d*perDay+i)) {
					return
				}
			}
		}
	}
}

// outage yields n keys a day. Those of the hours before noon of the second day come at noon.
func outage(hours time.Duration) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		for at, key := range daily(4, n, day) {
			if from := 36*time.Hour - hours; at > from && at < 36*time.Hour {
				at = 36 * time.Hour
			}
			if !yield(at, key) {
				return
			}
		}
	}
}

// repeats yields as many keys a day, a share of which came some minutes before.
func repeats(perDay int, share float64) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		recent, fresh := uint64(perDay/500), uint64(0)
		for at, _ := range daily(3, perDay, day) {
			key := fresh
			if fresh > recent && r.Float64() < share {
				key -= 1 + r.Uint64N(recent)
			} else {
				fresh++
			}
			if !yield(at, key) {
				return
			}
		}
	}
}

// returning yields the same keys every five minutes.
func returning(keys int) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		for at := time.Duration(0); at < 5*day/2; at += 5 * time.Minute {
			for i := range keys {
				if !yield(at, uint64(i)) {
					return
				}
			}
		}
	}
}

func zipf(perDay int) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		z := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.1, 1, 1<<40)
		for at, _ := range daily(3, perDay, day) {
			if !yield(at, z.Uint64()) {
				return
			}
		}
	}
}

// leaping is daily with a clock that is off by step every other four hours.
func leaping(step time.Duration) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		for at, key := range daily(3, n, day) {
			if at%(8*time.Hour) > 4*time.Hour {
				at += step
			}
			if !yield(at, key) {
				return
			}
		}
	}
}

// TestTraffic compares a window with a map. Where no more than N keys come in a Span,
// every key is found for a Span. Where more come, the newest N are, and all that Reach says. Of the
// keys that are not remembered, Add takes no more than P for seen. Nothing lasts longer than it should. Now and then the
// window is saved and loaded.
func TestTraffic(t *testing.T) {
	for _, test := range []struct {
		name  string
		keys  traffic
		renew bool
		over  bool // more than N keys come
		jumps bool // the clock does
	}{
		{name: "even", keys: daily(4, n, day)},
		{name: "even, renewed", keys: daily(4, n, day), renew: true},
		{name: "12 of 24 hours", keys: daily(4, n, 12*time.Hour)},
		{name: "6 of 24 hours", keys: daily(4, n, 6*time.Hour)},
		{name: "1.6 of 24 hours", keys: daily(4, n, 96*time.Minute)},
		{name: "at once", keys: daily(4, n, 0)},
		{name: "outage of 3 hours", keys: outage(3), over: true},
		{name: "outage of 12 hours", keys: outage(12), over: true},
		{name: "outage of 24 hours", keys: outage(24), over: true},
		{name: "2 N", keys: daily(3, 2*n, day), over: true},
		{name: "10 N", keys: daily(2, 10*n, day), over: true},
		{name: "10 N, renewed", keys: daily(2, 10*n, day), renew: true, over: true},
		{name: "100 N at once", keys: daily(1, 100*n, 0), over: true},
		{name: "half repeated", keys: repeats(2*n, 0.5)},
		{name: "half repeated and renewed", keys: repeats(n, 0.5), renew: true},
		{name: "90 % repeated", keys: repeats(10*n, 0.9)},
		{name: "90 % repeated and renewed", keys: repeats(2*n, 0.9), renew: true},
		{name: "N/8 every five minutes", keys: returning(n / 8)},
		{name: "N/8 every five minutes, renewed", keys: returning(n / 8), renew: true},
		{name: "Zipf", keys: zipf(3 * n), over: true},
		{name: "Zipf, renewed", keys: zipf(3 * n), renew: true, over: true},
		{name: "clock ahead by a minute", keys: leaping(time.Minute), jumps: true},
		{name: "clock back by an hour", keys: leaping(-time.Hour), jumps: true},
		{name: "clock ahead by ten days", keys: leaping(10 * day), jumps: true},
	} {
		for _, p := range []float64{1e-2, 1e-3, 1e-6} {
			t.Run(fmt.Sprintf("%s/p=%v", test.name, p), func(t *testing.T) {
				if testing.Short() && p != 1e-3 || testkit.Race {
					t.Skip("one goroutine, at other rates")
				}
				t.Parallel()
				w := &watched{t: t, path: filepath.Join(t.TempDir(), "window"), last: map[uint64]time.Time{}, taken: map[uint64]bool{}, over: test.over, jumps: test.jumps}
				w.config = window.Config{N: n, P: p, Span: day, Renew: test.renew, Now: w.clock.Now}
				w.Filter = bloom.Must(window.New(w.config))
				adds, next := 0, 5*time.Hour
				for at, key := range test.keys {
					if at-w.clock.Elapsed() > day {
						w.leapt = len(w.order)
					}
					w.clock.Advance(at - w.clock.Elapsed())
					w.add(key)
					if adds++; at > next || adds%(10*n) == 0 {
						w.check()
						next = at + 5*time.Hour
					}
				}
				w.check()
				bound := testkit.RateBound(w.asked, p)
				assert.LessOrEqual(t, float64(w.refused), bound, "of %d new keys", w.asked)
				t.Logf("%d of %d refused, %.2f p; least reach %v", w.refused, w.asked, float64(w.refused)/float64(w.asked)/p, w.least)
			})
		}
	}
}

// watched is a window beside a map.
type watched struct {
	*window.Filter
	t           *testing.T
	config      window.Config
	clock       testkit.Clock
	path        string
	over, jumps bool
	last        map[uint64]time.Time // when a key was added, and not refused
	order       []uint64             // keys, as they were added
	taken       map[uint64]bool      // keys that were refused: they will be again
	asked       int                  // adds of other keys that are surely not remembered
	refused     int
	leapt       int // len(order) when the clock leapt ahead
	least       time.Duration
}

// longest returns how long a key may be found.
func (w *watched) longest() time.Duration {
	if w.config.Renew {
		return day + 2*day/7
	}
	return day + day/7
}

func (w *watched) add(key uint64) {
	now, h := w.clock.Now(), bloom.SumUint64(key)
	last, known := w.last[key]
	isNew := w.AddHash(h)
	age := now.Sub(last)
	switch {
	case w.taken[key]:
	case !known || age > w.longest() && !w.jumps:
		w.asked++
		if !isNew {
			w.refused++
			w.taken[key] = true
		}
	case age <= day && !w.over && !w.jumps && isNew:
		require.Fail(w.t, "forgotten", "key %d after %v", key, age)
	}
	if isNew || w.config.Renew {
		w.last[key] = now
		w.order = append(w.order, key)
	}
}

func (w *watched) check() {
	if w.asked%2 == 0 {
		require.NoError(w.t, w.SaveFile(w.path))
		w.Filter = bloom.Must(window.LoadOrNew(w.path, w.config))
	}
	now, reach := w.clock.Now(), w.Reach()
	if !w.over && !w.jumps {
		require.Equal(w.t, day, reach)
	}
	if w.least == 0 || reach < w.least {
		w.least = reach
	}
	newest, distinct, old, found := time.Duration(math.MaxInt64), map[uint64]bool{}, 0, 0
	for i := len(w.order) - 1; i >= 0 && len(distinct) < 2*n; i-- {
		key := w.order[i]
		if distinct[key] {
			continue
		}
		distinct[key] = true
		age := now.Sub(w.last[key])
		is := w.ContainsHash(bloom.SumUint64(key))
		switch {
		case !is && age <= day && !w.jumps:
			newest = min(newest, age)
			require.GreaterOrEqual(w.t, age, reach, "key %d is forgotten within the reach", key)
			require.True(w.t, w.config.Renew || len(distinct) > n, "one of the newest keys is forgotten: the %dth", len(distinct))
		case age > w.longest() && !w.jumps:
			old++
			if is {
				found++
			}
		}
	}
	require.LessOrEqual(w.t, float64(found), testkit.RateBound(max(old, 1), w.config.P)+3, "of %d that should be forgotten", old)
	if newest < day {
		require.GreaterOrEqual(w.t, reach, newest-day/7*2, "reach is too modest")
	}
	if w.jumps {
		for _, key := range w.order[max(w.leapt, len(w.order)-n*3/4):] {
			require.True(w.t, w.ContainsHash(bloom.SumUint64(key)), "key %d is forgotten since the clock leapt", key)
		}
	}
}
