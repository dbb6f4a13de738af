package bloomredis

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// TestWhatHappensToTheKey is a table: what happens to the string under a key, what
// each call then says, which changes nothing in Redis, and what opening the key says.
// A lost filter is an error, and never "absent".
func TestWhatHappensToTheKey(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	guava := func(f *bloom.Filter, err error) []byte {
		return bloom.Must(bloom.Must(f, err).MarshalBinary())
	}
	for _, test := range []struct {
		name    string
		happens func(key string, size int64, open func(n uint64))
		open    error          // of opening it again; nil if that works
		says    map[string]any // part of what opening says, for some kinds
	}{
		{"deleted", func(key string, _ int64, _ func(uint64)) { client.Del(ctx, key) }, nil, nil},
		{"all deleted", func(string, int64, func(uint64)) { client.FlushAll(ctx) }, nil, nil},
		{"evicted", func(key string, _ int64, _ func(uint64)) {
			client.ConfigSet(ctx, "maxmemory-policy", "allkeys-random")
			client.ConfigSet(ctx, "maxmemory", "1")
			soon(t, func() bool { return client.Exists(ctx, key).Val() == 0 })
			client.ConfigSet(ctx, "maxmemory", "0")
		}, nil, nil},
		{"of a newer version", func(key string, _ int64, _ func(uint64)) {
			client.SetRange(ctx, key, 18, "2")
			client.SetRange(ctx, "id:{f}", 18, "2")
			client.SetRange(ctx, "{s:0}:id", 18, "2")
		}, bloom.ErrVersion, nil},
		{"created again", func(_ string, _ int64, open func(uint64)) {
			client.FlushAll(ctx)
			open(1000)
		}, nil, nil},
		{"created again beside what is left", func(key string, _ int64, open func(uint64)) {
			client.Del(ctx, key)
			open(1000)
		}, nil, nil},
		{"another configuration", func(_ string, _ int64, open func(uint64)) {
			client.FlushAll(ctx)
			open(2000)
		}, bloom.ErrMismatch, map[string]any{
			"Filter": "it holds a filter of m = 19200, k = 7, strategy = Mitz64, want m = 9600, " +
				"k = 7, strategy = Mitz64",
			"Sharded": "it holds a filter of m = 19200",
			"Window": "it holds a window of N = 2000, P = 0.01, Span = 1000h0m0s, Generations = " +
				"7, Renew = false, want N = 1000, P = ",
		}},
		{"cut by a byte", func(key string, size int64, _ func(uint64)) {
			client.Set(ctx, key, client.GetRange(ctx, key, 0, size-2).Val(), 0)
		}, bloom.ErrFormat, map[string]any{
			"Filter": "it holds neither a filter nor a window, but 1205 bytes that start with 01 07 00 00 00 96",
			"Window": "bytes of a window of 3", // DeleteWindow helps
		}},
		{"cut to a few", func(key string, _ int64, _ func(uint64)) {
			client.Set(ctx, key, client.GetRange(ctx, key, 0, 5).Val(), 0)
		}, bloom.ErrFormat, nil},
		{"longer", func(key string, _ int64, _ func(uint64)) {
			client.Append(ctx, key, "x")
		}, bloom.ErrFormat, nil},
		{"list", func(key string, _ int64, _ func(uint64)) {
			client.Del(ctx, key)
			client.RPush(ctx, key, "x")
		}, bloom.ErrFormat, nil},
		{"text", func(key string, _ int64, _ func(uint64)) {
			client.Set(ctx, key, "hello, world", 0)
		}, bloom.ErrFormat, map[string]any{
			"Filter": "it holds neither a filter nor a window, but 12 bytes that start with 68 65 6c 6c 6f 2c",
			"Window": "it holds neither a filter nor a window, but 12 bytes that start with 68 65 6c 6c 6f 2c",
		}},
		{"filter", func(key string, _ int64, _ func(uint64)) {
			client.Set(ctx, key, guava(bloom.NewSize(640, 3)), 0)
		}, nil, map[string]any{
			"Filter":  bloom.ErrMismatch,
			"Sharded": bloom.ErrMismatch,
			"Window":  bloom.ErrFormat,
		}},
		{"empty", func(key string, _ int64, _ func(uint64)) {
			client.Set(ctx, key, "", 0)
		}, bloom.ErrFormat, nil},
		{"filter of a newer strategy", func(key string, _ int64, _ func(uint64)) {
			client.Set(ctx, key, append([]byte{2, 7, 0, 0, 0, 1}, make([]byte, 8)...), 0)
		}, bloom.ErrVersion, nil},
		{"filter of the other strategy", func(key string, _ int64, _ func(uint64)) {
			client.Set(ctx, key, guava(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01)), 0)
		}, nil, map[string]any{"Filter": bloom.ErrMismatch, "Sharded": bloom.ErrMismatch,
			"Window": bloom.ErrFormat}},
		{"window", func(key string, _ int64, _ func(uint64)) {
			w := bloom.Must(OpenWindow(ctx, client, "visits", visits))
			mustAdd(t, w, bloom.SumString("a"))
			client.Rename(ctx, "visits", key)
		}, nil, map[string]any{"Filter": "it holds a window; see OpenWindow",
			"Sharded": bloom.ErrFormat, "Window": bloom.ErrMismatch}},
	} {
		for name, kind := range kinds {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				require.NoError(t, client.FlushAll(ctx).Err())
				open := func(n uint64) set {
					s := bloom.Must(kind.open(client, n))
					mustAdd(t, s, bloom.SumString("a"))
					return s
				}
				s := open(1000)
				test.happens(kind.key, client.StrLen(ctx, kind.key).Val(), func(n uint64) { open(n) })
				before := dump(client)
				if w, ok := s.(*Window); ok {
					w.reopened = time.Now().Add(time.Hour) // it does not go on by itself
				}
				h := keyOf(s)
				calls := map[string]func() error{
					"Add":      func() error { return firstError(s.AddHash(ctx, h)) },
					"AddBatch": func() error { return firstError(addBatch(ctx, s, hashes(0, 200))) },
					"AddOnce": func() error {
						return firstError(s.AddOnce(ctx, "token", hashes(0, 200)...))
					},
					"Contains":      func() error { return firstError(s.ContainsHash(ctx, h)) },
					"ContainsBatch": func() error { return firstError(containsBatch(ctx, s, hashes(0, 200))) },
					"Stats":         func() error { return firstError(s.Stats(ctx)) },
					"Reset":         func() error { return s.Reset(ctx) },
				}
				switch s := s.(type) {
				case *Filter:
					calls["Snapshot"] = func() error { return firstError(s.Snapshot(ctx)) }
					calls["Info"] = func() error { return firstError(s.Info(ctx)) }
					calls["UpdateInfo"] = func() error {
						return s.UpdateInfo(ctx, func(i *bloom.Info) { i.Hash = "x" })
					}
				case *Window:
					calls["Reach"] = func() error { return firstError(s.Reach(ctx)) }
				}
				for name, call := range calls {
					err := call()
					assert.ErrorIs(t, err, ErrLost, name)
					assert.ErrorContains(t, err, fmt.Sprintf("bloomredis: key %q", kind.key), name)
					if test.name == "all deleted" {
						assert.Regexp(t, "it holds nothing|it is gone or was created again", err, name)
					}
				}
				if name != "Sharded" { // whose other shard is there, and has been changed
					assert.Equal(t, before, dump(client))
				}

				_, err := kind.open(client, 1000)
				want := test.open
				if says, ok := test.says[name].(error); ok {
					want = says
				} else if says, ok := test.says[name].(string); ok {
					assert.ErrorContains(t, err, says)
				}
				if want == bloom.ErrVersion {
					assert.ErrorIs(t, err, bloom.ErrFormat)
				}
				if want != nil {
					assert.ErrorIs(t, err, want)
				} else if test.says == nil {
					assert.NoError(t, err)
				}
				if name == "Window" { // what is a window can be deleted, then opened
					err := DeleteWindow(ctx, client, "w")
					switch test.name {
					case "cut to a few", "empty", "filter of a newer strategy", "list", "text",
						"filter", "filter of the other strategy":
						assert.ErrorIs(t, err, bloom.ErrFormat)
						assert.Equal(t, before, dump(client))
					default:
						assert.NoError(t, err)
						open(1000)
					}
				}
			})
		}
	}
}

