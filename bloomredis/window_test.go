package bloomredis

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

func openWindow(t testing.TB, client redis.UniversalClient, c WindowConfig) *Window {
	t.Helper()
	w, err := OpenWindow(ctx, client, "w", c)
	require.NoError(t, err)
	return w
}

// now returns the server's time.
func now(t testing.TB, client *redis.Client) time.Time {
	t.Helper()
	now, err := client.Time(ctx).Result()
	require.NoError(t, err)
	return now
}

// A window's answers beside the times, by the server's clock, between which each
// key was added last. Where these decide, the answer must be right. On a busy machine
// they decide only where the span is long enough.
func TestWindowRemembersAndForgets(t *testing.T) {
	client := startServer(t).client()
	for _, generations := range []int{1, 4} {
		span := 120 * time.Millisecond
		for !remembersAndForgets(t, client, generations, span) {
			span *= 4
			require.Less(t, span, 10*time.Second)
		}
	}
}

// remembersAndForgets reports whether the times decided often enough.
func remembersAndForgets(t *testing.T, client *redis.Client, generations int, span time.Duration) bool {
	length := span / time.Duration(generations)
	require.NoError(t, client.FlushAll(ctx).Err())
	c := WindowConfig{Capacity: 100, FPR: 1e-9, Span: span, Generations: generations}
	ws := []*Window{openWindow(t, client, c), openWindow(t, client, c)}
	type between struct{ first, from, to time.Time } // first: since when it was never forgotten
	added := make(map[uint64]between)
	rng := rand.New(rand.NewPCG(uint64(generations), 0))
	remembered, renewed, forgotten := 0, 0, 0
	for stop := time.Now().Add(10*time.Second + 20*span); remembered < 100 || renewed < 10 || forgotten < 10; {
		if time.Now().After(stop) {
			t.Logf("span %v: %d remembered, %d renewed, %d forgotten", span, remembered, renewed, forgotten)
			return false
		}
		key := rng.Uint64N(20)
		w := ws[rng.IntN(2)]
		from := now(t, client)
		add := rng.IntN(4) == 0
		var seen bool
		var err error
		if add {
			seen, err = w.AddHash(ctx, bloom.SumUint64(key))
			seen = !seen
		} else {
			seen, err = w.ContainsHash(ctx, bloom.SumUint64(key))
		}
		require.NoError(t, err)
		to := now(t, client)
		last, ok := added[key]
		switch {
		case !ok || from.Sub(last.to) >= span+length+time.Millisecond:
			require.False(t, seen, "%d generations: not forgotten after %v", generations, from.Sub(last.to))
			if ok && to.Sub(last.from) < span+2*length { // and a generation later it would have been
				forgotten++
			}
		case to.Sub(last.from) < span:
			require.True(t, seen, "%d generations: not remembered after %v", generations, to.Sub(last.from))
			remembered++
			if from.Sub(last.first) >= span+length+time.Millisecond {
				renewed++
			}
		}
		if add {
			if !seen {
				last.first = to
			}
			added[key] = between{last.first, from, to}
		} else if rng.IntN(100) == 0 {
			time.Sleep(time.Duration(rng.Int64N(int64(span))))
		} else if rng.IntN(100) == 0 {
			time.Sleep(span + length + time.Millisecond)
		}
	}
	return true
}

// ttls returns how long each key of the server has, all at one moment.
func ttls(t *testing.T, client *redis.Client) (left []time.Duration) {
	t.Helper()
	const script = `
		local ttls = {}
		for i, key in ipairs(redis.call("KEYS", "*")) do
			ttls[i] = redis.call("PTTL", key)
		end
		return ttls`
	ms, err := client.Eval(ctx, script, nil).Int64Slice()
	require.NoError(t, err)
	for _, ms := range ms {
		left = append(left, time.Duration(ms)*time.Millisecond)
	}
	return left
}

// Idle, a window leaves nothing behind; all of it has an expiry from the start.
func TestWindowExpires(t *testing.T) {
	client := startServer(t).client()
	c := WindowConfig{Capacity: 100, FPR: 0.01, Span: time.Second, Generations: 4}
	w := openWindow(t, client, c)
	assert.Empty(t, dump(client), "opening writes")
	_, err := w.ContainsString(ctx, "a")
	require.NoError(t, err)
	assert.Empty(t, dump(client), "looking up writes")
	for _, right := range []string{"pexpire", "setrange", "set"} {
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "-"+right).Err())
		_, err = w.AddString(ctx, "a")
		require.Error(t, err)
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "+"+right).Err())
		for _, ttl := range ttls(t, client) {
			assert.Positive(t, ttl, "without the right to "+right)
		}
	}
	_, err = w.AddString(ctx, "a")
	require.NoError(t, err)
	left := ttls(t, client)
	require.GreaterOrEqual(t, len(left), 2) // more if a generation ended meanwhile
	for _, ttl := range left {
		assert.Positive(t, ttl)
		assert.LessOrEqual(t, ttl, c.Span+c.Span/4+time.Second)
	}
	assert.Eventually(t, func() bool { return client.DBSize(ctx).Val() == 0 }, time.Minute, 20*time.Millisecond)
	added, err := w.AddString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, added)
}

