package bloomredis

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/window"
)

func openWindow(t testing.TB, client redis.UniversalClient, c WindowConfig) *Window {
	t.Helper()
	w, err := OpenWindow(ctx, client, "w", c)
	require.NoError(t, err)
	return w
}

// setClock replaces the server's clock for windows, until the test ends, by one that
// the function it returns sets. Redis still expires by its own.
func setClock(t testing.TB, client *redis.Client) (set func(at time.Duration)) {
	for _, s := range []*script{&windowAddScript, &windowContainsScript, &windowStateScript, &windowResetScript} {
		before := *s
		t.Cleanup(func() { *s = before })
		source := strings.Replace(s.source, "redis.call('TIME')", "redis.call('LRANGE', 'clock', 0, 1)", 1)
		require.NotEqual(t, s.source, source)
		*s = script{source, newScript(source).sha, s.repeats}
	}
	return func(at time.Duration) {
		pipe := client.TxPipeline()
		pipe.Del(ctx, "clock")
		pipe.RPush(ctx, "clock", int64(at/time.Second), (at % time.Second).Microseconds())
		_, err := pipe.Exec(ctx)
		require.NoError(t, err)
	}
}

// traffic is what comes to a window, and what a map knows of it.
type traffic struct {
	t      *testing.T
	w      *Window
	set    func(time.Duration)
	now    time.Duration
	next   uint64
	stored map[uint64]time.Duration // when a key was stored or renewed last
	order  []uint64                 // of keys that were new

	absent, refused int // keys that were not remembered, and of them those that Add took for seen
}

const (
	windowN = 1000
	windowT = 7
	length  = 24 * time.Hour
)

// longest is how long a key may be remembered.
func (f *traffic) longest() time.Duration {
	if f.w.config.Renew {
		return length + 2*length/windowT + 2*time.Second
	}
	return length + length/windowT + time.Second
}

