package bloomredis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
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
	for _, s := range []*script{&windowAddScript, &windowContainsScript, &windowStatsScript} {
		before := *s
		t.Cleanup(func() { *s = before })
		source := strings.Replace(s.source, "redis.call('TIME')", "redis.call('LRANGE', 'clock', 0, 1)", 1)
		require.NotEqual(t, s.source, source)
		*s = script{source, newScript(source).sha, s.repeats}
	}
	return func(at time.Duration) {
		require.NoError(t, client.Del(ctx, "clock").Err())
		require.NoError(t, client.RPush(ctx, "clock", int64(at/time.Second), (at%time.Second).Microseconds()).Err())
	}
}

// model is a window that keeps the bits of all its generations apart.
type model struct {
	w      *Window
	newest int64 // generation
	bits   map[string]bool
}

// find returns the newest live generation of a key, or -1, the current one, and the
// names of the key's bits.
func (m *model) find(h bloom.Hash, now time.Duration) (generation, current int64, names []string) {
	current = max(m.newest, now.Microseconds()/m.w.length)
	m.w.each(m.w.appendKey(nil, h), func(cell, position int) bool {
		names = append(names, fmt.Sprint(m.w.find(h), cell, position))
		return true
	})
	for g := current; g >= current-int64(m.w.config.Generations); g-- {
		all := true
		for _, name := range names {
			all = all && m.bits[fmt.Sprint(g, " ", name)]
		}
		if all {
			return g, current, names
		}
	}
	return -1, current, names
}

func (m *model) add(h bloom.Hash, now time.Duration) bool {
	g, current, names := m.find(h, now)
	m.newest = current
	if g != current {
		for _, name := range names {
			m.bits[fmt.Sprint(current, " ", name)] = true
		}
	}
	return g < 0
}

// A window's answers are those of the model, false positives included, while time
// passes, leaps and steps back, for more keys than it is made for.
func TestWindowRemembersAndForgets(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	for _, c := range []WindowConfig{
		{Capacity: 20, FPR: 0.2, Span: time.Hour, Generations: 1},
		{Capacity: 40, FPR: 0.2, Span: time.Hour, Generations: 4},
		{Capacity: 15 * 300, FPR: 0.01, Span: time.Hour + time.Nanosecond}, // several cells
		{Capacity: 630, FPR: 0.01, Span: 63 * time.Hour, Generations: 63},
	} {
		t.Run(c.text(), func(t *testing.T) {
			now := 1_700_000_000 * time.Second
			set(now)
			require.NoError(t, DeleteWindow(ctx, client, "w"))
			ws := []*Window{openWindow(t, client, c), openWindow(t, client, c)}
			m := &model{ws[0], 0, make(map[string]bool)}
			length := time.Duration(ws[0].length) * time.Microsecond
			rng := rand.New(rand.NewPCG(c.Capacity, 0))
			kinds := make(map[string]int)
			for step := range 600 {
				switch rng.IntN(20) {
				case 0:
					now += time.Duration(rng.Int64N(int64(3 * c.Span)))
				case 1:
					now -= time.Duration(rng.Int64N(int64(c.Span)))
				default:
					now += time.Duration(rng.Int64N(int64(length / 4)))
				}
				now = now.Truncate(time.Microsecond)
				set(now)
				w := ws[rng.IntN(2)]
				var hs []bloom.Hash
				for range 1 + rng.IntN(5) {
					hs = append(hs, bloom.SumUint64(rng.Uint64N(min(2*c.Capacity, 100))))
				}
				var want []bool
				if rng.IntN(3) == 0 {
					for _, h := range hs {
						g, _, _ := m.find(h, now)
						want = append(want, g >= 0)
						kinds[fmt.Sprint(g >= 0)]++
					}
					got, err := containsBatch(ctx, w, hs)
					require.NoError(t, err)
					require.Equal(t, want, got, "step %d", step)
					continue
				}
				for _, h := range hs {
					want = append(want, m.add(h, now))
				}
				got, err := addBatch(ctx, w, hs)
				require.NoError(t, err)
				require.Equal(t, want, got, "step %d", step)
			}
			assert.Greater(t, kinds["true"], 20)
			assert.Greater(t, kinds["false"], 20)
		})
	}
}