// Generations last a Span together, however it divides, and no more than a
// microsecond each longer. What Redis has of them is there a second longer.
func TestWindowLasts(t *testing.T) {
	client := startServer(t).client()
	for _, generations := range []int64{1, 7, 63} {
		require.NoError(t, client.FlushAll(ctx).Err())
		span := time.Hour + time.Nanosecond
		w := openWindow(t, client, WindowConfig{Capacity: 100, FPR: 0.01, Span: span, Generations: int(generations)})
		lasts := time.Duration(generations*w.length) * time.Microsecond
		assert.GreaterOrEqual(t, lasts, span)
		assert.LessOrEqual(t, lasts, span+time.Duration(generations)*time.Microsecond)

		_, err := w.AddString(ctx, "a")
		require.NoError(t, err)
		const script = `
			local at = {}
			local time = redis.call("TIME")
			for i, key in ipairs(redis.call("KEYS", "*")) do
				at[i] = time[1] * 1000 + math.floor(time[2] / 1000) + redis.call("PTTL", key)
			end
			return at`
		at, err := client.Eval(ctx, script, nil).Int64Slice()
		require.NoError(t, err)
		last := (w.seen.newest + generations + 1) * w.length / 1000
		for _, at := range at {
			assert.InDelta(t, last+1000, at, 500) // milliseconds; a second late
		}
	}
}

// Calls may return in another order than that in which the server ran them.
func TestWindowSees(t *testing.T) {
	w := new(Window)
	for _, saw := range []sight{{"1", 7}, {"2", 6}, {"", 8}} {
		w.see(saw)
		assert.Equal(t, sight{"1", 7}, w.seen)
	}
	w.see(sight{"2", 8})
	assert.Equal(t, sight{"2", 8}, w.seen)
}

// Each string is a filter of Guava's.
func TestWindowIsGuavas(t *testing.T) {
	client := startServer(t).client()
	w := openWindow(t, client, WindowConfig{Capacity: 1000, FPR: 0.01, Span: 10_000 * time.Hour})
	want := bloom.Must(bloom.NewSize(64*uint64(w.params.Words), w.params.K))
	for _, h := range hashes(0, 100) {
		want.AddHash(h)
	}
	added, err := w.AddBatch(ctx, append(hashes(0, 100), hashes(50, 100)...))
	require.NoError(t, err)
	for i, new := range added {
		assert.Equal(t, i < 100, new, i)
	}
	for _, key := range client.Keys(ctx, w.strings+":*").Val() {
		got := new(bloom.Filter)
		require.NoError(t, got.UnmarshalBinary([]byte(client.Get(ctx, key).Val())))
		assert.True(t, got.Equal(want))
	}
	_, err = w.AddBatch(ctx, hashes(1000, 1500)) // too many, so that others are found, too
	require.NoError(t, err)
	want.AddBatch(nil, hashes(1000, 1500))
	found, err := w.ContainsBatch(ctx, hashes(0, 3000))
	require.NoError(t, err)
	assert.Equal(t, want.ContainsBatch(nil, hashes(0, 3000)), found)
	assert.Equal(t, WindowConfig{1000, 0.01, 10_000 * time.Hour, 7}, w.Config())
}

// Of all clients that add a key at once exactly one hears that it is new, also
// where generations change meanwhile.
func TestWindowOneHearsNew(t *testing.T) {
	s := startServer(t)
	c := WindowConfig{Capacity: 1_000_000, FPR: 1e-9, Span: time.Minute, Generations: 63}
	const clients, keys = 8, 600
	var heard [keys]atomic.Int32
	var wg sync.WaitGroup
	for i := range uint64(clients) {
		w := openWindow(t, s.client(), c)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for next := 0; next < keys; {
				part := hashes(uint64(next), uint64(min(keys, next+1+int(i))))
				added, err := w.AddBatch(ctx, part)
				if err != nil {
					t.Error(err)
					return
				}
				for j, new := range added {
					if new {
						heard[next+j].Add(1)
					}
				}
				next += len(part)
			}
		}()
	}
	wg.Wait()
	for i := range heard {
		require.EqualValues(t, 1, heard[i].Load(), i)
	}
}