// keyOf returns a key that goes to the string that things happen to.
func keyOf(s set) bloom.Hash {
	if s, ok := s.(*Sharded); ok {
		for i := range uint64(1000) {
			if h := bloom.SumUint64(i); s.route(h) == 0 {
				return h
			}
		}
	}
	return bloom.SumString("a")
}

// A Window that another process deleted is lost to those who used it. To others it is not.
func TestWindowDeletedByOthers(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	open := func() set { return bloom.Must(kinds["Window"].open(client, many)) }
	w, other, late := open(), open(), open()
	mustAdd(t, w, bloom.SumString("a"))
	require.NoError(t, other.Delete(ctx))
	mustAdd(t, other, bloom.SumString("b"))
	require.ErrorIs(t, firstError(w.ContainsString(ctx, "a")), ErrLost)
	mustAdd(t, w, bloom.SumString("a")) // it goes on by itself

	require.NoError(t, client.FlushAll(ctx).Err())
	mustAdd(t, openWindow(t, client, visits), bloom.SumString("a")) // another has come up
	require.ErrorIs(t, firstError(late.AddString(ctx, "a")), bloom.ErrMismatch)
	require.ErrorIs(t, late.Delete(ctx), bloom.ErrMismatch)
}

// A filter that was lost is an error until Reopen. Then it has what is there, and what its
// users add again. Where one shard is lost, no batch is answered.
func TestReopen(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	for _, name := range []string{"Filter", "Sharded"} {
		open := func() set { return bloom.Must(kinds[name].open(client, many)) }
		s := open()
		reopen := s.(interface{ Reopen(context.Context) error }).Reopen
		requireAdded(t, s, true, hashes(0, 100)...)
		require.NoError(t, reopen(ctx), "nothing is lost")
		requireFound(t, s, true, hashes(0, 100)...)
		for what, lose := range map[string]func(){
			"all":      func() { client.FlushAll(ctx) },
			"a string": func() { client.Del(ctx, kinds[name].key) },
			"again":    func() { client.FlushAll(ctx); requireAdded(t, open(), true, hashes(200, 300)...) },
		} {
			lose()
			for range 2 {
				require.ErrorIs(t, firstError(containsBatch(ctx, s, hashes(0, 100))), ErrLost, name)
				require.ErrorIs(t, firstError(addBatch(ctx, s, hashes(0, 100))), ErrLost, name)
			}
			require.NoError(t, reopen(ctx))
			if name == "Filter" || what != "a string" { // the other shard has its keys
				requireFound(t, s, false, hashes(0, 100)...)
				requireFound(t, s, what == "again", hashes(200, 300)...)
			}
			mustAdd(t, s, hashes(0, 100)...)
			requireFound(t, s, true, hashes(0, 100)...)
		}
	}

	f := openFilter(t, client, 1000, 1e-6)
	reader := bloom.Must(OpenExisting(ctx, client, "f"))
	require.NoError(t, f.Delete(ctx))
	require.ErrorIs(t, reader.Reopen(ctx), redis.Nil, "who only reads makes none")
	openFilter(t, client, 2000, 1e-6)
	require.ErrorIs(t, f.Reopen(ctx), bloom.ErrMismatch)
	require.ErrorIs(t, firstError(f.ContainsString(ctx, "a")), ErrLost)
}

