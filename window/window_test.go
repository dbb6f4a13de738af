package window

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

func TestWindowSpan(t *testing.T) {
	for _, generations := range []int{1, 2, 7, 8, 24, 31, 63} {
		t.Run(fmt.Sprintf("generations=%d", generations), func(t *testing.T) {
			const span = time.Hour
			longest := span + span/time.Duration(generations)
			var clock testkit.Clock
			w := bloom.Must(New(Config{
				Capacity: 30000, FPR: 1e-6, Span: span, Generations: generations, Now: clock.Now,
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
				got := w.ContainsHash(bloom.SumUint64(key))
				if isLive {
					require.True(t, got, "key %d is forgotten after %v", key, age)
				}
				if isGone {
					require.False(t, got, "key %d is remembered after %v", key, age)
				}
				if rnd.IntN(2) == 0 {
					require.Equal(t, !got, w.AddHash(bloom.SumUint64(key)), "Add and Contains disagree")
					added[key] = now
				}
				step := time.Duration(rnd.ExpFloat64() * float64(span) / 1000)
				if rnd.IntN(3000) == 0 {
					step = time.Duration(rnd.Float64() * 1.2 * float64(span))
				}
				now += step
				clock.Advance(step)
			}
			require.True(t, early && late, "the walk met no key between the bounds, or none beyond")
		})
	}
}

// TestWindowBounds holds a key's life to the nanosecond, where Span is not a
// multiple of Generations.
func TestWindowBounds(t *testing.T) {
	const span, generations = 1000 * time.Nanosecond, 7
	for added := time.Duration(0); added < 300; added++ {
		var clock testkit.Clock
		w := bloom.Must(New(Config{Capacity: 100, FPR: 1e-9, Span: span, Generations: generations, Now: clock.Now}))
		clock.Advance(added)
		w.AddString("key")
		life := time.Duration(0)
		for ; w.ContainsString("key"); life++ {
			clock.Advance(1)
		}
		require.Greater(t, life, span, "added at %d", added)
		require.LessOrEqual(t, life, span+span/generations+1, "added at %d", added) // +1: Span/Generations is a fraction
	}
}

func TestWindowRenewal(t *testing.T) {
	var clock testkit.Clock
	w := bloom.Must(New(Config{Capacity: 1000, FPR: 1e-6, Span: time.Hour, Generations: 7, Now: clock.Now}))
	require.True(t, w.AddString("renewed"))
	require.True(t, w.AddString("looked up"))
	for range 30 {
		clock.Advance(20 * time.Minute)
		require.False(t, w.AddString("renewed"))
		w.ContainsString("looked up")
	}
	require.False(t, w.ContainsString("looked up"), "Contains must not renew")
}

func TestWindowTime(t *testing.T) {
	config := Config{Capacity: 1000, FPR: 1e-6, Span: time.Hour, Generations: 7}
	t.Run("still", func(t *testing.T) {
		config.Now = func() time.Time { return time.Time{} }
		w := bloom.Must(New(config))
		for i := range uint64(1000) {
			w.AddHash(bloom.SumUint64(i))
		}
		for i := range uint64(1000) {
			require.True(t, w.ContainsHash(bloom.SumUint64(i)))
		}
	})
	t.Run("back", func(t *testing.T) {
		var clock testkit.Clock
		config.Now = clock.Now
		w := bloom.Must(New(config))
		clock.Advance(-time.Hour) // before it was made
		w.AddString("a")
		clock.Advance(2 * time.Hour)
		w.AddString("b") // an hour after a, by the clock's furthest
		clock.Advance(-90 * time.Minute)
		g := w.gen.Load()
		w.advance(w.epoch) // a goroutine that read the clock long ago
		require.Equal(t, g, w.gen.Load())
		require.True(t, w.ContainsString("a"))
		require.True(t, w.AddString("c")) // counts as added with b
		clock.Advance(90*time.Minute + 30*time.Minute)
		require.False(t, w.ContainsString("a"))
		require.True(t, w.ContainsString("b"))
		require.True(t, w.ContainsString("c"))
		clock.Advance(time.Hour)
		require.False(t, w.ContainsString("b"))
		require.False(t, w.ContainsString("c"))
	})
	t.Run("ahead", func(t *testing.T) {
		for _, leap := range []time.Duration{2 * time.Hour, 1e5 * time.Hour, math.MaxInt64 / 3} {
			var clock testkit.Clock
			config.Now = clock.Now
			w := bloom.Must(New(config))
			for range 3 {
				require.True(t, w.AddString("key"))
				require.True(t, w.ContainsString("key"))
				clock.Advance(leap)
			}
			require.False(t, w.ContainsString("key"))
			require.Zero(t, w.FPR())
		}
	})
	t.Run("beyond", func(t *testing.T) {
		now := time.Time{}
		config.Now = func() time.Time { return now }
		w := bloom.Must(New(config))
		for _, year := range []int{1, 1000, 1e6, 1e9, -1e9} {
			now = time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			w.AddString("key")
			require.True(t, w.ContainsString("key"))
		}
	})
}

// TestWindowRealTime runs on time.Now, read at each call and by a timer.
func TestWindowRealTime(t *testing.T) {
	t.Parallel() // it waits for two seconds
	short := bloom.Must(New(Config{Capacity: 1000, FPR: 1e-6, Span: 60 * time.Millisecond, Generations: 3}))
	require.True(t, short.AddString("key"))
	require.Eventually(t, func() bool { return !short.ContainsString("key") }, 10*time.Second, time.Millisecond)

	long := bloom.Must(New(Config{Capacity: 1000, FPR: 1e-6, Span: time.Second, Generations: 1}))
	start := time.Now()
	require.True(t, long.AddString("key"))
	for long.ContainsString("key") {
		require.Less(t, time.Since(start), 12*time.Second)
		time.Sleep(time.Millisecond)
	}
	require.GreaterOrEqual(t, time.Since(start), time.Second)
}

// TestWindowLateTimer: calls made after a generation's end, while the timer was
// late, count as made in it. It then lasted so much longer.
func TestWindowLateTimer(t *testing.T) {
	const span, late = time.Hour, 10 * time.Minute
	w := bloom.Must(New(Config{Capacity: 1000, FPR: 1e-6, Span: span, Generations: 1}))
	// pass lets d pass: all that time is counted from was so much earlier.
	pass := func(d time.Duration) {
		w.clock.Lock()
		defer w.clock.Unlock()
		w.epoch, w.due = w.epoch.Add(-d), w.due.Add(-d)
	}
	w.AddString("first")
	pass(span + late)
	w.fresh.Store(true) // until now, a timer that was due 10 minutes ago
	w.AddString("key")
	require.EqualValues(t, 0, w.gen.Load())
	w.tick()
	w.AddString("next")
	require.EqualValues(t, 1, w.gen.Load())

	pass(span - time.Minute)
	w.tick()
	require.True(t, w.ContainsString("key"), "added 59 minutes ago")
	pass(2 * time.Minute)
	w.fresh.Store(false)
	w.clock.Lock()
	w.due = w.due.Add(time.Hour) // not late
	w.clock.Unlock()
	w.tick()
	require.False(t, w.ContainsString("key"), "61 minutes ago, a generation and Span are over")
	require.True(t, w.ContainsString("next"))
}

// fillWindow fills every generation, and returns keys that are not in it from
// then on.
func fillWindow(w *Filter, clock *testkit.Clock, c Config) (unused uint64) {
	for g := range uint64(c.Generations) + 1 {
		for ; unused < (g+1)*c.Capacity/uint64(c.Generations); unused++ {
			w.AddHash(bloom.SumUint64(unused))
		}
		if g < uint64(c.Generations) {
			clock.Advance(c.Span / time.Duration(c.Generations))
		}
	}
	return unused
}

func TestWindowFPR(t *testing.T) {
	for _, c := range []Config{
		{Capacity: 2000, FPR: 0.3, Generations: 1},
		{Capacity: 2000, FPR: 0.01, Generations: 63},
		{Capacity: 2000, FPR: 0.01, Generations: 7},
		{Capacity: 100000, FPR: 0.01, Generations: 24},
		{Capacity: 300000, FPR: 0.001, Generations: 15},
		{Capacity: 100000, FPR: 0.02, Generations: 63},
	} {
		t.Run(fmt.Sprintf("n=%d/p=%v/generations=%d", c.Capacity, c.FPR, c.Generations), func(t *testing.T) {
			var clock testkit.Clock
			c.Span, c.Now = 63*24*time.Hour, clock.Now
			w := bloom.Must(New(c))
			unused := fillWindow(w, &clock, c)
			const trials = 200000
			hits := 0
			for i := range uint64(trials) {
				if w.ContainsHash(bloom.SumUint64(unused + i)) {
					hits++
				}
			}
			assert.LessOrEqual(t, float64(hits), testkit.RateBound(trials, c.FPR))
			// Not much under it either: memory would be wasted.
			assert.GreaterOrEqual(t, float64(hits), trials*0.9*c.FPR-4.75*math.Sqrt(trials*c.FPR))
			assert.InEpsilon(t, float64(hits)/trials, w.FPR(), 0.05+4.75/math.Sqrt(float64(hits)))
			for i := range uint64(10000) {
				h := bloom.SumUint64(unused + i)
				require.Equal(t, !w.ContainsHash(h), w.AddHash(h))
			}
		})
	}
	// A rate too low to be counted, by the bits set: here the blocks' shares of
	// the keys matter.
	var clock testkit.Clock
	c := Config{Capacity: 300000, FPR: 1e-6, Span: 24 * time.Hour, Generations: 15, Now: clock.Now}
	w := bloom.Must(New(c))
	fillWindow(w, &clock, c)
	assert.InEpsilon(t, 1e-6, w.FPR(), 0.15)
}

func TestWindowMemory(t *testing.T) {
	for _, test := range []struct {
		generations int
		bound       float64
	}{{1, 4.7}, {7, 1.2}, {8, 2.1}, {15, 1.2}, {24, 1.4}, {31, 1.2}, {63, 1.2}} {
		for _, n := range []uint64{1e4, 1e6} {
			for _, p := range []float64{0.1, 0.01, 0.001, 1e-6} {
				w := bloom.Must(New(Config{Capacity: n, FPR: p, Span: time.Hour, Generations: test.generations}))
				got := 8*8*float64(len(w.blocks)*w.blockWords()) + 8*64*float64(len(w.blocks))
				live := float64(n) * float64(test.generations+1) / float64(test.generations)
				ideal := 1.44 * math.Log2(float64(test.generations+1)/p) * live
				assert.Less(t, got/ideal, test.bound, "n = %d, p = %v, generations = %d", n, p, test.generations)
			}
		}
	}
}

func TestWindowConfigErrors(t *testing.T) {
	good := Config{Capacity: 1000, FPR: 0.01, Span: time.Hour, Generations: 7}
	_, err := New(good)
	require.NoError(t, err)
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Capacity = 0 }, "window: Capacity = 0 "},
		{func(c *Config) { c.Capacity = math.MaxUint64 }, "window: Capacity = 18446744073709551615, "},
		{func(c *Config) { c.FPR = 0 }, "window: FPR = 0 "},
		{func(c *Config) { c.FPR = 1 }, "window: FPR = 1 "},
		{func(c *Config) { c.FPR = -0.5 }, "window: FPR = -0.5 "},
		{func(c *Config) { c.FPR = math.NaN() }, "window: FPR = NaN "},
		{func(c *Config) { c.FPR = math.SmallestNonzeroFloat64; c.Capacity = 1e6 }, "window: Capacity = 1000000, FPR = 5e-324 "},
		{func(c *Config) { c.Span = 0 }, "window: Span = 0s "},
		{func(c *Config) { c.Span = -time.Hour }, "window: Span = -1h0m0s "},
		{func(c *Config) { c.Span = 6 }, "window: Span = 6ns "},
		{func(c *Config) { c.Generations = 0 }, "window: Generations = 0 "},
		{func(c *Config) { c.Generations = -1 }, "window: Generations = -1 "},
		{func(c *Config) { c.Generations = 64 }, "window: Generations = 64 "},
		{func(c *Config) { c.Generations = math.MinInt }, fmt.Sprintf("window: Generations = %d ", math.MinInt)},
	} {
		c := good
		test.change(&c)
		w, err := New(c)
		require.ErrorContains(t, err, test.want)
		require.Nil(t, w)
	}
}