// add adds so many new keys, and again those in back, after some time.
func (f *traffic) add(after time.Duration, fresh int, back ...uint64) {
	f.now += after
	f.set(f.now)
	keys := slices.Clone(back)
	for range fresh {
		keys = append(keys, f.next)
		f.next++
	}
	rand.New(rand.NewPCG(uint64(f.now), 0)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	hs := make([]bloom.Hash, len(keys))
	for i, key := range keys {
		hs[i] = bloom.SumUint64(key)
	}
	added, err := addBatch(ctx, f.w, hs)
	require.NoError(f.t, err)
	for i, key := range keys {
		at, known := f.stored[key]
		age := f.now - at
		if !known || age > f.longest() {
			f.absent++
			if !added[i] {
				f.refused++
			}
		}
		if added[i] {
			f.order = append(f.order, key)
		}
		if added[i] || f.w.config.Renew {
			f.stored[key] = f.now
		}
	}
}

// check checks that all keys of the last Reach are found, that this is a Span if wanted, and
// that the newest N are found.
func (f *traffic) check(whole bool) {
	f.t.Helper()
	reach, err := f.w.Reach(ctx)
	require.NoError(f.t, err)
	if whole {
		require.Equal(f.t, length, reach, "at %v", f.now)
	}
	var must []bloom.Hash
	for key, at := range f.stored {
		if f.now-at < reach {
			must = append(must, bloom.SumUint64(key))
		}
	}
	if !f.w.config.Renew {
		for _, key := range f.order[max(0, len(f.order)-windowN):] {
			if f.now-f.stored[key] < length {
				must = append(must, bloom.SumUint64(key))
			}
		}
	}
	found, err := containsBatch(ctx, f.w, must)
	require.NoError(f.t, err)
	require.False(f.t, slices.Contains(found, false), "at %v: Reach is %v", f.now, reach)
}

// Whatever comes, new keys are refused at the rate of P, and all keys of the last Reach are
// found. That is a Span wherever no more than N new keys came within one.
func TestWindowKeepsItsWord(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	part := func(n, parts int) int { return (n + parts - 1) / parts }
	recent := func(f *traffic, n int) []uint64 { return f.order[max(0, len(f.order)-n):] }
	within := func(d time.Duration) func(*traffic) {
		return func(f *traffic) {
			for range 3 {
				for range 20 {
					f.add(d/20, windowN/20)
				}
				f.check(true)
				f.add(length-d/2, 0)
				f.check(true)
				f.add(d/2+time.Millisecond, 0)
			}
		}
	}
	for name, test := range map[string]func(f *traffic){
		"even":                  within(length),
		"half a day":            within(length / 2),
		"a quarter":             within(length / 4),
		"a fifteenth":           within(length / 15),
		"at once":               within(0),
		"one a generation":      func(f *traffic) { sparse(f, length/windowT) },
		"a few, far apart":      func(f *traffic) { sparse(f, length/3) },
		"outage of three hours": func(f *traffic) { outage(f, 3) },
		"outage of a day":       func(f *traffic) { outage(f, 24) },
		"twice": func(f *traffic) {
			for range 100 {
				f.add(length/50, 2*windowN/50)
				f.check(false)
			}
			reach, err := f.w.Reach(ctx)
			require.NoError(f.t, err)
			assert.Greater(f.t, reach, length*9/20)
			for range 80 { // back to what it is for
				f.add(length/50, windowN/50)
			}
			f.check(true)
		},
		"ten times, at once": func(f *traffic) {
			f.add(0, 10*windowN)
			f.check(false)
			for range 60 {
				f.add(length/50, windowN/60)
				f.check(false)
			}
			f.check(true)
		},
		"half repeats": func(f *traffic) {
			for range 100 {
				f.add(length/50, part(windowN, 51), recent(f, windowN/51)...)
				f.check(!f.w.config.Renew)
			}
		},
		"an eighth of N again and again": func(f *traffic) {
			f.add(0, windowN/8)
			always := slices.Clone(f.order)
			for range 3 * 96 {
				f.add(length/96, 0, always...)
				f.check(true)
			}
		},
		"a clock that leaps": func(f *traffic) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range 150 {
				leap := time.Duration(rng.Int64N(int64(length / 3)))
				f.add(leap, windowN/100)
				f.check(false)
				if rng.IntN(10) == 0 { // ahead for a moment: what it passes over is forgotten
					f.now += 2 * length
					f.add(0, 1)
					f.check(false)
					f.now -= 2 * length
					clear(f.stored)
					f.order = nil
				}
			}
		},
		"a clock that steps back": func(f *traffic) {
			rng := rand.New(rand.NewPCG(3, 4))
			for range 150 {
				step := time.Duration(rng.Int64N(int64(length / 10)))
				f.add(step, windowN/100)
				maps.DeleteFunc(f.stored, func(_ uint64, at time.Duration) bool { return f.now-at >= length })
				f.add(-step/2, windowN/100)
				for key, at := range f.stored { // goes as late as if it came now
					f.stored[key] = min(at, f.now)
				}
				f.check(false)
			}
		},
	} {
		for i, p := range []float64{1e-2, 1e-3} {
			t.Run(fmt.Sprintf("%s/p=%v/renew=%v", name, p, i == 1), func(t *testing.T) {
				require.NoError(t, DeleteWindow(ctx, client, "w"))
				f := &traffic{t: t, set: set, now: 1_700_000_000 * time.Second, stored: make(map[uint64]time.Duration)}
				set(f.now)
				f.w = openWindow(t, client, WindowConfig{N: windowN, P: p, Span: length, Renew: i == 1})
				test(f)
				trials := float64(f.absent)
				assert.LessOrEqual(t, float64(f.refused), trials*p+4*math.Sqrt(trials*p)+1, "of %d", f.absent)
			})
		}
	}
}

// sparse sends one key a time, so that each begins a plane.
func sparse(f *traffic, every time.Duration) {
	for range 80 {
		f.add(every, 1)
		f.check(true)
	}
	if found, err := containsBatch(ctx, f.w, hashes(0, 60)); assert.NoError(f.t, err) {
		assert.NotContains(f.t, found, true, "forgotten")
	}
}