// A replica keeps its copy while the filter is lost, and follows what is made again with the same
// parameters, also if its own Filter stays lost.
func TestSourceFollows(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f := openFilter(t, client, 1000, 1e-6)
	mustAdd(t, f, bloom.SumString("old"))
	r := replica.New(f.Source(), replica.Config{})
	require.NoError(t, r.Refresh(ctx))
	for i, lose := range []func(){
		func() { client.FlushAll(ctx) },
		func() { client.Del(ctx, "f") },
		func() { client.Set(ctx, "f", "text", 0) },
		func() { client.Append(ctx, "f", "x") },
		func() { client.Set(ctx, "f", client.GetRange(ctx, "f", 0, 900).Val(), 0) },
		func() { client.FlushAll(ctx); _, _ = Open(ctx, client, "f", 2000, 1e-6) },
	} {
		lose()
		require.ErrorIs(t, r.Refresh(ctx), ErrLost, i)
		require.True(t, r.ContainsString("old"), "%d: the copy stays", i)
		require.NoError(t, client.FlushAll(ctx).Err())
		writer := openFilter(t, client, 1000, 1e-6)
		mustAdd(t, writer, bloom.SumString("new"))
		require.NoError(t, r.Refresh(ctx))
		require.True(t, r.ContainsString("new"))
		require.False(t, r.ContainsString("old"))
		mustAdd(t, writer, bloom.SumString("old"))
		require.NoError(t, r.Refresh(ctx))
		require.True(t, r.ContainsString("old"))
		require.ErrorIs(t, firstError(f.ContainsString(ctx, "new")), ErrLost, "the Filter of the Source")
	}
}