func TestZeroWindow(t *testing.T) {
	var w Filter
	assert.False(t, w.Contains(nil))
	assert.False(t, w.ContainsString("key"))
	assert.Zero(t, w.FPR())
	assert.PanicsWithValue(t, errZeroWindow, func() { w.AddString("key") })
	_, err := w.MarshalBinary()
	assert.ErrorContains(t, err, "window: ")
	_, err = w.WriteTo(io.Discard)
	assert.ErrorContains(t, err, "window: ")
}

// TestWindowConcurrent adds, looks up and encodes while time moves on.
func TestWindowConcurrent(t *testing.T) {
	var clock testkit.Clock
	w := bloom.Must(New(Config{Capacity: 100000, FPR: 1e-6, Span: 24 * time.Hour, Generations: 24, Now: clock.Now}))
	const writers, perWriter = 4, 30000
	var wg sync.WaitGroup
	for i := range uint64(writers) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range uint64(perWriter) {
				h := bloom.SumUint64(i*perWriter + j)
				w.AddHash(h)
				if !w.ContainsHash(h) {
					t.Errorf("key %d of writer %d is missing", j, i)
					return
				}
				if j%1000 == 0 {
					clock.Advance(10 * time.Minute) // 20 hours in all
				}
			}
		}()
	}
	wg.Add(1)
	go func() {
		defer wg.Done()
		for range 10 {
			data, err := w.MarshalBinary()
			if err == nil {
				err = new(Filter).UnmarshalBinary(data)
			}
			assert.NoError(t, err)
			w.FPR()
		}
	}()
	wg.Wait()
	for i := range uint64(writers * perWriter) {
		require.True(t, w.ContainsHash(bloom.SumUint64(i)), "key %d is missing", i)
	}
	clock.Advance(25 * time.Hour)
	require.Zero(t, w.FPR())
}