// outage sends half of N a Span evenly, but nothing for some hours, and then what waited.
func outage(f *traffic, hours int) {
	for range 24 {
		f.add(time.Hour, windowN/48)
	}
	f.add(time.Duration(hours)*time.Hour, hours*windowN/48)
	f.check(true)
	for range 30 {
		f.add(time.Hour, windowN/48)
		f.check(true)
	}
}

// Planes are used again before all pages are cleared of what they had. Nothing of that is found.
func TestWindowForgetsWhereNobodyWrites(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	set(1000 * time.Hour)
	w := openWindow(t, client, WindowConfig{N: 100_000, P: 1e-6, Span: windowT * time.Hour})
	require.Greater(t, w.pages, uint64(5))
	mustAdd(t, w, hashes(0, 500)...)
	for i := range uint64(40) {
		set(time.Duration(1001+i) * time.Hour)
		mustAdd(t, w, bloom.SumUint64(1000+i))
		if i > windowT {
			requireFound(t, w, false, hashes(0, 500)...)
		}
	}
}

// A clock that jumps to and fro ends no planes that push out the newest N keys.
func TestWindowClockJumps(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	set(1000 * time.Hour)
	w := openWindow(t, client, WindowConfig{N: windowN, P: 1e-6, Span: windowT * time.Hour})
	mustAdd(t, w, hashes(0, windowN-80)...)
	for i := range uint64(40) {
		set(1000*time.Hour + 61*time.Minute)
		mustAdd(t, w, bloom.SumUint64(1e6+2*i))
		set(1000 * time.Hour)
		mustAdd(t, w, bloom.SumUint64(1e6+2*i+1))
		requireFound(t, w, true, append(hashes(0, windowN-80), hashes(1e6, 1e6+2*i+2)...)...)
	}
}

// Without a Span the newest N keys are found, whenever they came, and nothing expires.
func TestWindowByCount(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	for _, renew := range []bool{false, true} {
		set(1000 * time.Hour)
		require.NoError(t, DeleteWindow(ctx, client, "w"))
		w := openWindow(t, client, WindowConfig{N: windowN, P: 1e-6, Renew: renew})
		for i := range uint64(40) {
			set(time.Duration(i%7) * 1e6 * time.Hour)
			requireAdded(t, w, true, hashes(100*i, 100*i+100)...)
			if renew {
				requireAdded(t, w, i == 0, hashes(1e9, 1e9+10)...)
			}
			newest := uint64(windowN)
			if renew { // those that are renewed count, too
				newest = windowN * 4 / 5
			}
			requireFound(t, w, true, hashes(max(100*i+100, newest)-newest, 100*i+100)...)
			reach, err := w.Reach(ctx)
			require.NoError(t, err)
			require.Zero(t, reach)
		}
		requireFound(t, w, false, hashes(0, 1000)...)
		assert.Negative(t, client.PTTL(ctx, "w").Val())
	}
}