// What is made again while it is downloaded is not mixed with what was there.
func TestSourceDoesNotMix(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f := openFilter(t, client, 3_000_000, 0.01) // several pieces
	mustAdd(t, f, hashes(0, 1000)...)
	reads := clientOf(t, client.Options().Addr)
	g := bloom.Must(OpenExisting(ctx, reads, "f"))
	trips := 0
	reads.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		if trips++; trips == 3 {
			client.FlushAll(ctx)
			openFilter(t, client, 3_000_000, 0.01)
		}
		return send(ctx, cmds)
	}))
	require.ErrorIs(t, firstError(g.Source().Fetch(ctx, "")), ErrLost)
	u := bloom.Must(g.Source().Fetch(ctx, ""))
	require.Zero(t, u.Full.OnesCount())
}

// The answer for a token belongs to the filter that gave it.
func TestTokensEndWithTheirFilter(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	open := func(name string) set { return bloom.Must(kinds[name].open(client, 1000)) }
	check := func(s set) {
		t.Helper()
		h := keyOf(s)
		for range 2 {
			answers := bloom.Must(s.AddOnce(ctx, "token", h, h))
			require.Equal(t, []bool{true, false}, answers)
			requireFound(t, s, true, h)
		}
	}
	for name := range kinds {
		s := open(name)
		check(s)
		require.NoError(t, s.Reset(ctx))
		check(s)
		require.NoError(t, s.Delete(ctx))
		if name != "Window" { // which goes on
			s = open(name)
		}
		check(s)
		require.NoError(t, client.Del(ctx, kinds[name].key).Err())
		check(open(name))
	}
	// Where others created the filter, too.
	require.NoError(t, client.FlushAll(ctx).Err())
	require.NoError(t, client.Set(ctx, "f",
		bloom.Must(bloom.Must(bloom.New(1000, 0.01)).MarshalBinary()), 0).Err())
	f := bloom.Must(OpenExisting(ctx, client, "f"))
	check(f)
	require.NoError(t, f.Reset(ctx))
	check(f)
}

// A window that is gone after its time is no error. Within it is, also within a
// batch.
func TestWindowGoesInItsTime(t *testing.T) {
	admin, set := startClock(t)
	c := WindowConfig{N: 1000, P: 1e-6, Span: time.Hour, Generations: 1}
	for _, after := range []time.Duration{time.Hour, 2*time.Hour + time.Second} {
		for _, created := range []bool{false, true} {
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
					if created {
						mustAdd(t, openWindow(t, admin, c), bloom.SumString("a"))
					}
				}
			}))
			_, err := containsBatch(ctx, w, hashes(0, 4*chunk))
			if after < 2*time.Hour {
				assert.ErrorIs(t, err, ErrLost, "created: %v", created)
			} else {
				assert.NoError(t, err, "created: %v", created)
			}
		}
	}
}