func TestWindowAllocs(t *testing.T) {
	w := bloom.Must(New(Config{Capacity: 1000, FPR: 0.01, Span: 24 * time.Hour, Generations: 24}))
	key := []byte("http://example.com/")
	text, h := string(key), bloom.Sum(key)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		w.Add(key)
		w.AddString(text)
		w.AddHash(h)
		w.Contains(key)
		w.ContainsString(text)
		w.ContainsHash(h)
	}))
}

// smallWindow has two live generations with a key in each.
func smallWindow(clock *testkit.Clock) *Filter {
	w := bloom.Must(New(Config{Capacity: 4, FPR: 0.01, Span: time.Hour, Generations: 2, Now: clock.Now}))
	clock.Advance(5 * time.Hour)
	w.AddString("old")
	clock.Advance(30 * time.Minute)
	w.AddString("new")
	return w
}

func TestWindowBytes(t *testing.T) {
	var clock testkit.Clock
	data, err := smallWindow(&clock).MarshalBinary()
	require.NoError(t, err)
	const want = "424c4d5701000000" +
		"00a0b83046030000" + "0200000000000000" + "0600000000000000" + "0100000000000000" +
		"4000000000000000" + "00ca9a3b00000000" + "0000000000000000" + "0b00000000000000" +
		"0800000000080400" + "0000000000000000" + "0004000000000800" + "0000040400000000" +
		"0800000004000008" + "0000000000000400" + "0000000000000000" + "0000000000000000" +
		"461d51bd"
	assert.Equal(t, want, hex.EncodeToString(data))
}