// A window of several strings is one, and all of it is deleted.
func TestWindowStrings(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	c := WindowConfig{N: 30_000_000, P: 0.01, Span: time.Hour}
	w := openWindow(t, client, c)
	require.Len(t, w.names, 3)
	hs := hashes(0, windowTrip+100)
	requireAdded(t, w, true, hs...)
	requireAdded(t, w, false, hs...)
	requireFound(t, openWindow(t, client, c), true, hs...)
	s, err := w.Stats(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, len(hs), s.ApproxCount, "of all strings")
	other, left := openWindow(t, client, c), client.PTTL(ctx, w.names[2]).Val()
	requireFound(t, other, true, hs...)
	require.NoError(t, w.Reset(ctx))
	requireFound(t, other, false, hs...)
	assert.InDelta(t, left, client.PTTL(ctx, w.names[2]).Val(), float64(time.Minute))
	mustAdd(t, other, hs[:100]...)
	requireFound(t, w, true, hs[:100]...)
	size, err := c.SizeBytes()
	require.NoError(t, err)
	sum := int64(0)
	for _, name := range w.names {
		sum += client.StrLen(ctx, name).Val()
		assert.LessOrEqual(t, client.StrLen(ctx, name).Val(), int64(maxString+maxString/100))
		assert.Positive(t, client.PTTL(ctx, name).Val())
	}
	assert.Equal(t, size, sum)
	for _, gone := range [][]string{nil, w.names[:1], w.names[1:2], w.names[:2]} {
		mustAdd(t, openWindow(t, client, c), hs[:100]...)
		client.Del(ctx, append(gone, "nothing")...)
		require.NoError(t, DeleteWindow(ctx, client, "w"))
		assert.Empty(t, dump(client))
	}
	require.NoError(t, DeleteWindow(ctx, client, "w"))
}

// A string expires a second after its last key is forgotten at the latest. Nothing is ever
// without expiry, and opening and looking up write nothing.
func TestWindowExpires(t *testing.T) {
	client := startServer(t).client()
	set := setClock(t, client)
	for _, generations := range []int{1, 7, 15} {
		require.NoError(t, client.FlushAll(ctx).Err())
		set(1_700_000_000 * time.Second)
		w := openWindow(t, client, WindowConfig{N: 100, P: 0.01, Span: 1000*time.Hour + time.Nanosecond, Generations: generations})
		_, err := w.ContainsString(ctx, "a")
		require.NoError(t, err)
		assert.EqualValues(t, 1, client.DBSize(ctx).Val(), "the clock")
		for _, right := range []string{"pexpire", "setrange"} {
			require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "-"+right).Err())
			_, err = w.AddString(ctx, "a")
			require.Error(t, err)
			require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "+"+right).Err())
			assert.EqualValues(t, 1, client.DBSize(ctx).Val(), "without the right to "+right)
		}
		for i := range 3 {
			began := time.Now()
			require.NoError(t, client.Persist(ctx, "w").Err())
			mustAdd(t, w, bloom.SumUint64(uint64(i)))
			want := w.config.Span + 2*w.config.Span/time.Duration(generations) + time.Second
			assert.InDelta(t, want, client.PTTL(ctx, "w").Val(), float64(time.Second+time.Since(began)))
			set(1_700_000_000*time.Second + time.Duration(i)*500*time.Hour)
		}
	}
}

// Where maxmemory refuses writes, no window begins, and none changes.
func TestWindowWithoutMemory(t *testing.T) {
	client := startServer(t).client()
	set := setClock(t, client)
	set(1000 * time.Hour)
	c := WindowConfig{N: 100_000, P: 0.01, Span: time.Hour}
	old, err := OpenWindow(ctx, client, "old", c)
	require.NoError(t, err)
	mustAdd(t, old, bloom.SumString("a"))
	set(1000*time.Hour + 20*time.Minute)
	before := dump(client)
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	for _, w := range []*Window{old, openWindow(t, client, c)} {
		_, err = w.AddString(ctx, "b")
		require.ErrorContains(t, err, "OOM ")
		_, err = w.AddOnce(ctx, "token", bloom.SumString("b"))
		require.ErrorContains(t, err, "OOM ")
	}
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "0").Err())
	assert.Equal(t, before, dump(client))
	requireAdded(t, old, true, bloom.SumString("b"))
}