// A window of several strings is one, and all of it is deleted.
func TestWindowStrings(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	c := WindowConfig{Capacity: 40_000_000, FPR: 0.01, Span: time.Hour}
	w := openWindow(t, client, c)
	require.Len(t, w.names, 3)
	hs := hashes(0, windowTrip+100)
	for _, want := range []bool{true, false} {
		added, err := addBatch(ctx, w, hs)
		require.NoError(t, err)
		assert.NotContains(t, added, !want)
		assert.Len(t, added, len(hs))
	}
	requireFound(t, openWindow(t, client, c), true, hs...)
	asked := make(map[any]bool)
	counts := clientOf(t, client.Options().Addr)
	counts.AddHook(afterwards(func(args []any) { asked[args[3]] = true }))
	_, err := openWindow(t, counts, c).Stats(ctx)
	require.NoError(t, err)
	assert.Len(t, asked, 3, "the sample is of all strings")
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

// A string expires a second after its last key is forgotten, and lives on with
// each generation. Nothing is ever without expiry, and opening and looking up write
// nothing.
func TestWindowExpires(t *testing.T) {
	client := startServer(t).client()
	set := setClock(t, client)
	left := func() time.Duration { return client.PTTL(ctx, "w").Val() }
	for _, generations := range []int{1, 7, 63} {
		require.NoError(t, client.FlushAll(ctx).Err())
		now := 1_700_000_000 * time.Second
		set(now)
		w := openWindow(t, client, WindowConfig{Capacity: 100, FPR: 0.01, Span: 1000*time.Hour + time.Nanosecond, Generations: generations})
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
		length := time.Duration(w.length) * time.Microsecond
		lasts := time.Duration(generations) * length
		assert.GreaterOrEqual(t, lasts, w.config.Span)
		assert.LessOrEqual(t, lasts, w.config.Span+time.Duration(generations)*time.Microsecond)
		for range 3 {
			began := time.Now()
			mustAdd(t, w, bloom.SumString("a"))
			want, is := (now/length+1)*length+lasts-now+time.Second, left()
			assert.LessOrEqual(t, is, want+time.Millisecond)
			assert.GreaterOrEqual(t, is, want-time.Millisecond-time.Since(began))
			now += length
			set(now)
		}
	}
}

// Where maxmemory refuses writes, no window begins, and none grows.
func TestWindowWithoutMemory(t *testing.T) {
	client := startServer(t).client()
	set := setClock(t, client)
	set(1000 * time.Hour)
	old, err := OpenWindow(ctx, client, "old", WindowConfig{Capacity: 100_000, FPR: 0.01, Span: time.Hour})
	require.NoError(t, err)
	mustAdd(t, old, bloom.SumString("a"))
	set(1000*time.Hour + 5*time.Minute)
	before := dump(client)
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
	for _, w := range []*Window{old, openWindow(t, client, WindowConfig{Capacity: 100_000, FPR: 0.01, Span: time.Hour})} {
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
	c := WindowConfig{Capacity: 1000, FPR: 1e-6, Span: time.Hour, Generations: 1}
	for _, after := range []time.Duration{time.Hour, 2 * time.Hour} {
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
			if after < 2*time.Hour && !anew {
				_, err := w.AddString(ctx, "b")
				assert.ErrorIs(t, err, ErrLost)
				assert.EqualValues(t, 1, admin.DBSize(ctx).Val(), "the clock alone")
			}
			if after < 2*time.Hour {
				assert.ErrorIs(t, err, ErrLost, "anew: %v", anew)
			} else {
				assert.NoError(t, err, "anew: %v", anew)
			}
		}
	}
}

// Replies may be read in another order than that in which the server ran the calls,
// before, while and after this Window is deleted.
func TestWindowDeletedBesideCalls(t *testing.T) {
	client := startServer(t).client()
	w := openWindow(t, client, WindowConfig{Capacity: 1000, FPR: 1e-6, Span: time.Hour})
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
	require.NoError(t, client.FlushAll(ctx).Err())
	_, err := w.AddString(ctx, "a")
	require.ErrorIs(t, err, ErrLost, "what others delete is lost")
}

func TestWindowConfig(t *testing.T) {
	good := WindowConfig{Capacity: 1000, FPR: 0.01, Span: time.Hour}
	for _, test := range []struct {
		change func(*WindowConfig)
		want   string
	}{
		{func(c *WindowConfig) { c.Capacity = 0 }, "bloomredis: Capacity = 0 is not at least 1"},
		{func(c *WindowConfig) { c.Capacity = math.MaxUint64 }, "bloomredis: Capacity = 18446744073709551615, FPR = 0.01 need "},
		{func(c *WindowConfig) { c.FPR = 0 }, "bloomredis: FPR = 0 is outside"},
		{func(c *WindowConfig) { c.FPR = 1 }, "bloomredis: FPR = 1 is outside"},
		{func(c *WindowConfig) { c.FPR = math.NaN() }, "bloomredis: FPR = NaN is outside"},
		{func(c *WindowConfig) { c.Span = 0 }, "bloomredis: Span = 0s is too short"},
		{func(c *WindowConfig) { c.Span = 15*time.Millisecond - 1 }, "is too short for 15 generations of a millisecond"},
		{func(c *WindowConfig) { c.Generations = -1 }, "bloomredis: Generations = -1 is outside [0, 63]"},
		{func(c *WindowConfig) { c.Generations = 64 }, "bloomredis: Generations = 64 is outside [0, 63]"},
	} {
		c := good
		test.change(&c)
		_, err := OpenWindow(ctx, nil, "w", c)
		require.ErrorContains(t, err, test.want)
		size, err := c.SizeBytes()
		require.ErrorContains(t, err, test.want)
		require.Zero(t, size)
	}
	for _, c := range []WindowConfig{{1, 1e-300, time.Hour, 1}, {1, 0.999, time.Hour, 63}, {1e10, 1e-9, math.MaxInt64, 63}} {
		l, err := c.layout()
		require.NoError(t, err)
		assert.LessOrEqual(t, l.cells, uint64(math.MaxUint32))
		assert.LessOrEqual(t, 8*l.width, math.MaxUint16)
		assert.LessOrEqual(t, len(windowMagic+c.text()+"; 32768"), 160)
	}
	_, err := OpenWindow(ctx, nil, "a}b", good)
	require.ErrorContains(t, err, "it has a closing brace but no hash tag")
}

// A Window takes at most 1.2 times the memory of a window.Filter, whatever the
// configuration. Where a window.Filter has lanes with bits to spare, it takes less.
func TestWindowSize(t *testing.T) {
	most := 0.0
	for _, capacity := range []uint64{1000, 1500, 2200, 3300, 5000, 7000, 10_000, 15_000, 22_000, 50_000, 1_000_000} {
		for p := 1e-2; p > 0.9e-9; p /= 10 {
			for _, generations := range []int{1, 4, 7, 15, 31, 63} {
				c := WindowConfig{capacity, p, time.Hour, generations}
				size, err := c.SizeBytes()
				require.NoError(t, err)
				f, err := window.New(window.Config{Capacity: capacity, FPR: p, Span: c.Span, Generations: generations})
				require.NoError(t, err)
				ratio := float64(size) / float64(f.SizeBytes())
				require.LessOrEqual(t, ratio, 1.2, c)
				most = max(most, ratio)
			}
			// From a million on, both grow with the capacity alone.
			size, err := WindowConfig{1_000_000, p, time.Hour, 15}.SizeBytes()
			require.NoError(t, err)
			larger, err := WindowConfig{1_000_000_000, p, time.Hour, 15}.SizeBytes()
			require.NoError(t, err)
			require.InEpsilon(t, 1000*size, larger, 0.01)
		}
	}
	t.Logf("at most %.3f", most)
}

// Stats says how many keys there are, in a window of one cell, of some, and of more than
// Stats reads, and the rate that random keys find.
func TestWindowStats(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	set := setClock(t, client)
	for _, c := range []WindowConfig{
		{Capacity: 100, FPR: 0.05, Span: 4 * time.Hour, Generations: 4},
		{Capacity: 2000, FPR: 0.05, Span: 4 * time.Hour, Generations: 4},
		{Capacity: 400_000, FPR: 0.01, Span: 4 * time.Hour, Generations: 4},
	} {
		now := 1000 * time.Hour
		set(now)
		require.NoError(t, DeleteWindow(ctx, client, "w"))
		w := openWindow(t, client, c)
		stats := func() bloom.Stats {
			t.Helper()
			s, err := w.Stats(ctx)
			require.NoError(t, err)
			size, err := c.SizeBytes()
			require.NoError(t, err)
			require.Equal(t, size, s.SizeBytes)
			require.Equal(t, 2*w.half, s.K)
			require.Equal(t, 8*uint64(w.width*w.planes)*w.cells*w.strings, s.M)
			require.Equal(t, float64(s.OnesCount)/float64(s.M), s.FillRatio)
			return s
		}
		zero := bloom.Stats{M: stats().M, K: stats().K, SizeBytes: stats().SizeBytes}
		assert.Equal(t, zero, stats(), "before the first Add")
		n := c.Capacity / 4
		for i := range uint64(2) {
			mustAdd(t, w, hashes(i*n, (i+1)*n)...)
			now += time.Hour
			set(now)
		}
		s := stats()
		assert.InDelta(t, 2*n, s.ApproxCount, 0.05*float64(n)+3*math.Sqrt(float64(n)), c)
		found, err := containsBatch(ctx, w, hashes(1<<40, 1<<40+20_000))
		require.NoError(t, err)
		rate := 0.0
		for _, found := range found {
			if found {
				rate += 1 / 20_000.0
			}
		}
		assert.InDelta(t, rate, s.FPR, 0.35*rate, c) // sampling, and of one cell its fill
		assert.InDelta(t, 2*c.FPR/5, s.FPR, 0.5*c.FPR)

		now += 2 * time.Hour // the first generation is live for an hour more
		set(now)
		assert.InDelta(t, 2*n, stats().ApproxCount, 0.05*float64(n)+3*math.Sqrt(float64(n)), c)
		mustAdd(t, w, hashes(2*n, 3*n)...)
		now += time.Hour // the plane of this generation still has the first one's bits
		set(now)
		assert.InDelta(t, 2*n, stats().ApproxCount, 0.05*float64(n)+3*math.Sqrt(float64(n)), c)
		now += 3 * time.Hour
		set(now)
		assert.InDelta(t, n, stats().ApproxCount, 0.05*float64(n)+3*math.Sqrt(float64(n)), c)
		now += time.Hour
		set(now)
		assert.Equal(t, zero, stats(), "all are forgotten")
		_, err = w.AddHash(ctx, hashes(0, 1)[0]) // clears no more than a cell or two
		require.NoError(t, err)
		assert.LessOrEqual(t, stats().ApproxCount, uint64(400))
	}
}

// All live generations together keep the rate, and do not waste memory.
func TestWindowRate(t *testing.T) {
	for _, c := range []WindowConfig{
		{1, 0.01, time.Hour, 1},
		{10, 0.01, time.Hour, 1},
		{14, 0.001, time.Hour, 7},
		{630, 0.001, time.Hour, 63},
		{1000, 0.01, time.Hour, 15},
		{1000, 1e-9, time.Hour, 15},
		{10_000, 1e-4, time.Hour, 15},
		{10_000, 1e-9, time.Hour, 63},
		{300_000, 0.01, time.Hour, 15},
		{300_000, 1e-6, time.Hour, 7},
		{300_000, 1e-9, time.Hour, 15},
	} {
		l, err := c.layout()
		require.NoError(t, err)
		n := int(math.Ceil(float64(c.Capacity) / float64(c.Generations)))
		planes := max(4, min(20_000, 200_000/n)) // of a generation each: rates differ between small ones
		var sum, squares float64
		counted, trials, expected := 0.0, 0.0, 0.0
		rng := rand.New(rand.NewPCG(c.Capacity, uint64(c.Generations)))
		random := func() []byte { return l.appendKey(nil, bloom.NewHash(rng.Uint64(), rng.Uint64())) }
		for range planes {
			p := newBits(l)
			for range n {
				p.each(random(), func(cell, position int) bool { p.bits[cell][position] = true; return true })
			}
			rate := p.rate()
			sum += rate
			squares += rate * rate
			// The rate follows from the bits set only if positions are independent.
			for range min(2*n, 20_000) {
				trials++
				expected += rate
				if p.each(random(), func(cell, position int) bool { return p.bits[cell][position] }) {
					counted++
				}
			}
		}
		times := float64(planes)
		mean := sum / times
		sigma := math.Sqrt(max(0, squares/times-mean*mean) / times)
		live := float64(c.Generations + 1)
		t.Logf("%v: rate %.3g +- %.2g, counted %.0f, expected %.1f", c, live*mean, live*sigma, counted, expected)
		assert.LessOrEqual(t, live*mean, c.FPR+4*live*sigma, "%v", c)
		if n >= 1000 {
			assert.GreaterOrEqual(t, live*mean, 0.9*c.FPR-4*live*sigma, "%v", c)
		}
		assert.InDelta(t, expected, counted, 4.75*math.Sqrt(expected)+5, "%v", c)
	}
}

// generationBits is the bits of one generation of a window, in all cells of its first string.
type generationBits struct {
	layout
	bits [][]bool
}

func newBits(l layout) *generationBits {
	p := &generationBits{layout: l, bits: make([][]bool, l.cells)}
	for i := range p.bits {
		p.bits[i] = make([]bool, 8*l.width)
	}
	return p
}

// each calls do with the positions of a key until it returns false.
func (l layout) each(key []byte, do func(cell, position int) bool) bool {
	bytes := 4 + 2*l.half
	for ; len(key) > 0; key = key[bytes:] {
		cell := int(key[0])<<24 | int(key[1])<<16 | int(key[2])<<8 | int(key[3])
		for at := 4; at < bytes; at += 2 {
			if !do(cell, int(key[at])<<8|int(key[at+1])) {
				return false
			}
		}
	}
	return true
}

// rate returns the false-positive rate that follows from the bits set.
func (p *generationBits) rate() float64 {
	one := 0.0
	for _, cell := range p.bits {
		ones := 0.0
		for _, bit := range cell {
			if bit {
				ones++
			}
		}
		one += math.Pow(ones/float64(len(cell)), float64(p.half))
	}
	one /= float64(len(p.bits))
	return one * one // also where both halves have one cell
}
