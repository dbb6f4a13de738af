package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

var background = context.Background()

// AddHash has no result, so a Guard is not a bloom.Set.
var _ interface{ AddHash(h bloom.Hash) } = (*Guard)(nil)

// nothing is the Load of an empty store. A key that is found afterwards comes from the Guard.
func nothing(context.Context, *Loader) error { return nil }

// loadOf is the Load of a store with keys 0 to n-1.
func loadOf(n uint64) func(context.Context, *Loader) error {
	return func(_ context.Context, keys *Loader) error {
		for i := range n {
			keys.AddHash(bloom.SumUint64(i))
		}
		return nil
	}
}

func newGuard(t testing.TB, cfg Config) *Guard {
	if cfg.P == 0 {
		cfg.P = 1e-6
	}
	g, err := New(cfg)
	require.NoError(t, err)
	return g
}

// TestInsertEnds: however an insert ends, its key is there from the begin of the insert on, also
// beside a load that does not find the row. A load that begins later drops a key without a row.
func TestInsertEnds(t *testing.T) {
	h, other := bloom.SumString("ada"), bloom.SumString("bob")
	failed := errors.New("time-out")
	inserts := map[string]func(g *Guard, inside func()){
		"Insert": func(g *Guard, inside func()) {
			require.NoError(t, g.InsertHash(h, func() error { inside(); return nil }))
		},
		"InsertBatch": func(g *Guard, inside func()) {
			hs := []bloom.Hash{other, h}
			require.NoError(t, g.InsertBatch(hs, func() error { clear(hs); inside(); return nil }))
		},
		"error": func(g *Guard, inside func()) {
			require.Equal(t, failed, g.InsertHash(h, func() error { inside(); return failed }))
		},
		"panic": func(g *Guard, inside func()) {
			require.PanicsWithValue(t, 7, func() {
				_ = g.InsertHash(h, func() error { inside(); panic(7) })
			})
		},
		"exit": func(g *Guard, inside func()) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = g.InsertHash(h, func() error { inside(); runtime.Goexit(); return nil })
			}()
			filtertest.Receive(t, "the insert ends", done)
		},
		"Add": func(g *Guard, inside func()) { inside(); g.AddHash(h) },
	}
	for name, insert := range inserts {
		t.Run(name, func(t *testing.T) {
			g := newGuard(t, Config{Load: nothing})
			require.NoError(t, g.Rebuild(background))
			insert(g, func() {
				require.NoError(t, g.Rebuild(background))
				require.Equal(t, name != "Add", g.ContainsHash(h), "when the row is there")
			})
			require.True(t, g.ContainsHash(h), "when the insert has returned")
			require.Empty(t, g.begun)
			require.NoError(t, g.Rebuild(background))
			require.False(t, g.ContainsHash(h), "kept for longer than needed")
			require.Empty(t, g.ended)
		})
	}
}

// TestAnnouncedBeforeItsCommit: Lag keeps a key whose row a load does not find yet.
func TestAnnouncedBeforeItsCommit(t *testing.T) {
	var s store
	h := bloom.SumString("ada")
	for name, lag := range map[string]time.Duration{"with a Lag": time.Hour, "without": 0} {
		t.Run(name, func(t *testing.T) {
			s.rows = nil
			g := newGuard(t, Config{Load: s.load, Lag: lag})
			g.AddHash(h)
			require.NoError(t, g.Rebuild(background))
			s.commit(h)
			require.Equal(t, lag > 0, g.ContainsHash(h), "the row is there, and the load did not find it")
			g.cfg.Lag = 0
			require.NoError(t, g.Rebuild(background))
			require.True(t, g.ContainsHash(h), "the load found the row")
		})
	}
}

// store is a table. A load finds the rows that were committed at least lag before the load began.
type store struct {
	mu   sync.Mutex
	lag  time.Duration
	rows []bloom.Hash
	at   []time.Time
}

func (s *store) commit(h bloom.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows, s.at = append(s.rows, h), append(s.at, time.Now())
}

func (s *store) load(_ context.Context, keys *Loader) error {
	s.mu.Lock()
	n, before := len(s.rows), time.Now().Add(-s.lag)
	for n > 0 && s.lag > 0 && !s.at[n-1].Before(before) {
		n--
	}
	rows := s.rows[:n:n]
	s.mu.Unlock()
	for _, h := range rows {
		keys.AddHash(h)
	}
	return nil
}