// A window that is gone after its time is no error. Within it is, also within a
// batch.
func TestWindowGoesInItsTime(t *testing.T) {
	admin := startServer(t).client()
	set := setClock(t, admin)
	c := WindowConfig{N: 1000, P: 1e-6, Span: time.Hour, Generations: 1}
	for _, after := range []time.Duration{time.Hour, 2*time.Hour + time.Second} {
		for _, anew := range []bool{false, true} {
			require.NoError(t, admin.FlushAll(ctx).Err())
			set(1000 * time.Hour)
			client := clientOf(t, admin.Options().Addr)
			w, other := openWindow(t, client, c), openWindow(t, admin, c)
			sent := 0
			client.AddHook(between(func() {
				switch sent++; sent {
				case 2: // a window appears
					mustAdd(t, other, bloom.SumString("a"))
				case 4: // it is gone, or another by now
					require.NoError(t, admin.FlushAll(ctx).Err())
					set(1000*time.Hour + after)
					if anew {
						mustAdd(t, openWindow(t, admin, c), bloom.SumString("a"))
					}
				}
			}))
			_, err := containsBatch(ctx, w, hashes(0, 4*chunk))
			if after < 2*time.Hour {
				assert.ErrorIs(t, err, ErrLost, "anew: %v", anew)
			} else {
				assert.NoError(t, err, "anew: %v", anew)
			}
		}
	}
}

// A Window that was lost says so once, and goes on by itself, once a second at most.
func TestWindowGoesOnAfterALoss(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	for name, call := range map[string]func(*Window) error{
		"Add":      func(w *Window) error { return firstError(w.AddString(ctx, "a")) },
		"AddOnce":  func(w *Window) error { return firstError(w.AddOnce(ctx, nonce(), hashes(0, 300)...)) },
		"Contains": func(w *Window) error { return firstError(w.ContainsString(ctx, "a")) },
		"Stats":    func(w *Window) error { return firstError(w.Stats(ctx)) },
		"Reach":    func(w *Window) error { return firstError(w.Reach(ctx)) },
		"Reset":    func(w *Window) error { return w.Reset(ctx) },
	} {
		set(1000 * time.Hour)
		require.NoError(t, client.FlushAll(ctx).Err())
		set(1000 * time.Hour)
		lost := 0
		c := WindowConfig{N: 1000, P: 1e-6, Span: time.Hour, OnLost: func(err error) {
			assert.ErrorIs(t, err, ErrLost)
			lost++
		}}
		w := openWindow(t, client, c)
		for i := range 3 {
			mustAdd(t, w, bloom.SumString("a"))
			require.NoError(t, client.Del(ctx, "w").Err())
			if i == 1 {
				mustAdd(t, openWindow(t, client, c), bloom.SumString("b"))
			}
			require.ErrorIs(t, call(w), ErrLost, name)
			if i > 0 { // too soon
				require.ErrorIs(t, call(w), ErrLost, name)
				require.Equal(t, i, lost)
				w.reopened = w.reopened.Add(-time.Second)
				require.ErrorIs(t, call(w), ErrLost, name)
			}
			require.Equal(t, i+1, lost, name)
			require.NoError(t, call(w), name)
		}
		// A clock that is ahead for a moment, so that Redis deletes the string, is a loss, not a Span of errors.
		mustAdd(t, w, bloom.SumString("a"))
		w.reopened = time.Time{}
		require.NoError(t, client.PExpire(ctx, "w", 0).Err())
		require.ErrorIs(t, call(w), ErrLost, name)
		require.NoError(t, call(w), name)
		require.Equal(t, 4, lost)
	}
}

