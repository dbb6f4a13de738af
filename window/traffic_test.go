package window

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

const day = 24 * time.Hour

// traffic yields keys and their times since the start. Times increase, unless the clock jumps.
type traffic = iter.Seq2[time.Duration, uint64]

type pattern struct {
	name  string
	keys  traffic
	jumps bool // the clock jumps
	most  int  // the most keys that count in a day, or 0 if that is unknown
}

// patterns returns kinds of traffic for windows of n keys in a day.
func patterns(n, generations int) []pattern {
	// daily yields perDay keys in the first part of each day, for which the program is open. A day
	// has a nanosecond more than a Span. So never more than perDay keys come within a Span.
	daily := func(days, perDay int, open time.Duration) traffic {
		return func(yield func(time.Duration, uint64) bool) {
			for i := range days * perDay {
				of := time.Duration(float64(open) * float64(i%perDay) / float64(perDay))
				if !yield(time.Duration(i/perDay)*(day+1)+of, uint64(i)) {
					return
				}
			}
		}
	}
	// changed is even traffic whose times and keys are changed.
	changed := func(days, perDay int, change func(at time.Duration, key uint64) (time.Duration, uint64)) traffic {
		return func(yield func(time.Duration, uint64) bool) {
			for at, key := range daily(days, perDay, day) {
				if !yield(change(at, key)) {
					return
				}
			}
		}
	}
	// outage is even traffic with an outage that ends at noon of the second day. Its keys come at
	// noon.
	outage := func(hours time.Duration) traffic {
		return changed(4, n, func(at time.Duration, key uint64) (time.Duration, uint64) {
			if at > (36-hours)*time.Hour && at < 36*time.Hour {
				at = 36 * time.Hour
			}
			return at, key
		})
	}
	// repeats is traffic in which a share of the keys repeat keys of the last minutes.
	repeats := func(perDay int, share float64) traffic {
		r, recent, fresh := rand.New(rand.NewPCG(1, 2)), uint64(perDay/500+1), uint64(0)
		return changed(3, perDay, func(at time.Duration, _ uint64) (time.Duration, uint64) {
			if fresh > recent && r.Float64() < share {
				return at, fresh - 1 - r.Uint64N(recent)
			}
			fresh++
			return at, fresh
		})
	}
	// returning is traffic in which some keys come every five minutes, and other keys come once.
	returning := func(keys, once int) traffic {
		return func(yield func(time.Duration, uint64) bool) {
			for i := range 2 * 288 {
				for key := range keys + once/288 {
					if key >= keys {
						key += i * once
					}
					if !yield(time.Duration(i)*5*time.Minute, uint64(key)) {
						return
					}
				}
			}
		}
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(3, 4)), 1.1, 1, 1<<40)
	// leaping is even traffic with a clock that is wrong by step for four of eight hours.
	leaping := func(step time.Duration) traffic {
		return changed(3, n, func(at time.Duration, key uint64) (time.Duration, uint64) {
			if at%(8*time.Hour) > 4*time.Hour {
				at += step
			}
			return at, key
		})
	}
	few := n / (generations + 1)
	all := []pattern{
		{name: "even", keys: daily(3, n, day)},
		{name: "12 of 24 hours", keys: daily(3, n, 12*time.Hour)},
		{name: "6 of 24 hours", keys: daily(3, n, 6*time.Hour)},
		{name: "1.6 of 24 hours", keys: daily(3, n, 96*time.Minute)},
		{name: "at once", keys: daily(4, n, 0)},
		{name: "outage of 3 hours", keys: outage(3)},
		{name: "outage of 12 hours", keys: outage(12)},
		{name: "outage of 24 hours", keys: outage(24)},
		{name: "2 N", keys: daily(3, 2*n, day)},
		{name: "10 N", keys: daily(1, 10*n, day)},
		{name: "much at once", keys: daily(1, min(60_000, 100*n)+2*n, 0)},
		{name: "half repeated", keys: repeats(2*n, 0.5)},
		{name: "90 % repeated", keys: repeats(3*n, 0.9)},
		{name: "few keys every five minutes", keys: returning(few, 0), most: generations * few},
		{name: "few keys every five minutes, and others", keys: returning(few/2, few/2),
			most: (generations + 1) * few / 2},
		{name: "Zipf", keys: changed(3, 3*n,
			func(at time.Duration, _ uint64) (time.Duration, uint64) { return at, zipf.Uint64() })},
		{name: "clock ahead by a minute", keys: leaping(time.Minute), jumps: true},
		{name: "clock back by an hour", keys: leaping(-time.Hour), jumps: true},
		{name: "clock ahead by ten days", keys: leaping(10 * day), jumps: true},
	}
	for seed := range uint64(4) {
		all = append(all, pattern{name: fmt.Sprintf("mixed/seed=%d", seed), keys: mixed(seed, n)})
	}
	return all
}