// TestNeverWrong: 8 goroutines insert keys and look up their last keys all the time, while loads
// run one after the other. Every key is found.
func TestNeverWrong(t *testing.T) {
	const (
		writers    = 8
		last       = 64
		enough     = 21 // loads
		longEnough = time.Minute
	)
	each := 5000
	if testing.Short() || filtertest.Race {
		each = 1000
	}
	for name, lag := range map[string]time.Duration{"store": 0, "standby": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			s := &store{lag: lag}
			g := newGuard(t, Config{Load: s.load, Lag: lag})
			require.NoError(t, g.Rebuild(background))
			var wrong, loads atomic.Int64
			var wg sync.WaitGroup
			began := time.Now()
			for w := range writers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					rnd := rand.New(rand.NewPCG(1, uint64(w)))
					key := func(i int) bloom.Hash { return bloom.SumUint64(uint64(i*writers + w)) }
					for i := 0; i < each || loads.Load() < enough && time.Since(began) < longEnough; i++ {
						if i >= each { // lets the loads catch up
							time.Sleep(time.Millisecond)
						}
						h := key(i)
						insert := func() error {
							if rnd.IntN(4) == 0 {
								runtime.Gosched()
							}
							s.commit(h)
							if rnd.IntN(4) == 0 {
								runtime.Gosched()
							}
							return nil
						}
						if i%8 == 0 { // another program inserts the row
							_ = insert()
							g.AddHash(h)
						} else {
							_ = g.InsertHash(h, insert)
						}
						for j := max(0, i-last); j <= i; j++ {
							if !g.ContainsHash(key(j)) {
								wrong.Add(1)
							}
						}
					}
				}()
			}
			ctx, stop := context.WithCancel(background)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for ; ctx.Err() == nil; loads.Add(1) {
					assert.NoError(t, g.Rebuild(background))
					runtime.Gosched() // lets the writers run if there is one thread
				}
			}()
			filtertest.Wait(t, "the inserts end", &wg)
			stop()
			filtertest.Receive(t, "the load ends", ended)
			for _, h := range s.rows {
				if !g.ContainsHash(h) {
					wrong.Add(1)
				}
			}
			require.Zero(t, wrong.Load(), "wrong answers beside %d loads", loads.Load())
			require.GreaterOrEqual(t, loads.Load(), int64(enough))
		})
	}
}

func TestBeforeTheFirstLoad(t *testing.T) {
	g := newGuard(t, Config{Load: func(ctx context.Context, keys *Loader) error {
		for began := time.Now(); time.Since(began) == 0; { // the clock may be coarse
			runtime.Gosched()
		}
		return loadOf(3)(ctx, keys)
	}})
	require.False(t, g.Ready())
	require.True(t, g.Contains([]byte("a")))
	require.True(t, g.ContainsString("a"))
	require.True(t, g.ContainsHash(bloom.SumString("a")))
	found := []bool{false, false, false}
	g.ContainsBatch(found, make([]bloom.Hash, 2))
	require.Equal(t, []bool{true, true, false}, found)
	found[0] = false
	const short = "guard: batch of 3 keys with room for 1 results"
	require.PanicsWithValue(t, short, func() { g.ContainsBatch(found[:1], make([]bloom.Hash, 3)) })
	require.Equal(t, []bool{false, true, false}, found)
	g.AddString("early")
	require.Equal(t, bloom.Stats{FillRatio: 1, FPR: 1}, g.Stats(), "everything passes")
	at, took := g.Loaded()
	require.Zero(t, at)
	require.Zero(t, took)

	before := time.Now()
	require.NoError(t, g.Rebuild(background))
	require.True(t, g.Ready())
	require.True(t, g.ContainsHash(bloom.SumUint64(2)))
	require.False(t, g.ContainsString("a"))
	at, took = g.Loaded()
	require.WithinRange(t, at, before, time.Now())
	require.Greater(t, took, time.Duration(0))
	require.LessOrEqual(t, took, at.Sub(before), "at is when the load ended")
	require.EqualValues(t, 3, g.Stats().ApproxCount)
	g.ContainsBatch(found, []bloom.Hash{bloom.SumString("a"), bloom.SumUint64(2)})
	require.Equal(t, []bool{false, true, false}, found)
	require.PanicsWithValue(t, short, func() { g.ContainsBatch(found[:1], make([]bloom.Hash, 3)) })
	require.Equal(t, []bool{false, true, false}, found)
	g.AddString("b")
	require.True(t, g.Contains([]byte("b")))
	g.Add([]byte("c"))
	require.True(t, g.ContainsString("c"))
	g.AddHash(bloom.SumString("d"))
	require.True(t, g.ContainsString("d"))
}