// Replies may be read in another order than that in which the server ran the calls,
// before, while and after this Window is deleted.
func TestWindowDeletedBesideCalls(t *testing.T) {
	client := startServer(t).client()
	w := openWindow(t, client, WindowConfig{N: 1000, P: 1e-6, Span: time.Hour})
	for _, saw := range []sight{{"1", 7}, {"2", 6}} {
		w.see(0, saw, 0)
		require.Equal(t, sight{"1", 7}, w.seen[0])
	}
	w.see(0, sight{"2", 8}, 0)
	require.Equal(t, sight{"2", 8}, w.seen[0])
	require.NoError(t, w.Delete(ctx))

	// Each call begins before Delete, which runs before or after the server has run
	// the call, and ends after it.
	keys := uint64(0)
	calls := map[string]func(bloom.Hash) (bool, error){
		"Add":      func(h bloom.Hash) (bool, error) { return w.AddHash(ctx, h) },
		"Contains": func(h bloom.Hash) (bool, error) { return w.ContainsHash(ctx, h) },
		"AddOnce": func(h bloom.Hash) (bool, error) {
			added, err := w.AddOnce(ctx, nonce(), h)
			return err == nil && added[0], err
		},
	}
	for name, call := range calls {
		for _, first := range []bool{true, false} {
			mustAdd(t, w, bloom.SumString("a"))
			done := false
			client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) (err error) {
				mine := !done
				done = true
				if mine && first {
					assert.NoError(t, w.Delete(ctx))
				}
				err = send(ctx, cmds)
				if mine && !first {
					assert.NoError(t, w.Delete(ctx))
				}
				return err
			}))
			keys++
			got, err := call(bloom.SumUint64(keys))
			require.NoError(t, err, name)
			assert.Equal(t, name != "Contains", got, name)
			require.True(t, done)
			_, err = w.AddString(ctx, "later")
			require.NoError(t, err, name)
		}
	}
}

func TestWindowConfig(t *testing.T) {
	good := WindowConfig{N: 1000, P: 0.01, Span: time.Hour}
	for _, test := range []struct {
		change func(*WindowConfig)
		want   string
	}{
		{func(c *WindowConfig) { c.N = 0 }, "bloomredis: N = 0 is not at least 1"},
		{func(c *WindowConfig) { c.N = math.MaxUint64 }, "bloomredis: N = 18446744073709551615, P = 0.01 need "},
		{func(c *WindowConfig) { c.P = 0 }, "bloomredis: P = 0 is outside"},
		{func(c *WindowConfig) { c.P = 1 }, "bloomredis: P = 1 is outside"},
		{func(c *WindowConfig) { c.P = math.NaN() }, "bloomredis: P = NaN is outside"},
		{func(c *WindowConfig) { c.Span = -1 }, "bloomredis: Span = -1ns is too short"},
		{func(c *WindowConfig) { c.Span = 7*time.Millisecond - 1 }, "is too short for 7 generations of a millisecond"},
		{func(c *WindowConfig) { c.Generations = -1 }, "bloomredis: Generations = -1 is outside [0, 15]"},
		{func(c *WindowConfig) { c.Generations = 16 }, "bloomredis: Generations = 16 is outside [0, 15]"},
	} {
		c := good
		test.change(&c)
		_, err := OpenWindow(ctx, nil, "w", c)
		require.ErrorContains(t, err, test.want)
		size, err := c.SizeBytes()
		require.ErrorContains(t, err, test.want)
		require.Zero(t, size)
	}
	for _, c := range []WindowConfig{{N: 1, P: 1e-300, Span: time.Hour, Generations: 1}, {N: 1, P: 0.999, Span: time.Hour, Renew: true}, {N: 1e9, P: 1e-9, Span: math.MaxInt64, Generations: 15}} {
		size, err := c.SizeBytes()
		require.NoError(t, err)
		l, _ := c.withDefaults().layout()
		assert.LessOrEqual(t, l.size(), int64(maxString+maxString/50))
		assert.GreaterOrEqual(t, size, int64(l.strings)*l.size())
	}
	_, err := OpenWindow(ctx, nil, "a}b", good)
	require.ErrorContains(t, err, "it has a closing brace but no hash tag")
}

// A Window takes at most 1.2 times the memory of a window.Filter.
func TestWindowSize(t *testing.T) {
	for p := 1e-2; p > 0.9e-9; p /= 10 {
		for _, n := range []uint64{1000, 3000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000} {
			for _, renew := range []bool{false, true} {
				size, err := WindowConfig{N: n, P: p, Span: time.Hour, Renew: renew}.SizeBytes()
				require.NoError(t, err)
				f := bloom.Must(window.New(window.Config{N: n, P: p, Span: time.Hour, Renew: renew}))
				require.LessOrEqual(t, float64(size), 1.2*float64(f.SizeBytes()), "N = %d, P = %v, Renew = %v", n, p, renew)
			}
		}
	}
}