// mixed yields series of keys. A series has new keys, repeats, or both. Its keys come together or
// over hours. There may be a pause after it.
func mixed(seed uint64, n int) traffic {
	return func(yield func(time.Duration, uint64) bool) {
		r := rand.New(rand.NewPCG(seed, 5))
		at, fresh := time.Duration(0), uint64(0)
		for total := 0; total < 12*n; {
			keys, recent := 1+r.IntN([]int{10, n / 8, n}[r.IntN(3)]),
				uint64(1+r.IntN([]int{10, n, 3 * n}[r.IntN(3)]))
			share := []float64{0, r.Float64(), 1}[r.IntN(3)]
			pace := []float64{0, 0.1, 1, 3}[r.IntN(4)] * float64(day) / float64(n)
			for range keys {
				key := fresh
				if fresh > 0 && r.Float64() < share {
					key -= 1 + r.Uint64N(min(fresh, recent))
				} else {
					fresh++
				}
				if !yield(at, key) {
					return
				}
				at += time.Duration(r.ExpFloat64() * pace)
			}
			total += keys
			at += []time.Duration{0, 1, day / 100, time.Duration(r.Float64() * float64(day)),
				day + 1}[r.IntN(5)]
		}
	}
}

// TestTraffic compares windows with maps. Each key that was added is found for a Span, unless more
// than N keys were counted after it. No key is found for too long. If a key is not remembered, Add
// returns false with a probability of at most P. Reach is true: it is a Span if no key was given
// up. Now and then the window is saved and loaded. Without BLOOM_LONG, each configuration has one
// pattern in several, by turns.
func TestTraffic(t *testing.T) {
	for _, test := range []struct {
		n           int // N
		several     bool
		generations []int
		rates       []float64
		oneIn       int // patterns
	}{
		{48, false, []int{1, 7}, []float64{1e-2}, 1},
		{480, false, []int{1, 2, 3, 7, 15, 31}, []float64{1e-2, 1e-3}, 5},
		{23_808, true, []int{7}, []float64{1e-2}, 5},
		{5000, false, []int{7}, []float64{1e-6}, 5},
	} {
		turn := 0
		for _, p := range test.rates {
			if filtertest.Race {
				t.Skip("each window has one goroutine")
			}
			var refused, asked atomic.Int64
			t.Run(fmt.Sprintf("n=%d/p=%v", test.n, p), func(t *testing.T) {
				for _, generations := range test.generations {
					if testing.Short() && (generations != 7 || test.n != 48) {
						continue
					}
					for _, renew := range []bool{false, true} {
						turn++
						for i, pattern := range patterns(test.n, generations) {
							if (i+turn)%test.oneIn != 0 && !filtertest.Long() {
								continue
							}
							t.Run(fmt.Sprintf("T=%d/renew=%v/%s", generations, renew, pattern.name), func(t *testing.T) {
								t.Parallel()
								w := watch(t,
									Config{N: uint64(test.n), P: p, Span: day, Renew: renew,
										Generations: generations}, pattern)
								require.Equal(t, test.several, w.pages > 1)
								w.run()
								refused.Add(int64(w.refused))
								asked.Add(int64(w.asked))
							})
						}
					}
				}
			})
			t.Logf("n = %d: %d of %d refused, %.2f p", test.n, refused.Load(), asked.Load(),
				float64(refused.Load())/float64(asked.Load())/p)
			assert.LessOrEqual(t, float64(refused.Load()), filtertest.RateBound(int(asked.Load()), p))
		}
	}
}

// watched has a window, and a map of what it should remember.
type watched struct {
	*Filter
	pattern
	t       *testing.T
	config  Config
	clock   filtertest.Clock
	added   []added         // all calls of Add, in order
	last    map[uint64]int  // the index in added of a key's last call
	counted []time.Time     // the times at which keys counted towards N
	once    map[uint64]int  // the index in counted of the last time that a key counted
	taken   map[uint64]bool // keys that were refused by mistake, without Renew, and may be again
	over    bool            // more than N keys counted within a Span
	asked   int             // the number of calls with other keys that are not remembered
	refused int             // how many of these calls returned false
	leapt   int             // len(added) when the clock leapt ahead
}

type added struct {
	key     uint64
	at      time.Time
	counted int // len(watched.counted) at that time
}