// Connections are cut and the server is killed while clients add. Whatever was
// acknowledged is found, and nobody hears twice that a key is new.
func TestWindowSurvives(t *testing.T) {
	s := startServer(t)
	p := startProxy(t, s.addr)
	c := WindowConfig{Capacity: 100_000, FPR: 1e-9, Span: 10 * time.Minute, Generations: 7}
	var done acked
	var heard sync.Map
	var wg sync.WaitGroup
	var failed atomic.Int64
	run, stop := context.WithCancel(ctx)
	for i := range uint64(4) {
		w := openWindow(t, clientOf(t, p.addr()), c)
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(i, 0))
			for run.Err() == nil {
				from := rng.Uint64N(20_000)
				hs := hashes(from, from+1+rng.Uint64N(10))
				added, err := w.AddBatch(ctx, hs)
				if err != nil {
					failed.Add(1)
					continue
				}
				done.add(hs)
				for j, new := range added {
					if !new {
						continue
					}
					if _, twice := heard.LoadOrStore(from+uint64(j), true); twice {
						t.Errorf("key %d was new twice", from+uint64(j))
					}
				}
			}
		}()
	}
	more := func() { // some are acknowledged after every break
		for before, stop := len(done.all()), time.Now().Add(time.Minute); len(done.all()) < before+20; {
			require.True(t, time.Now().Before(stop), "no batch comes through")
			time.Sleep(time.Millisecond)
		}
	}
	for range 2 {
		for range 5 {
			more()
			p.cut()
		}
		s.kill()
		require.NoError(t, s.start())
	}
	more()
	stop()
	wg.Wait()
	assert.NotZero(t, failed.Load())
	require.NotEmpty(t, done.all())
	found, err := openWindow(t, s.client(), c).ContainsBatch(ctx, done.all())
	require.NoError(t, err)
	assert.NotContains(t, found, false)
}

// What a client sends does not depend on its clock.
func TestWindowAsksTheServersClock(t *testing.T) {
	client := startServer(t).client()
	w := openWindow(t, client, WindowConfig{Capacity: 100, FPR: 0.01, Span: time.Hour, Generations: 1})
	_, err := w.AddString(ctx, "a") // from now on it knows the window
	require.NoError(t, err)
	var sent [][]any
	client.AddHook(afterwards(func(args []any) {
		args[len(args)-w.params.K-2] = "the id that a window would be given" // random
		sent = append(sent, args)
	}))
	for range 3 {
		_, err := w.AddString(ctx, "a")
		require.NoError(t, err)
		time.Sleep(5 * time.Millisecond)
	}
	require.Len(t, sent, 3)
	assert.Equal(t, sent[0], sent[1])
	assert.Equal(t, sent[0], sent[2])
}

// A server whose clock steps back, as after a failover, goes on with the newest
// generation that it has, until its clock has caught up.
func TestWindowClockStepsBack(t *testing.T) {
	client := startServer(t).client()
	c := WindowConfig{Capacity: 100, FPR: 1e-9, Span: time.Hour, Generations: 4}
	w := openWindow(t, client, c)
	_, err := w.AddString(ctx, "a")
	require.NoError(t, err)
	// That the clock was three generations ahead until now looks like this.
	about := client.Get(ctx, "w").Val()
	list := about[strings.LastIndex(about, ";")+1:]
	ahead := strings.Fields(client.Eval(ctx, "return string.format('%.0f', ARGV[1] + 3)", nil, list).Val().(string))[0]
	require.NoError(t, client.Rename(ctx, w.strings+":"+list, w.strings+":"+ahead).Err())
	require.NoError(t, client.Set(ctx, "w", strings.TrimSuffix(about, list)+ahead, redis.KeepTTL).Err())

	for _, w := range []*Window{w, openWindow(t, client, c)} {
		found, err := w.ContainsString(ctx, "a")
		require.NoError(t, err)
		assert.True(t, found)
		added, err := w.AddString(ctx, "a")
		require.NoError(t, err)
		assert.False(t, added)
		_, err = w.AddString(ctx, "b")
		require.NoError(t, err)
	}
	assert.Len(t, dump(client), 2)
}