// TestWaysIn: a key is found whether it came as bytes, as a string or as a digest, from the store
// or with an insert.
func TestWaysIn(t *testing.T) {
	const key = "ada"
	h := bloom.SumString(key)
	load := func(add func(keys *Loader)) *Guard {
		g := newGuard(t, Config{Load: func(_ context.Context, keys *Loader) error {
			add(keys)
			return nil
		}})
		require.NoError(t, g.Rebuild(background))
		return g
	}
	for name, add := range map[string]func(keys *Loader){
		"Add":       func(keys *Loader) { keys.Add([]byte(key)) },
		"AddString": func(keys *Loader) { keys.AddString(key) },
		"AddHash":   func(keys *Loader) { keys.AddHash(h) },
		"AddBatch":  func(keys *Loader) { keys.AddBatch([]bloom.Hash{h}) },
	} {
		require.True(t, load(add).ContainsHash(h), "Loader.%s", name)
	}
	failed := errors.New("time-out")
	for name, insert := range map[string]func(g *Guard, insert func() error) error{
		"Insert": func(g *Guard, insert func() error) error {
			return g.Insert([]byte(key), insert)
		},
		"InsertString": func(g *Guard, insert func() error) error { return g.InsertString(key, insert) },
		"InsertHash":   func(g *Guard, insert func() error) error { return g.InsertHash(h, insert) },
		"InsertBatch": func(g *Guard, insert func() error) error {
			return g.InsertBatch([]bloom.Hash{h}, insert)
		},
	} {
		g := load(func(*Loader) {})
		require.False(t, g.ContainsHash(h))
		require.Equal(t, failed, insert(g, func() error {
			assert.True(t, g.ContainsHash(h), "%s: when its row is there", name)
			return failed
		}))
	}
}

// TestLagFromTheEnd: a Lag begins when an insert has ended, and not when it began.
func TestLagFromTheEnd(t *testing.T) {
	g := newGuard(t, Config{Load: nothing, Lag: time.Hour})
	h := bloom.SumString("ada")
	require.NoError(t, g.InsertHash(h, func() error {
		for ins := range g.begun { // as if the insert had begun long ago
			ins.returned = time.Now().Add(-2 * time.Hour)
		}
		return nil
	}))
	require.NoError(t, g.Rebuild(background))
	require.True(t, g.ContainsHash(h))
}

// TestLoader: several goroutines load batches and single keys in parallel.
func TestLoader(t *testing.T) {
	const keys = 10_000
	hs := make([]bloom.Hash, keys)
	for i := range hs {
		hs[i] = bloom.SumUint64(uint64(i))
	}
	g := newGuard(t, Config{Load: func(_ context.Context, keys *Loader) error {
		filtertest.AtOnce(4, func(i int) {
			part := hs[i*len(hs)/4 : (i+1)*len(hs)/4]
			keys.AddBatch(part[:len(part)/2])
			for _, h := range part[len(part)/2:] {
				keys.AddHash(h)
			}
		})
		return nil
	}})
	require.NoError(t, g.Rebuild(background))
	found := make([]bool, keys)
	g.ContainsBatch(found, hs)
	require.NotContains(t, found, false)
	require.EqualValues(t, keys, g.Stats().ApproxCount)

	const zero = "guard: Add to a zero Loader: use the one that Load gets"
	require.PanicsWithValue(t, zero, func() { new(Loader).AddHash(hs[0]) })
	require.PanicsWithValue(t, zero, func() { new(Loader).AddBatch(hs) })
}