func TestWindowEncoding(t *testing.T) {
	for _, n := range []uint64{100, 200000} {
		var clock testkit.Clock
		c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 24, Now: clock.Now}
		w := bloom.Must(New(c))
		unused := fillWindow(w, &clock, c)
		for i := range n / 4 {
			w.AddHash(bloom.SumUint64(unused + i))
		}
		var out bytes.Buffer
		wrote, err := w.WriteTo(&out)
		require.NoError(t, err)
		require.EqualValues(t, out.Len(), wrote)
		data, err := w.AppendBinary([]byte("before"))
		require.NoError(t, err)
		require.Equal(t, append([]byte("before"), out.Bytes()...), data)
		data = data[len("before"):]

		c.Capacity = 7
		decoded := bloom.Must(New(c)) // of another size, with the same clock
		require.NoError(t, decoded.UnmarshalBinary(data))
		streamed := bloom.Must(New(c))
		out.WriteString("after")
		read, err := streamed.ReadFrom(iotest.HalfReader(&out))
		require.NoError(t, err)
		require.Equal(t, wrote, read)
		require.Equal(t, "after", out.String())

		// All three age alike.
		for range 27 {
			for i := uint64(0); i < unused+n; i += n / 100 {
				h := bloom.SumUint64(i)
				require.Equal(t, w.ContainsHash(h), decoded.ContainsHash(h))
				require.Equal(t, w.ContainsHash(h), streamed.ContainsHash(h))
			}
			clock.Advance(time.Hour)
			again, err := w.MarshalBinary()
			require.NoError(t, err)
			decodedAgain, err := decoded.MarshalBinary()
			require.NoError(t, err)
			require.True(t, bytes.Equal(again, decodedAgain))
		}
		require.Zero(t, decoded.FPR())
	}
}