// A window that is gone, in part or as a whole, within the time for which it has
// keys, is an error to who knew it.
func TestWindowLost(t *testing.T) {
	s := startServer(t, "--appendonly", "no")
	client := s.client()
	c := WindowConfig{Capacity: 1000, FPR: 0.01, Span: time.Hour, Generations: 4}
	part := func() string { return client.Keys(ctx, "window:*").Val()[0] }
	for name, lose := range map[string]func(){
		"deleted":       func() { client.FlushAll(ctx) },
		"part deleted":  func() { client.Del(ctx, part()) },
		"part cut":      func() { client.Set(ctx, part(), client.GetRange(ctx, part(), 0, 99).Val(), time.Hour) },
		"list deleted":  func() { client.Del(ctx, "w") },
		"list instead":  func() { client.Del(ctx, "w"); client.RPush(ctx, "w", "x") },
		"server killed": func() { s.kill(); require.NoError(t, s.start()) },
		"created anew": func() {
			client.FlushAll(ctx)
			_, err := openWindow(t, client, c).AddString(ctx, "b")
			require.NoError(t, err)
		},
		"deleted by another": func() {
			other := openWindow(t, client, c)
			require.NoError(t, other.Delete(ctx))
			assert.Empty(t, dump(client))
			_, err := other.AddString(ctx, "b")
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			w := openWindow(t, client, c)
			_, err := w.AddString(ctx, "a")
			require.NoError(t, err)
			lose()
			before := dump(client)
			_, err = w.AddString(ctx, "a")
			assert.ErrorIs(t, err, ErrLost)
			_, err = w.ContainsString(ctx, "a")
			assert.ErrorIs(t, err, ErrLost)
			assert.Equal(t, before, dump(client))
			if name == "list deleted" { // who did not know the window starts with nothing
				added, err := openWindow(t, client, c).AddString(ctx, "a")
				require.NoError(t, err)
				assert.True(t, added)
			}
		})
	}
}

func TestWindowFindsSomethingElse(t *testing.T) {
	client := startServer(t).client()
	c := WindowConfig{Capacity: 1000, FPR: 0.01, Span: time.Hour, Generations: 4}
	_, err := openWindow(t, client, c).AddString(ctx, "a")
	require.NoError(t, err)
	before := dump(client)
	for _, other := range []WindowConfig{
		{Capacity: 2000, FPR: 0.01, Span: time.Hour, Generations: 4},
		{Capacity: 1000, FPR: 0.001, Span: time.Hour, Generations: 4},
		{Capacity: 1000, FPR: 0.01, Span: time.Minute, Generations: 4},
		{Capacity: 2000, FPR: 0.01, Span: 2 * time.Hour, Generations: 8},
	} {
		_, err := OpenWindow(ctx, client, "w", other)
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, `bloomredis: key "w"`)
		require.ErrorContains(t, err, "it holds a window of 4 generations of 900000000 us, m = ")
	}
	_, err = Open(ctx, client, "w", 1000, 0.01)
	require.ErrorIs(t, err, bloom.ErrFormat)
	w := openWindow(t, startServer(t).client(), WindowConfig{Capacity: 2000, FPR: 0.01, Span: time.Hour, Generations: 4})
	w.client = client // where another has come up meanwhile
	require.ErrorIs(t, w.Delete(ctx), bloom.ErrMismatch)
	_, err = w.AddString(ctx, "a")
	require.ErrorIs(t, err, bloom.ErrMismatch)
	assert.Equal(t, before, dump(client))

	_, err = Open(ctx, client, "f", 1000, 0.01)
	require.NoError(t, err)
	_, err = OpenWindow(ctx, client, "f", c)
	require.ErrorIs(t, err, bloom.ErrFormat)
	require.ErrorContains(t, err, "it holds no window but 01 07 00")
	require.NoError(t, client.RPush(ctx, "l", "x").Err())
	_, err = OpenWindow(ctx, client, "l", c)
	require.ErrorIs(t, err, bloom.ErrFormat)
	require.NotErrorIs(t, err, ErrLost)
}