// TestText: neither fmt nor slog writes the words of a filter.
func TestText(t *testing.T) {
	require.Equal(t, "guard.Guard(zero)", new(Guard).String())
	g := newGuard(t, Config{P: 0.01, Load: loadOf(3)})
	require.Equal(t, "guard.Guard(p=0.01, not loaded)", g.String())
	require.NoError(t, g.Rebuild(background))
	require.Equal(t, fmt.Sprintf("guard.Guard(p=0.01, bytes=%d)", g.Stats().SizeBytes), fmt.Sprint(g))
	require.Equal(t, g.String(), g.LogValue().String())
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "guard", g)
	require.Contains(t, log.String(), `"guard":"guard.Guard(p=0.01, bytes=`)
	require.Less(t, log.Len(), 300)
}

// TestLoadThatFails: a load that fails does not change the filter, and does not prevent the next
// load.
func TestLoadThatFails(t *testing.T) {
	failed := errors.New("connection refused")
	for name, c := range map[string]struct {
		load func(ctx context.Context, cancel func()) error
		want error
	}{
		"error": {func(context.Context, func()) error { return failed }, failed},
		"panic": {func(context.Context, func()) error { panic("no such table") }, nil},
		"context": {func(_ context.Context, cancel func()) error {
			cancel()
			return nil
		}, context.Canceled},
		"exit": {func(context.Context, func()) error { runtime.Goexit(); return nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bad := false
			ctx, cancel := context.WithCancel(background)
			g := newGuard(t, Config{Load: func(ctx context.Context, keys *Loader) error {
				if bad {
					keys.AddString("half")
					return c.load(ctx, cancel)
				}
				return loadOf(3)(ctx, keys)
			}})
			require.NoError(t, g.Rebuild(ctx))
			at, _ := g.Loaded()
			bad = true
			done, err := make(chan struct{}), error(nil)
			go func() {
				defer close(done)
				err = g.Rebuild(ctx)
			}()
			filtertest.Receive(t, "the load ends", done)
			switch name {
			case "panic":
				require.ErrorContains(t, err, "guard: loading: panic: no such table\ngoroutine ")
			case "exit":
			default:
				require.ErrorIs(t, err, c.want)
			}
			again, _ := g.Loaded()
			require.Equal(t, at, again)
			require.True(t, g.ContainsHash(bloom.SumUint64(2)))
			require.False(t, g.ContainsString("half"))
			require.Nil(t, g.loading, "the filter that was begun is still in memory")
			g.AddString("one more")
			bad = false
			require.NoError(t, g.Rebuild(background))
			require.False(t, g.ContainsString("one more"), "the next load did not take place")
		})
	}
}

func TestOneLoadAtATime(t *testing.T) {
	var running atomic.Int32
	entered := make(chan struct{}, 2)
	leave := make(chan struct{})
	g := newGuard(t, Config{Load: func(context.Context, *Loader) error {
		assert.EqualValues(t, 1, running.Add(1))
		defer running.Add(-1)
		entered <- struct{}{}
		<-leave
		return nil
	}})
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- g.Rebuild(background) }()
	}
	filtertest.Receive(t, "a load begins", entered)
	waiting := make(chan error, 1)
	go func() { waiting <- g.Rebuild(filtertest.EndsInWait(t, nil)) }()
	require.ErrorIs(t, filtertest.Receive(t, "the wait ends", waiting), context.Canceled)
	close(leave)
	require.NoError(t, filtertest.Receive(t, "a load ends", results))
	require.NoError(t, filtertest.Receive(t, "a load ends", results))
	require.Len(t, entered, 1)
}