func watch(t *testing.T, config Config, pattern pattern) *watched {
	w := &watched{t: t, pattern: pattern, config: config,
		last: map[uint64]int{}, once: map[uint64]int{}, taken: map[uint64]bool{}}
	w.config.Now = w.clock.Now
	w.Filter = bloom.Must(New(w.config))
	return w
}

func (w *watched) run() {
	adds, next := 0, 5*time.Hour
	for at, key := range w.keys {
		if at-w.clock.Elapsed() > day {
			w.leapt = len(w.added)
		}
		w.clock.Advance(at - w.clock.Elapsed())
		w.add(key)
		if adds++; at > next || adds%int(2*w.config.N) == 0 {
			w.check()
			next = at + 5*time.Hour
		}
	}
	w.check()
}

// part returns the window's part. longest returns how long a key may be found.
func (w *watched) part() time.Duration { return time.Duration(w.ring.part) }

func (w *watched) longest() time.Duration {
	if w.config.Renew {
		return day + 2*w.part()
	}
	return day + w.part()
}

// kept reports whether a must be found now.
func (w *watched) kept(a added) bool {
	return !w.jumps && w.clock.Now().Sub(a.at) <= day && len(w.counted)-a.counted <= int(w.config.N)
}

// state returns a value that changes with each key that counts.
func (w *watched) state() [3]uint64 {
	s := [3]uint64{w.ring.planes().newest(), w.ring.count.Load()}
	for i := range w.table {
		s[2] += w.table[i].pending
	}
	return s
}

func (w *watched) add(key uint64) {
	now, n, before := w.clock.Now(), int(w.config.N), w.state()
	i, known := w.last[key]
	isNew := w.AddHash(bloom.SumUint64(key))
	if known && w.kept(w.added[i]) {
		require.False(w.t, isNew, "key %d is forgotten after %v", key, now.Sub(w.added[i].at))
	}
	if (!known || now.Sub(w.added[i].at) > w.longest()) && !w.taken[key] && !w.jumps {
		w.asked++
		if !isNew {
			w.refused++
		}
	}
	w.taken[key] = !isNew && !w.config.Renew
	if w.state() != before {
		if once, ok := w.once[key]; ok && w.config.Renew && !isNew && !w.jumps {
			require.True(w.t, now.Sub(w.counted[once]) > w.part() ||
				len(w.counted)-1-once > n/(w.config.Generations+1), "key %d counts too often", key)
		}
		w.once[key] = len(w.counted)
		w.counted = append(w.counted, now)
		within := func(most int) bool {
			return most > 0 && len(w.counted) > most && now.Sub(w.counted[len(w.counted)-1-most]) <= day
		}
		w.over = w.over || within(n)
		require.False(w.t, within(w.most), "more than %d counted within a Span", w.most)
	}
	if isNew || w.config.Renew {
		w.last[key] = len(w.added)
		w.added = append(w.added, added{key, now, len(w.counted)})
	}
}

func (w *watched) check() {
	if w.asked%2 == 0 {
		require.NoError(w.t, w.UnmarshalBinary(bloom.Must(w.MarshalBinary())))
	}
	now, reach := w.clock.Now(), w.Reach()
	if !w.over && !w.jumps {
		require.Equal(w.t, day, reach)
	}
	newest, old, found := time.Duration(math.MaxInt64), 0, 0
	for i := len(w.added) - 1; i >= max(0, w.leapt, len(w.added)-3*int(w.config.N)); i-- {
		a := w.added[i]
		if w.last[a.key] != i {
			continue
		}
		age, is := now.Sub(a.at), w.ContainsHash(bloom.SumUint64(a.key))
		switch {
		case w.jumps:
			require.True(w.t, is || len(w.added)-i > int(w.config.N)*3/4,
				"key %d is forgotten since the clock leapt", a.key)
		case !is && age <= day:
			newest = min(newest, age)
			require.False(w.t, w.kept(a), "key %d is forgotten after %v and %d keys", a.key, age,
				len(w.counted)-a.counted)
			require.GreaterOrEqual(w.t, age, reach, "key %d is forgotten within the reach", a.key)
		case age > w.longest() && !w.taken[a.key]:
			old++
			if is {
				found++
			}
		}
	}
	require.LessOrEqual(w.t, float64(found), filtertest.RateBound(old, w.config.P)+3,
		"of %d that should be forgotten", old)
	if newest < day && !w.config.Renew {
		require.GreaterOrEqual(w.t, reach, newest-w.part(), "reach is too modest")
	}
}