func TestOpenWindowParameters(t *testing.T) {
	for _, test := range []struct {
		c    WindowConfig
		want string
	}{
		{WindowConfig{0, 0.01, time.Hour, 4}, "bloomredis: Capacity = 0 is not at least 1"},
		{WindowConfig{100, 0, time.Hour, 4}, "bloomredis: FPR = 0 is outside (0, 1)"},
		{WindowConfig{100, 1, time.Hour, 4}, "bloomredis: FPR = 1 is outside (0, 1)"},
		{WindowConfig{100, 0.01, time.Hour, -1}, "bloomredis: Generations = -1 is outside [0, 63]"},
		{WindowConfig{100, 0.01, time.Hour, 64}, "bloomredis: Generations = 64 is outside [0, 63]"},
		{WindowConfig{100, 0.01, 4*time.Millisecond - 1, 4}, "bloomredis: Span = 3.999999ms is too short for 4 generations"},
		{WindowConfig{100, 0.01, -time.Hour, 4}, "bloomredis: Span = -1h0m0s is too short"},
		{WindowConfig{1 << 40, 0.01, time.Hour, 4}, "bloomredis: Capacity = 1099511627776, FPR = 0.01 need a generation of more than"},
		{WindowConfig{1, 1e-200, time.Hour, 4}, "bloomredis: Capacity = 1, FPR = 1e-200 need a generation of more than"},
	} {
		_, err := OpenWindow(ctx, nil, "w", test.c)
		require.ErrorContains(t, err, test.want)
		_, err = test.c.SizeBytes()
		require.ErrorContains(t, err, test.want)
	}
	_, err := OpenWindow(ctx, nil, "a}b", WindowConfig{100, 0.01, time.Hour, 4})
	require.ErrorContains(t, err, "has a closing brace")
}

// SizeBytes counts what Redis holds of each generation. It holds the figures that the
// comment of FPR has.
func TestWindowSize(t *testing.T) {
	client := startServer(t).client()
	c := WindowConfig{Capacity: 1000, FPR: 0.01, Span: time.Hour}
	w := openWindow(t, client, c)
	_, err := w.AddString(ctx, "a")
	require.NoError(t, err)
	names, err := client.Keys(ctx, w.strings+":*").Result()
	require.NoError(t, err)
	require.Len(t, names, 1)
	length, err := client.StrLen(ctx, names[0]).Result()
	require.NoError(t, err)
	size, err := c.SizeBytes()
	require.NoError(t, err)
	require.Equal(t, (defaultGenerations+1)*length, size)

	// What does not divide evenly is rounded up.
	var sizes []int64
	for _, capacity := range []uint64{63, 64, 126} {
		size, err := WindowConfig{Capacity: capacity, FPR: 0.01, Span: time.Hour, Generations: 63}.SizeBytes()
		require.NoError(t, err)
		sizes = append(sizes, size)
	}
	require.Less(t, sizes[0], sizes[1])
	require.Equal(t, sizes[1], sizes[2])

	for p, bits := range map[float64]float64{1e-2: 16, 1e-6: 40, 1e-9: 600} {
		size, err := WindowConfig{Capacity: 1e6, FPR: p, Span: time.Hour}.SizeBytes()
		require.NoError(t, err)
		require.InEpsilon(t, bits, 8*float64(size)/1e6, 0.07)
	}
}

// All live generations together keep the rate, also where each has few keys and
// double hashing costs more than theory says. Where they have many, the rate is
// not kept by wasting memory.
func TestWindowRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	random := func() bloom.Hash { return bloom.NewHash(rng.Uint64(), rng.Uint64()) }
	for _, c := range []WindowConfig{
		{1, 0.01, time.Hour, 1},
		{10, 0.01, time.Hour, 1},
		{14, 0.001, time.Hour, 7},
		{126, 0.001, time.Hour, 63},
		{630, 0.001, time.Hour, 63},
		{70_000, 0.01, time.Hour, 7},
	} {
		params, err := c.params()
		require.NoError(t, err)
		keys := int(c.Capacity) / c.Generations
		sets := max(8, 2000/keys/c.Generations) // of keys: rates differ between small ones
		probes := float64(min(2000*keys, 20_000))
		var sum, squares float64
		for range sets {
			var live []*bloom.Filter
			for range c.Generations + 1 {
				f := bloom.Must(bloom.NewSize(64*uint64(params.Words), params.K))
				for range keys {
					f.AddHash(random())
				}
				live = append(live, f)
			}
			found := 0.0
			for range int(probes) {
				h := random()
				for _, f := range live {
					if f.ContainsHash(h) {
						found++
						break
					}
				}
			}
			sum += found / probes
			squares += found / probes * found / probes
		}
		n := float64(sets)
		rate := sum / n
		sigma := math.Sqrt((squares/n - rate*rate) / n)
		t.Logf("%+v: rate %.3g of %.3g, %d sets, %d bits, k = %d", c, rate, c.FPR, sets, 64*params.Words, params.K)
		assert.LessOrEqual(t, rate, c.FPR+4*sigma, "%+v", c)
		if keys >= 10_000 {
			assert.GreaterOrEqual(t, rate, c.FPR*0.9-4*sigma, "%+v", c)
		}
	}
}