// TestRun: the pauses are those of Every, and after loads that fail they become longer and longer.
func TestRun(t *testing.T) {
	const (
		// afterFirst is more than the pause after one failed load, and less than after the fourth.
		afterFirst = 700 * time.Millisecond
		longEnough = time.Minute
	)
	failed := errors.New("down")
	var began []time.Time
	var errs []error
	var shortAgain bool
	ctx, cancel := context.WithTimeout(background, longEnough)
	defer cancel()
	g := newGuard(t, Config{
		Every: 10 * time.Millisecond,
		Load: func(_ context.Context, keys *Loader) error {
			began = append(began, time.Now())
			n := len(began)
			if n <= 3 || n >= 6 && n%2 == 0 {
				return failed
			}
			// A busy machine may make a pause long, but not each of them.
			shortAgain = n > 6 && began[n-1].Sub(began[n-2]) < afterFirst
			if shortAgain {
				cancel()
			}
			return nil
		},
		OnError: func(err error) { errs = append(errs, err) },
	})
	require.ErrorIs(t, g.Run(ctx), context.Canceled)
	require.True(t, shortAgain, "a load that ended well makes the pauses short again")
	require.Len(t, errs, 3+(len(began)-5)/2)
	require.ErrorIs(t, errs[0], failed)
	for i, least := range []time.Duration{90, 180, 360, 9, 9, 90} {
		require.GreaterOrEqual(t, began[i+1].Sub(began[i]), least*time.Millisecond, "pause %d", i)
	}

	loads := 0
	g.cfg.Every = 0
	g.cfg.Load = func(context.Context, *Loader) error {
		if loads++; loads == 1 {
			return failed
		}
		return nil
	}
	ctx, cancel = context.WithTimeout(background, longEnough)
	defer cancel()
	require.NoError(t, g.Run(ctx))
	require.Equal(t, 2, loads, "one load that ended well")
}

// TestLongestEvery: the longest pause is not taken for none.
func TestLongestEvery(t *testing.T) {
	for range 8 { // half of the pauses would be longer than the longest Duration
		loads := 0
		ctx, cancel := context.WithCancel(background)
		g := newGuard(t, Config{Every: math.MaxInt64, Load: func(context.Context, *Loader) error {
			loads++
			time.AfterFunc(10*time.Millisecond, cancel)
			return nil
		}})
		require.ErrorIs(t, g.Run(ctx), context.Canceled)
		require.Equal(t, 1, loads)
	}
}

// TestRunEnds: if the context ends during a pause, Run returns. Without an OnError, an error is
// logged.
func TestRunEnds(t *testing.T) {
	var log bytes.Buffer
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	ctx, cancel := context.WithCancel(background)
	loads := 0
	g := newGuard(t, Config{Every: time.Hour, Load: func(context.Context, *Loader) error {
		if loads++; loads == 1 {
			return errors.New("down")
		}
		time.AfterFunc(20*time.Millisecond, cancel)
		return nil
	}})
	require.ErrorIs(t, g.Run(ctx), context.Canceled)
	require.Contains(t, log.String(), "down")
	log.Reset()
	require.ErrorIs(t, g.Run(ctx), context.Canceled)
	require.Empty(t, log.String(), "the end of Run's context is no error")
}

// TestRate: the rate is kept although the store has more and more keys than the first load
// expected.
func TestRate(t *testing.T) {
	if filtertest.Race {
		t.Skip("takes long, by one goroutine")
	}
	const p, probes = 0.01, 200_000
	n := uint64(100)
	g := newGuard(t, Config{P: p, N: 1000, Load: func(ctx context.Context, keys *Loader) error {
		return loadOf(n)(ctx, keys)
	}})
	for _, n = range []uint64{100, 300_000, 1_000_000, 200_000, 0, 50} {
		require.NoError(t, g.Rebuild(background))
		found := 0.0
		for i := range uint64(probes) {
			if g.ContainsHash(bloom.SumUint64(1<<32 + i)) {
				found++
			}
		}
		require.LessOrEqual(t, found/probes, p+4*math.Sqrt(p*(1-p)/probes), "n = %d", n)
		require.LessOrEqual(t, g.Stats().FPR, p*1.02)
	}
}

// TestMemory measures the memory after a first load of known N, after a second load, and while keys
// are inserted after that.
func TestMemory(t *testing.T) {
	if filtertest.Race {
		t.Skip("takes long, by one goroutine")
	}
	for _, n := range []uint64{50_000, 70_000, 150_000, 600_000, 2_000_000} {
		if n > 1e6 && testing.Short() {
			continue
		}
		known := newGuard(t, Config{P: 0.01, N: n, Load: loadOf(n)})
		require.NoError(t, known.Rebuild(background))
		require.LessOrEqual(t, float64(8*known.Stats().SizeBytes), 15*float64(n), "n = %d", n)
		g := newGuard(t, Config{P: 0.01, Load: loadOf(n)})
		require.NoError(t, g.Rebuild(background))
		for _, part := range []float64{1, 1.01, 0.99} {
			g.cfg.Load = loadOf(uint64(float64(n) * part))
			require.NoError(t, g.Rebuild(background))
			require.LessOrEqual(t, float64(8*g.Stats().SizeBytes), 13.5*part*float64(n),
				"n = %d, times %v", n, part)
			g.cfg.Load = loadOf(n)
			require.NoError(t, g.Rebuild(background))
		}
		for i := range n / 100 {
			g.AddHash(bloom.SumUint64(n + i))
		}
		require.LessOrEqual(t, float64(8*g.Stats().SizeBytes), 13.5*float64(n),
			"n = %d, and 1 %% more", n)
		require.Empty(t, g.ended, "beyond the Lag")
	}
}