// A plane with its share of keys keeps its part of P, and does not waste memory.
func TestWindowRate(t *testing.T) {
	for _, c := range []WindowConfig{
		{N: 1, P: 0.01}, {N: 100, P: 0.01}, {N: 100, P: 0.3, Generations: 15}, {N: 1000, P: 0.01}, {N: 1000, P: 1e-3, Renew: true},
		{N: 10_000, P: 1e-4}, {N: 300_000, P: 0.01}, {N: 1_000_000, P: 1e-3},
	} {
		l, err := c.withDefaults().layout()
		require.NoError(t, err)
		n := int(l.share)
		rng := rand.New(rand.NewPCG(c.N, 0))
		random := func() []any { return l.appendKey(nil, bloom.NewHash(rng.Uint64(), rng.Uint64())) }
		var sum, squares float64
		times := float64(max(4, min(3000, 200_000/n))) // planes: rates differ between small ones
		for range int(times) {
			plane := make(map[any]bool)
			for range n {
				for _, lane := range random()[1:] {
					plane[lane] = true
				}
			}
			ones := make(map[any]float64) // by page
			for lane := range plane {
				ones[lane.(uint64)/8/l.pageSize()]++
			}
			rate := 0.0
			for _, ones := range ones {
				rate += math.Pow(ones/float64(l.lanes), float64(l.k)) / float64(l.pages)
			}
			sum += rate
			squares += rate * rate
		}
		mean := sum / times
		sigma := math.Sqrt(max(0, squares/times-mean*mean) / times)
		q := c.P / planes
		assert.LessOrEqual(t, mean, q+4*sigma, "%+v", c)
		if n >= 100 {
			assert.GreaterOrEqual(t, mean, 0.85*q-4*sigma, "%+v", c)
		}
	}
}

// Stats says how many keys there are, and the rate that random keys find.
func TestWindowStats(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	for _, c := range []WindowConfig{
		{N: 1000, P: 0.1, Span: 7 * time.Hour},
		{N: 20_000, P: 0.1, Span: 7 * time.Hour},
	} {
		now := 1000 * time.Hour
		set(now)
		require.NoError(t, DeleteWindow(ctx, client, "w"))
		w := openWindow(t, client, c)
		stats := func(keys uint64) bloom.Stats {
			t.Helper()
			s, err := w.Stats(ctx)
			require.NoError(t, err)
			size, err := c.SizeBytes()
			require.NoError(t, err)
			require.Equal(t, size, s.SizeBytes)
			require.EqualValues(t, w.k, s.K)
			require.EqualValues(t, 32*w.lanes*w.pages, s.M)
			require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
			require.Equal(t, keys, s.ApproxCount)
			return s
		}
		stats(0)
		added := uint64(0)
		for i := range uint64(8) {
			answers, err := addBatch(ctx, w, hashes(i*c.N/8, (i+1)*c.N/8))
			require.NoError(t, err)
			for _, isNew := range answers {
				if isNew {
					added++
				}
			}
			stats(added)
			now += 30 * time.Minute
			set(now)
		}
		s := stats(added)
		const asked = 20_000
		found, err := containsBatch(ctx, w, hashes(1<<40, 1<<40+asked))
		require.NoError(t, err)
		rate := 0.0
		for _, found := range found {
			if found {
				rate += 1.0 / asked
			}
		}
		assert.InDelta(t, rate, s.FPR, 0.1*rate+4*math.Sqrt(rate/asked), c)
		ones := 0
		for _, bit := range []byte(client.GetRange(ctx, "w", w.headSize, -1).Val()) {
			for ; bit > 0; bit &= bit - 1 {
				ones++
			}
		}
		assert.InEpsilon(t, ones, s.OnesCount, 0.03)
		now += 8 * time.Hour
		set(now)
		stats(0)
	}
}