// TestWindowEncodingMoves encodes while keys are added in later generations,
// which the older generation's form must not show in its own columns.
func TestWindowEncodingMoves(t *testing.T) {
	for _, generations := range []int{15, 24} { // all columns live, and not
		var clock testkit.Clock
		c := Config{Capacity: 100000, FPR: 0.01, Span: 24 * time.Hour, Generations: generations, Now: clock.Now}
		w := bloom.Must(New(c))
		unused := fillWindow(w, &clock, c)
		before, err := w.MarshalBinary()
		require.NoError(t, err)
		var out bytes.Buffer
		hook := writerFunc(func(p []byte) (int, error) {
			clock.Advance(c.Span / time.Duration(generations))
			for range 5000 {
				w.AddHash(bloom.SumUint64(unused))
				unused++
			}
			return out.Write(p)
		})
		_, err = w.WriteTo(hook)
		require.NoError(t, err)
		require.NoError(t, new(Filter).UnmarshalBinary(out.Bytes()))
		const start = 8 + 8*windowParams
		require.Equal(t, before[:start], out.Bytes()[:start])
		kept := 0
		for i := start; i < len(before)-4; i++ {
			require.Zero(t, out.Bytes()[i]&^before[i])
			kept += bits.OnesCount8(out.Bytes()[i])
		}
		require.NotZero(t, kept)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestWindowRestored restores on the real clock what was encoded an hour ago.
func TestWindowRestored(t *testing.T) {
	start := time.Now().Add(-3 * time.Hour)
	now := start
	w := bloom.Must(New(Config{Capacity: 1000, FPR: 1e-9, Span: 90 * time.Minute, Generations: 15,
		Now: func() time.Time { return now }}))
	now = start.Add(time.Hour)
	w.AddString("two hours ago")
	now = start.Add(2 * time.Hour)
	w.AddString("an hour ago")
	require.True(t, w.ContainsString("two hours ago"))
	data, err := w.MarshalBinary()
	require.NoError(t, err)

	var restored Filter
	require.NoError(t, restored.UnmarshalBinary(data))
	require.False(t, restored.ContainsString("two hours ago"))
	require.True(t, restored.ContainsString("an hour ago"))
	require.True(t, restored.AddString("now"))

	// A receiver's own Now goes on telling the time.
	now = start.Add(4 * time.Hour)
	require.NoError(t, w.UnmarshalBinary(data))
	require.False(t, w.ContainsString("an hour ago"))
}

func TestWindowDamage(t *testing.T) {
	var clock testkit.Clock
	w := smallWindow(&clock)
	good, err := w.MarshalBinary()
	require.NoError(t, err)
	for i := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		require.ErrorIs(t, w.UnmarshalBinary(bad), bloom.ErrFormat, "bit %d", i)
		_, err := w.ReadFrom(bytes.NewReader(bad))
		require.ErrorIs(t, err, bloom.ErrFormat, "bit %d", i)
	}
	for i := range good {
		require.ErrorIs(t, w.UnmarshalBinary(good[:i]), bloom.ErrFormat, "%d bytes", i)
		_, err := w.ReadFrom(bytes.NewReader(good[:i]))
		require.ErrorIs(t, err, bloom.ErrFormat, "%d bytes", i)
	}
	again, err := w.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, good, again, "errors changed the receiver")
}

// TestWindowParams changes one parameter at a time, under a valid checksum.
func TestWindowParams(t *testing.T) {
	good := [windowParams]uint64{uint64(time.Hour), 24, 8, 2, 8192, 1e9, 5, 7}
	words, err := checkParams(good[:])
	require.NoError(t, err)
	require.EqualValues(t, 8192, words)
	for i, values := range [windowParams][]uint64{
		windowSpan:      {0, 23, 1 << 63, math.MaxUint64},
		windowGens:      {0, 64, 1 << 63, math.MaxUint64},
		windowK:         {0, 1, 9, 256, 1 << 63},
		windowBlocks:    {0, 1 << 52, 1 << 63, math.MaxUint64},
		windowLanes:     {0, 1, 8190, 8193, 16386, 1 << 32, math.MaxUint64},
		windowEpochNano: {1e9, math.MaxUint64},
		windowGen:       {1 << 63, math.MaxUint64},
	} {
		for _, value := range values {
			bad := good
			bad[i] = value
			var w Filter
			for _, n := range []int{0, 8192, 16386} {
				err := w.UnmarshalBinary(frame.Window.Append(nil, bad[:], testkit.Words(n)))
				require.ErrorIs(t, err, bloom.ErrFormat, "parameter %d = %d", i, value)
				require.False(t, w.ContainsString("key"))
			}
		}
	}
}