// TestLaterLoadsExpectWhatIsThere: N is for the first load alone. A store that is smaller or larger
// gets a filter of its own size at the second load.
func TestLaterLoadsExpectWhatIsThere(t *testing.T) {
	const n = 20_000
	for _, expected := range []uint64{n / 20, 20 * n} {
		g := newGuard(t, Config{P: 0.01, N: expected, Load: loadOf(n)})
		require.NoError(t, g.Rebuild(background))
		require.NoError(t, g.Rebuild(background))
		bits := float64(8*g.Stats().SizeBytes) / n
		require.Less(t, bits, 15.0, "N = %d", expected)
	}
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]Config{
		"guard: Load is nil":                                     {P: 0.01},
		"guard: P = 0 is outside [1e-09, 1)":                     {Load: nothing},
		"guard: P = 1 is outside [1e-09, 1)":                     {Load: nothing, P: 1},
		"guard: P = NaN is outside [1e-09, 1)":                   {Load: nothing, P: math.NaN()},
		"guard: P = 1e-10 is outside [1e-09, 1)":                 {Load: nothing, P: 1e-10},
		"guard: N = 1099511627777 is outside [0, 1099511627776]": {Load: nothing, P: 0.01, N: 1<<40 + 1},
		"guard: Every = -1ns is negative":                        {Load: nothing, P: 0.01, Every: -1},
		"guard: Lag = -1s is negative": {Load: nothing, P: 0.01,
			Lag: -time.Second},
		"guard: Learn = -1 is outside [0, 67108864]":       {Load: nothing, P: 0.01, Learn: -1},
		"guard: Learn = 67108865 is outside [0, 67108864]": {Load: nothing, P: 0.01, Learn: 1<<26 + 1},
	} {
		g, err := New(cfg)
		require.EqualError(t, err, want)
		require.Nil(t, g)
	}
	newGuard(t, Config{Load: nothing, P: 1e-9, N: 1 << 40, Learn: 1 << 26})
}

func TestZeroGuard(t *testing.T) {
	g := new(Guard)
	require.True(t, g.ContainsString("a"))
	require.False(t, g.Ready())
	require.Equal(t, bloom.Stats{FillRatio: 1, FPR: 1}, g.Stats(), "everything passes")
	at, took := g.Loaded()
	require.Zero(t, at)
	require.Zero(t, took)
	const zero = " of a zero Guard: make it with New"
	insert := func() error {
		t.Error("a zero Guard calls insert")
		return nil
	}
	for name, call := range map[string]func(){
		"Add":          func() { g.Add(nil) },
		"AddString":    func() { g.AddString("a") },
		"AddHash":      func() { g.AddHash(bloom.Hash{}) },
		"Insert":       func() { _ = g.Insert(nil, insert) },
		"InsertString": func() { _ = g.InsertString("a", insert) },
		"InsertHash":   func() { _ = g.InsertHash(bloom.Hash{}, insert) },
		"InsertBatch":  func() { _ = g.InsertBatch(make([]bloom.Hash, 2), insert) },
	} {
		require.PanicsWithValue(t, "guard: Insert"+zero, call, name)
	}
	ended, cancel := context.WithCancel(background)
	cancel()
	require.PanicsWithValue(t, "guard: Rebuild"+zero, func() { _ = g.Rebuild(ended) })
	require.PanicsWithValue(t, "guard: Rebuild"+zero, func() { _ = g.Run(ended) })
	found := []bool{false, false, false}
	g.ContainsBatch(found, make([]bloom.Hash, 2))
	require.Equal(t, []bool{true, true, false}, found)
	require.Equal(t, "guard.Guard(zero)", g.LogValue().String())
}