// A Window that was lost says so once, and goes on by itself, once a second at most.
func TestWindowGoesOnAfterALoss(t *testing.T) {
	client, set := startClock(t)
	for name, call := range map[string]func(*Window) error{
		"Add": func(w *Window) error { return firstError(w.AddString(ctx, "a")) },
		"AddOnce": func(w *Window) error {
			return firstError(w.AddOnce(ctx, nonce(), hashes(0, 300)...))
		},
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
			began := time.Now()
			if i > 0 {
				w.reopened = began
			}
			require.ErrorIs(t, call(w), ErrLost, name)
			// too soon, unless the machine is slow
			if i > 0 && (lost == i || time.Since(began) < time.Second) {
				require.Equal(t, i, lost)
				w.reopened = began.Add(-time.Second)
				require.ErrorIs(t, call(w), ErrLost, name)
			}
			require.Equal(t, i+1, lost, name)
			require.NoError(t, call(w), name)
		}
		// A clock that is ahead for a moment, so that Redis deletes the string, is a loss, not a
		// Span of errors.
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
	for _, test := range []struct{ before, reply, want known }{
		{known{}, known{"1", 7}, known{"1", 7}},
		{known{}, known{"2", 6}, known{"1", 7}},
		{known{}, known{"1", 6}, known{"1", 7}},
		{known{}, known{"1", 8}, known{"1", 8}},
		{known{}, known{"2", 9}, known{"2", 9}},
		{known{"2", 9}, known{"2", 5}, known{"2", 5}}, // the clock has stepped back
		{known{"2", 5}, known{"1", 4}, known{"1", 4}},
	} {
		w.learn(0, test.before, test.reply, 0)
		require.Equal(t, test.want, w.known[0], test)
	}
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
			client.AddHook(hook(
				func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) (err error) {
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
			got := bloom.Must(call(bloom.SumUint64(keys)))
			assert.Equal(t, name != "Contains", got, name)
			require.True(t, done)
			require.NoError(t, firstError(w.AddString(ctx, "later")))
		}
	}
}

// An older reply that comes late does not hide a loss: the keys of the newer one are not certainly
// absent.
func TestLossAfterLateReply(t *testing.T) {
	client, set := startClock(t)
	now := 1000 * time.Hour
	w := openWindow(t, client, WindowConfig{N: windowN, P: 1e-6, Span: length})
	mustAdd(t, w, bloom.SumString("a")) // from now on the server knows the script
	late := false
	client.AddHook(hook(func(
		ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook,
	) error {
		err := send(ctx, cmds)
		if !late {
			late = true
			set(now + length - time.Hour)
			mustAdd(t, w, bloom.SumString("c"))
		}
		return err
	}))
	mustAdd(t, w, bloom.SumString("b"))
	require.NoError(t, client.Del(ctx, "w").Err())
	set(now + 3*length/2) // without "c", the window would be empty
	require.ErrorIs(t, firstError(w.ContainsString(ctx, "c")), ErrLost)
}

// A call that begins while Delete runs, and finds that the string it knows is gone, is sent again.
// It reports no loss.
func TestWindowCallsDuringDelete(t *testing.T) {
	client := startServer(t).client()
	w := openWindow(t, client, WindowConfig{N: 1000, P: 1e-6, Span: time.Hour})
	mustAdd(t, w, bloom.SumString("a"))
	require.NoError(t, w.Delete(ctx)) // from now on the server knows the scripts
	mustAdd(t, w, bloom.SumString("a"))
	added, again := make(chan error, 1), make(chan struct{})
	var step atomic.Int32
	client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		switch step.Add(1) {
		case 1: // of Delete
			mustAdd(t, w, bloom.SumString("b")) // step 2: the window knows the string again
			err := send(ctx, cmds)
			go func() { added <- firstError(w.AddString(ctx, "c")) }()
			select {
			case <-again:
			case lost := <-added:
				added <- lost
			}
			return err
		case 4: // "c" again; step 3 found nothing
			close(again)
		}
		return send(ctx, cmds)
	}))
	require.NoError(t, w.Delete(ctx))
	require.NoError(t, <-added)
	require.False(t, bloom.Must(w.ContainsString(ctx, "a")))
	require.True(t, bloom.Must(w.ContainsString(ctx, "c")))
}