func FuzzWindow(f *testing.F) {
	var clock testkit.Clock
	good, err := smallWindow(&clock).MarshalBinary()
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Add(frame.Window.Append(nil, []uint64{1, 1, 2, 1, 8, math.MaxUint64, 0, math.MaxInt64}, testkit.Words(1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := new(Filter).UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
		}
		data = testkit.Sealed(data)
		var w Filter
		if err := w.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, bloom.ErrFormat)
			require.Zero(t, w.k)
			return
		}
		w.now = clock.Now
		w.AddString("key")
		require.True(t, w.ContainsString("key"))
		again, err := w.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, new(Filter).UnmarshalBinary(again))
	})
}

type keySet interface {
	AddHash(bloom.Hash) bool
	ContainsHash(bloom.Hash) bool
}

func BenchmarkWindow(b *testing.B) {
	for _, n := range []uint64{1e5, 1e7} {
		c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 24}
		var clock testkit.Clock
		c.Now = clock.Now
		window, filter := bloom.Must(New(c)), bloom.Must(bloom.New(n, c.FPR))
		unused := fillWindow(window, &clock, c)
		for i := range n {
			filter.AddHash(bloom.SumUint64(i))
		}
		window.now, window.epoch = nil, time.Now().Add(-25*time.Hour+time.Minute)
		window.ends.Store(0)
		miss, hit := make([]bloom.Hash, 1<<16), make([]bloom.Hash, 1<<16)
		for i := range miss {
			miss[i] = bloom.SumUint64(unused + uint64(i))
			hit[i] = bloom.SumUint64(miss[i].H1 % n)
		}
		for _, set := range []struct {
			name string
			keySet
		}{{"window", window}, {"filter", filter}} {
			for _, keys := range []struct {
				name string
				hs   []bloom.Hash
			}{{"hit", hit}, {"miss", miss}} {
				b.Run(fmt.Sprintf("n=%.0e/op=contains/keys=%s/set=%s", float64(n), keys.name, set.name), func(b *testing.B) {
					for i := 0; b.Loop(); i++ {
						set.ContainsHash(keys.hs[i%len(keys.hs)])
					}
				})
			}
			b.Run(fmt.Sprintf("n=%.0e/op=add/set=%s", float64(n), set.name), func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					set.AddHash(hit[i%len(hit)])
				}
			})
		}
	}
}

// BenchmarkWindowWorstAdd reports the time of Adds after a generation's end:
// those that find a block to clear, half of which take less than the median,
// and the slowest of all the others, which is the machine's doing.
func BenchmarkWindowWorstAdd(b *testing.B) {
	for _, n := range []uint64{1e5, 1e7} {
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			var clock testkit.Clock
			c := Config{Capacity: n, FPR: 0.01, Span: 24 * time.Hour, Generations: 24, Now: clock.Now}
			w := bloom.Must(New(c))
			var clearing []time.Duration
			var steady time.Duration
			for key := uint64(0); b.Loop(); {
				clock.Advance(time.Hour)
				g := w.generation()
				for range 10000 {
					key++
					h := bloom.SumUint64(key)
					block, _ := bits.Mul64(h.H1, uint64(len(w.blocks)))
					stale := w.blocks[block].gen < g
					start := time.Now()
					w.AddHash(h)
					if took := time.Since(start); stale {
						clearing = append(clearing, took)
					} else {
						steady = max(steady, took)
					}
				}
			}
			slices.Sort(clearing)
			b.ReportMetric(float64(clearing[len(clearing)/2].Nanoseconds()), "median-clearing-ns")
			b.ReportMetric(float64(clearing[len(clearing)-1].Nanoseconds()), "worst-clearing-ns")
			b.ReportMetric(float64(steady.Nanoseconds()), "worst-other-ns")
		})
	}
}