func TestLookUpsAllocateNothing(t *testing.T) {
	g := newGuard(t, Config{Load: loadOf(1000)})
	require.NoError(t, g.Rebuild(background))
	key := []byte("a key of more than thirty-two bytes, which no compiler keeps on the stack")
	require.Zero(t, testing.AllocsPerRun(100, func() {
		g.Contains(key)
		g.ContainsString("ada")
		g.ContainsHash(bloom.SumUint64(5))
	}))
}

// TestNothingWaitsForALoad: look-ups, inserts and whatever describes a Guard return while a load
// runs, before the first load has ended and later.
func TestNothingWaitsForALoad(t *testing.T) {
	var g *Guard
	loads := 0
	g = newGuard(t, Config{Learn: 1, Lag: time.Hour, Load: func(_ context.Context, keys *Loader) error {
		loads++
		keys.AddString("ada")
		for name, call := range map[string]func(){
			"Contains":      func() { g.ContainsString("ada") },
			"ContainsBatch": func() { g.ContainsBatch(make([]bool, 1), make([]bloom.Hash, 1)) },
			"Lookup":        func() { _, _ = g.LookupString("ada", func() (bool, error) { return false, nil }) },
			"Insert":        func() { _ = g.InsertString("bob", func() error { return nil }) },
			"InsertBatch":   func() { _ = g.InsertBatch(make([]bloom.Hash, 2), func() error { return nil }) },
			"Add":           func() { g.AddString("eve") },
			"descriptions": func() {
				g.Stats()
				g.Loaded()
				g.Ready()
				g.Counts()
				_ = g.String()
			},
		} {
			notHeldUp(t, "a load, which "+name+" needs", call)
		}
		return nil
	}})
	for range 2 {
		require.NoError(t, g.Rebuild(background))
		require.True(t, g.ContainsString("bob"), "inserted while the load ran")
		require.True(t, g.ContainsString("eve"), "added while the load ran")
	}
	require.Equal(t, 2, loads)
}

// TestKeepsNoEndedInsert: without a Lag, no keys stay in memory after their insert.
func TestKeepsNoEndedInsert(t *testing.T) {
	g := newGuard(t, Config{Load: nothing})
	var insert weak.Pointer[inserted]
	require.NoError(t, g.InsertString("ada", func() error {
		for ins := range g.begun {
			insert = weak.Make(ins)
		}
		require.NotNil(t, insert.Value())
		return nil
	}))
	runtime.GC()
	require.Nil(t, insert.Value())
	runtime.KeepAlive(g)
}

// TestRetainsNoKey: what a caller writes into a key or a batch afterwards changes nothing.
func TestRetainsNoKey(t *testing.T) {
	h, other := bloom.SumString("ada"), bloom.SumString("bob")
	key := func() []byte { return []byte("ada") }
	for name, load := range map[string]func(keys *Loader){
		"Add": func(keys *Loader) {
			key := key()
			keys.Add(key)
			copy(key, "bob")
		},
		"AddBatch": func(keys *Loader) {
			hs := []bloom.Hash{h}
			keys.AddBatch(hs)
			hs[0] = other
		},
	} {
		g := newGuard(t, Config{Load: func(_ context.Context, keys *Loader) error {
			load(keys)
			return nil
		}})
		require.NoError(t, g.Rebuild(background))
		require.True(t, g.ContainsHash(h), name)
		require.False(t, g.ContainsHash(other), name)
	}
	for name, insert := range map[string]func(g *Guard){
		"Add": func(g *Guard) {
			key := key()
			g.Add(key)
			copy(key, "bob")
		},
		"Insert": func(g *Guard) {
			key := key()
			_ = g.Insert(key, func() error { copy(key, "bob"); return nil })
		},
		"InsertBatch": func(g *Guard) {
			hs := []bloom.Hash{h}
			_ = g.InsertBatch(hs, func() error { hs[0] = other; return nil })
		},
	} {
		g := newGuard(t, Config{Load: nothing, Lag: time.Hour})
		for range 2 { // the second load adds the key again
			require.NoError(t, g.Rebuild(background))
			insert(g)
			require.NoError(t, g.Rebuild(background))
			require.True(t, g.ContainsHash(h), name)
			require.False(t, g.ContainsHash(other), name)
		}
	}
}
