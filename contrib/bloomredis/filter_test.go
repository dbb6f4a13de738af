package bloomredis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// A Filter answers as a bloom.Filter with the same keys, and its string is that filter's bytes.
func TestFilterIsBloomFilter(t *testing.T) {
	client := startServer(t).client()
	for _, test := range []struct {
		n uint64
		p float64
	}{{1, 0.5}, {100, 0.01}, {10_000, 1e-9}, {100_000, 0.03}, {20, 1e-70}} {
		f := bloom.Must(Open(ctx, client, "f-"+strconv.FormatUint(test.n, 10), test.n, test.p))
		local := bloom.Must(bloom.New(test.n, test.p))
		require.True(t, stored(t, f).Equal(local))

		// One by one and in batches, with repetitions in and across batches.
		keys := append(hashes(0, 300), hashes(200, 500)...)
		for _, h := range keys[:20] {
			got := bloom.Must(f.AddHash(ctx, h))
			require.Equal(t, local.AddHash(h), got)
		}
		got := bloom.Must(addBatch(ctx, f, keys))
		want := make([]bool, len(keys))
		local.AddBatch(want, keys)
		require.Equal(t, want, got)
		require.True(t, stored(t, f).Equal(local))

		keys = hashes(0, 1500)
		got = bloom.Must(containsBatch(ctx, f, keys))
		want = make([]bool, len(keys))
		local.ContainsBatch(want, keys)
		require.Equal(t, want, got)
		for i, h := range keys[490:510] {
			got := bloom.Must(f.ContainsHash(ctx, h))
			require.Equal(t, want[490+i], got)
		}
		snapshot := bloom.Must(f.Snapshot(ctx))
		require.True(t, snapshot.Equal(local))
		stats := bloom.Must(f.Stats(ctx))
		require.Equal(t, local.Stats(), stats)
	}

	// Every bit is where the comment of Filter says, for Redis's own commands.
	f, local := openFilter(t, client, 100, 0.01), bloom.Must(bloom.New(100, 0.01))
	for i := uint64(0); i < local.M(); i += 3 {
		local.AddHash(bloom.NewHash(i, 0)) // bit i
		require.NoError(t, client.SetBit(ctx, "f", 48+int64(i^63), 1).Err())
	}
	assert.True(t, stored(t, f).Equal(local))

	// A large one is counted in several steps, which meet and do not overlap.
	require.NoError(t, client.Del(ctx, "f").Err())
	f = openFilter(t, client, 30_000_000, 0.01)
	mustAdd(t, f, hashes(0, 10_000)...)
	for step := uint64(8 * counted); step < f.M(); step += 8 * counted {
		var ends []bloom.Hash
		for i := step - 64; i < step+64; i++ {
			ends = append(ends, bloom.NewHash(i, 0)) // bit i
		}
		mustAdd(t, f, ends...)
	}
	stats := bloom.Must(f.Stats(ctx))
	assert.Equal(t, stored(t, f).Stats(), stats)
}

// Keys are hashed alike by all methods of all types, and what they are is said without a server.
func TestKeysAreHashed(t *testing.T) {
	all := sets(t, startServer(t).client())
	for name, s := range all {
		adds := []func(string) (bool, error){
			func(key string) (bool, error) { return s.Add(ctx, []byte(key)) },
			func(key string) (bool, error) { return s.AddString(ctx, key) },
			func(key string) (bool, error) { return s.AddHash(ctx, bloom.SumString(key)) },
		}
		asks := []func(string) (bool, error){
			func(key string) (bool, error) { return s.Contains(ctx, []byte(key)) },
			func(key string) (bool, error) { return s.ContainsString(ctx, key) },
			func(key string) (bool, error) { return s.ContainsHash(ctx, bloom.SumString(key)) },
		}
		for i, add := range adds {
			key := fmt.Sprint("key ", i)
			assert.True(t, bloom.Must(add(key)), name)
			assert.False(t, bloom.Must(add(key)), name)
			for _, ask := range asks {
				assert.True(t, bloom.Must(ask(key)), name)
				assert.False(t, bloom.Must(ask("absent")), name)
			}
		}
		requireAdded(t, s, true)
		requireFound(t, s, false, bloom.SumString("absent"))
	}
	assert.Equal(t, `bloomredis.Filter("f", m = 28755200, k = 7, strategy = Mitz64)`,
		fmt.Sprint(all["Filter"]))
	assert.Equal(t, `bloomredis.Sharded("s", 2 shards of m = 28755200, k = 7, strategy = Mitz64)`,
		fmt.Sprint(all["Sharded"]))
	assert.Equal(t, `bloomredis.Window("w", N = 3000000, P = 0.01, Span = 1000h0m0s, Generations = 7, Renew = false)`, fmt.Sprint(all["Window"]))
	assert.Contains(t, fmt.Sprint(new(Filter), new(Sharded), new(Window)), "bloomredis.Filter")
}

// Parameters that are out of range are errors that name them, and reach no server.
func TestParameters(t *testing.T) {
	client := clientOf(t, "127.0.0.1:1") // no server is there
	filter := func(key string, n uint64, p float64) error {
		return firstError(Open(ctx, client, key, n, p))
	}
	sharded := func(key string, c ShardedConfig) error {
		return firstError(OpenSharded(ctx, client, key, c))
	}
	window := func(change func(*WindowConfig)) error {
		c := WindowConfig{N: 1000, P: 0.01, Span: time.Hour}
		change(&c)
		_, err := OpenWindow(ctx, client, "w", c)
		size, err2 := c.SizeBytes()
		assert.EqualError(t, err2, err.Error())
		assert.Zero(t, size)
		return err
	}
	for _, test := range []struct {
		err   error
		param string // "" for an error that is no ParamError
		value any
		want  string
	}{
		{filter("f", 0, 0.01), "n", uint64(0), "outside [1, 448089835] for a Redis string"},
		{filter("f", 100, 0), "p", 0.0, "outside (0, 1)"},
		{filter("f", 100, 1), "p", 1.0, "outside (0, 1)"},
		{filter("f", 100, math.NaN()), "p", math.NaN(), "outside (0, 1)"},
		{filter("f", 100, -1), "p", -1.0, "outside (0, 1)"},
		{filter("f", 1, 1e-100), "p", 1e-100, "it needs 332 hashes"},
		{filter("f", 500e6, 0.01), "n", uint64(500e6),
			"outside [1, 448089835] for a Redis string at a rate of 0.01; use OpenSharded"},
		{filter("f", math.MaxUint64, 0.01), "n", uint64(math.MaxUint64), "outside [1, 448089835] "},
		{filter("a}b", 100, 0.01), "", nil,
			`bloomredis: key "a}b": it has a closing brace but no hash tag`},
		{sharded("s", ShardedConfig{Shards: -1, N: 100, P: 0.01}), "Shards", -1,
			"outside [1, 16384]"},
		{sharded("s", ShardedConfig{Shards: 0, N: 100, P: 0.01}), "Shards", 0,
			"outside [1, 16384]"},
		{sharded("s", ShardedConfig{Shards: maxShards + 1, N: 100, P: 0.01}), "Shards", 16385,
			"outside [1, 16384]"},
		{sharded("{s}", ShardedConfig{Shards: 2, N: 100, P: 0.01}), "", nil,
			`bloomredis: key "{s}" has braces, which a Sharded does not allow`},
		{sharded("s", ShardedConfig{Shards: 2, N: math.MaxUint64, P: 0.01}),
			"N", uint64(math.MaxUint64), "outside [1, 896179670] for 2 shards"},
		{sharded("s", ShardedConfig{Shards: 2, N: 0, P: 0.01}), "N", uint64(0),
			"outside [1, 896179670] for 2 shards"},
		{sharded("s", ShardedConfig{Shards: 2, N: 100, P: 1}), "P", 1.0, "outside (0, 1)"},
		{window(func(c *WindowConfig) { c.N = 0 }), "N", uint64(0), "outside [1, "},
		{window(func(c *WindowConfig) { c.N = math.MaxUint64 }), "N", uint64(math.MaxUint64),
			"outside [1, "},
		{window(func(c *WindowConfig) { c.P = 0 }), "P", 0.0, "outside (0, 1)"},
		{window(func(c *WindowConfig) { c.P = 1 }), "P", 1.0, "outside (0, 1)"},
		{window(func(c *WindowConfig) { c.P = math.NaN() }), "P", math.NaN(), "outside (0, 1)"},
		{window(func(c *WindowConfig) { c.Span = -1 }), "Span", time.Duration(-1),
			"outside [7ms, 36 years)"},
		{window(func(c *WindowConfig) { c.Span = 7*time.Millisecond - 1 }),
			"Span", 7*time.Millisecond - 1, "outside [7ms, 36 years)"},
		{window(func(c *WindowConfig) { c.Span = 1 << 60 }), "Span", time.Duration(1 << 60),
			"outside [7ms, 36 years)"},
		{window(func(c *WindowConfig) { c.Generations = -1 }), "Generations", -1,
			"outside [0, 15]"},
		{window(func(c *WindowConfig) { c.Generations = 16 }), "Generations", 16,
			"outside [0, 15]"},
		{firstError(OpenWindow(ctx, client, "a}b", visits)), "", nil,
			"it has a closing brace but no hash tag"},
	} {
		assert.ErrorContains(t, test.err, test.want)
		var bad *bloom.ParamError
		if !errors.As(test.err, &bad) {
			assert.Empty(t, test.param, "%v", test.err)
			continue
		}
		assert.Equal(t, "bloomredis", bad.Package)
		assert.Equal(t, test.param, bad.Param)
		assert.Equal(t, fmt.Sprintf("%T %[1]v", test.value), fmt.Sprintf("%T %[1]v", bad.Value))
		text := fmt.Sprintf("bloomredis: %s = %v is %s", bad.Param, bad.Value, bad.Bound)
		if bad.Advice != "" {
			text += "; " + bad.Advice
		}
		assert.EqualError(t, test.err, text)
	}
}

// TestParamsInRange: the values beside those that are refused are accepted.
func TestParamsInRange(t *testing.T) {
	for n, ok := range map[uint64]bool{0: false, 1: true, 448_089_835: true, 448_089_836: false} {
		_, err := paramsFor(n, 0.01)
		assert.Equal(t, ok, err == nil, "n = %d: %v", n, err)
	}
	for _, test := range []struct {
		c  ShardedConfig
		ok bool
	}{
		{ShardedConfig{Shards: 1, N: 1, P: 0.01}, true},
		{ShardedConfig{Shards: maxShards, N: 1, P: 0.01}, true},
		{ShardedConfig{Shards: maxShards + 1, N: 1, P: 0.01}, false},
		{ShardedConfig{Shards: 2, N: 896_179_670, P: 0.01}, true},
		{ShardedConfig{Shards: 2, N: 896_179_671, P: 0.01}, false},
	} {
		_, _, err := test.c.shardParams()
		assert.Equal(t, test.ok, err == nil, "%+v: %v", test.c, err)
	}
	base := WindowConfig{N: 1000, P: 0.01, Span: time.Hour}
	fits := func(n uint64) bool {
		c := base
		c.N = n
		_, err := c.SizeBytes()
		return err == nil
	}
	largest, tooMany := uint64(1), uint64(1<<50)
	for tooMany-largest > 1 {
		if middle := largest + (tooMany-largest)/2; fits(middle) {
			largest = middle
		} else {
			tooMany = middle
		}
	}
	for _, test := range []struct {
		change func(*WindowConfig)
		ok     bool
	}{
		{func(c *WindowConfig) { c.N = 1 }, true},
		{func(c *WindowConfig) { c.N = largest }, true},
		{func(c *WindowConfig) { c.N = largest + 1 }, false},
		{func(c *WindowConfig) { c.Span = 0 }, true},
		{func(c *WindowConfig) { c.Span = 7 * time.Millisecond }, true},
		{func(c *WindowConfig) { c.Span = 1<<60 - 1 }, true},
		{func(c *WindowConfig) { c.Span, c.Generations = time.Millisecond, 1 }, true},
		{func(c *WindowConfig) { c.Generations = 1 }, true},
		{func(c *WindowConfig) { c.Generations = 15 }, true},
	} {
		c := base
		test.change(&c)
		_, err := c.SizeBytes()
		assert.Equal(t, test.ok, err == nil, "%+v: %v", c, err)
		var bad *bloom.ParamError
		if errors.As(err, &bad) { // its text names the bound
			assert.Contains(t, bad.Bound, fmt.Sprintf("[1, %d]", largest))
		}
	}
}

func TestSlots(t *testing.T) {
	client := startServer(t, "--cluster-enabled", "yes").client()
	slot := func(key string) int64 {
		slot := bloom.Must(client.ClusterKeySlot(ctx, key).Result())
		return slot
	}
	require.NotEqual(t, slot("a"), slot("b"))
	seen := make(map[string]string)
	for _, key := range []string{
		"a", "{a}", "a{b}c", "{", "a{b", "x{y}{z}", "{a}:adds", "adds:{a}", "adds:{{a}",
	} {
		for _, name := range []string{"adds", "merge-1"} {
			other := bloom.Must((caller{key: key}).beside(name))
			assert.Equal(t, slot(key), slot(other), "%s %s", key, other)
			assert.Empty(t, seen[other], "%s also belongs to %s", other, key)
			seen[other] = key
		}
	}
	for _, key := range []string{"", "}", "a{}b", "a}b{c"} {
		assert.Error(t, firstError((caller{key: key}).beside("adds")), key)
	}
}

// Where the stream's entry cannot be written, the bits are not set: replicas
// would never get a key whose next Add finds its bits set.
func TestAddIsAllOrNothing(t *testing.T) {
	client := startServer(t).client()
	for _, test := range []struct {
		name       string
		fail, mend func(f *Filter)
		want       string
	}{
		{"another type",
			func(f *Filter) { client.Rename(ctx, f.stream, "saved"); client.RPush(ctx, f.stream, "x") },
			func(f *Filter) { client.Rename(ctx, "saved", f.stream) }, "WRONGTYPE"},
		{"no more ids",
			func(f *Filter) {
				client.Do(ctx, "XSETID", f.stream, "18446744073709551615-18446744073709551615")
			},
			func(f *Filter) { client.Del(ctx, f.stream) }, "exhausted"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			f := openFilter(t, client, 10, 0.001)
			mustAdd(t, f, bloom.SumString("a"))
			have := full(t, f)
			before := stored(t, f)

			test.fail(f)
			for _, h := range hashes(0, 5) {
				assert.ErrorContains(t, firstError(f.AddHash(ctx, h)), test.want)
			}
			for range 2 {
				assert.ErrorContains(t, firstError(f.AddOnce(ctx, "token", hashes(0, 5)...)), test.want)
			}
			assert.True(t, stored(t, f).Equal(before), "bits without their entry")

			test.mend(f)
			requireOnce(t, f, true, "token", hashes(0, 5)...)
			more := bloom.Must(f.Source().Fetch(ctx, have.Version))
			if more.Full == nil {
				have.Full.AddBatch(nil, more.Added)
				more.Full = have.Full
			}
			assert.True(t, more.Full.Equal(stored(t, f)))
		})
	}
}

// A write that the server refuses, for want of a right or of memory, changes nothing. It can be
// made again.
func TestRefusedWritesChangeNothing(t *testing.T) {
	client := startServer(t).client()
	f, w := openFilter(t, client, 1000, 0.001), openWindow(t, client, visits)
	mustAdd(t, f, hashes(0, 100)...)
	mustAdd(t, w, hashes(0, 10)...)
	g := bloom.Must(bloom.New(1000, 0.001))
	g.AddString("merged")
	add := func(s set) func() error {
		return func() error { return firstError(s.AddString(ctx, "b")) }
	}
	for _, test := range []struct {
		name   string
		rights []string
		call   func() error
	}{
		{"Filter.Add", []string{"bitfield", "xadd", ""}, add(f)},
		{"Filter.AddOnce", []string{"set", "xadd", ""}, func() error {
			return firstError(f.AddOnce(ctx, "token", bloom.SumString("c")))
		}},
		{"Merge", []string{"xadd", ""}, func() error { return f.Merge(ctx, g) }},
		{"Reset", []string{"xadd", "unlink", "setrange", ""}, func() error { return f.Reset(ctx) }},
		{"Window.Add", []string{"setrange", "pexpire", ""}, add(w)},
		{"Window.AddOnce", []string{"set", ""}, func() error {
			return firstError(w.AddOnce(ctx, "token", bloom.SumString("c")))
		}},
		{"Add to a new Window", []string{"setrange", "pexpire", ""}, func() error {
			return firstError(bloom.Must(OpenWindow(ctx, client, "new", visits)).AddString(ctx, "a"))
		}},
	} {
		before := []string{client.Dump(ctx, "f").Val(), client.Dump(ctx, "w").Val()}
		for _, right := range test.rights {
			want, allow := "OOM ",
				func() { require.NoError(t, client.ConfigSet(ctx, "maxmemory", "0").Err()) }
			if right != "" {
				want, allow = cannotRun, forbid(t, client, right)
			} else {
				require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
			}
			assert.Regexp(t, want, test.call(), "%s without %q", test.name, right)
			allow()
			assert.Equal(t, before,
				[]string{client.Dump(ctx, "f").Val(), client.Dump(ctx, "w").Val()}, "%s without %q",
				test.name, right)
			assert.Zero(t, client.Exists(ctx, "new").Val())
		}
		require.NoError(t, test.call(), test.name)
	}
}

func TestOpenExisting(t *testing.T) {
	client := startServer(t).client()
	require.ErrorIs(t, firstError(OpenExisting(ctx, client, "f")), redis.Nil)
	f := openFilter(t, client, 1000, 0.001)
	mustAdd(t, f, bloom.SumString("a"))

	before := dump(client)
	g := bloom.Must(OpenExisting(ctx, client, "f"))
	assert.Equal(t, f.opened(), g.opened())
	assert.EqualValues(t, 14400, g.M())
	assert.Equal(t, 10, g.K())
	assert.EqualValues(t, client.StrLen(ctx, "f").Val(), g.SizeBytes())
	assert.Equal(t, before, dump(client))

	// One that Guava wrote, which has nothing beside it.
	data := bloom.Must(bloom.Must(bloom.NewSize(640, 3)).MarshalBinary())
	require.NoError(t, client.Set(ctx, "java", data, 0).Err())
	g = bloom.Must(OpenExisting(ctx, client, "java"))
	assert.Empty(t, full(t, g).Version)
	requireAdded(t, g, true, bloom.SumString("a"))
	assert.NotEmpty(t, full(t, g).Version)

	data[0] = 0 // Mitz32
	for _, other := range []string{string(data), "", "x", string(data[:80])} {
		require.NoError(t, client.Set(ctx, "f", other, 0).Err())
		require.ErrorContains(t, firstError(OpenExisting(ctx, client, "f")), "bloomredis: key",
			"%q", other)
		require.NotErrorIs(t, firstError(OpenExisting(ctx, client, "f")), redis.Nil)
	}
}

func TestResetAndDelete(t *testing.T) {
	client := startServer(t).client()
	for name, kind := range kinds {
		s := bloom.Must(kind.open(client, 1000))
		mustAdd(t, s, hashes(0, 100)...)
		require.NoError(t, s.Reset(ctx))
		stats := bloom.Must(s.Stats(ctx))
		assert.Zero(t, stats.OnesCount, name)
		requireAdded(t, s, true, hashes(0, 1)...)
		for range 2 {
			require.NoError(t, s.Delete(ctx))
			assert.Empty(t, dump(client), name)
		}
	}
	// What is left beside a string that somebody deleted goes, too.
	f := openFilter(t, client, 1000, 0.001)
	require.NoError(t, client.Del(ctx, "f").Err())
	require.NoError(t, f.Delete(ctx))
	assert.Empty(t, dump(client))
}

// Calls end with their context, whatever the client's options are, and the end of a
// connection is an error.
func TestServerGoesAway(t *testing.T) {
	s := startServer(t)
	p := startProxy(t, s.addr)
	options := patient(p.addr())
	options.MaxRetries, options.DialerRetries = 1, 1
	client := redis.NewClient(options)
	defer client.Close()
	f := openFilter(t, client, 100_000, 0.01)
	mustAdd(t, f, bloom.SumString("a"))
	calls := map[string]func(context.Context) error{
		"Add":      func(ctx context.Context) error { return firstError(f.AddString(ctx, "a")) },
		"AddBatch": func(ctx context.Context) error { return f.AddBatch(ctx, nil, hashes(0, 1000)) },
		"AddOnce": func(ctx context.Context) error {
			return firstError(f.AddOnce(ctx, "token", hashes(0, 1000)...))
		},
		"Contains": func(ctx context.Context) error {
			return firstError(f.ContainsString(ctx, "a"))
		},
		"ContainsBatch": func(ctx context.Context) error {
			return f.ContainsBatch(ctx, make([]bool, 1000), hashes(0, 1000))
		},
		"Snapshot": func(ctx context.Context) error { return firstError(f.Snapshot(ctx)) },
		"Fetch":    func(ctx context.Context) error { return firstError(f.Source().Fetch(ctx, "")) },
		"Merge": func(ctx context.Context) error {
			return f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01)))
		},
		"Open": func(ctx context.Context) error {
			return firstError(Open(ctx, f.client, "f", 100_000, 0.01))
		},
		"OpenWindow": func(ctx context.Context) error {
			return firstError(OpenWindow(ctx, f.client, "w", visits))
		},
	}
	check := func(begin func() (context.Context, context.CancelFunc), want error) {
		for name, call := range calls {
			ctx, cancel := begin()
			ended := make(chan error, 1)
			go func() { ended <- call(ctx) }()
			// The client's own time-out is another error.
			require.ErrorIs(t, receive(t, ended), want, name)
			cancel()
		}
	}
	canceled := func(ctx context.Context, cancel context.CancelFunc) (context.Context, context.CancelFunc) {
		cancel()
		return ctx, cancel
	}
	p.held.Store(true)
	check(func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 20*time.Millisecond)
	}, context.DeadlineExceeded)
	check(func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		return ctx, cancel
	}, context.Canceled)
	p.held.Store(false)
	check(func() (context.Context, context.CancelFunc) {
		return canceled(context.WithCancel(ctx))
	}, context.Canceled)
	p.cut()
	for name, call := range calls {
		assert.NoError(t, call(ctx), name)
	}
	s.kill()
	for name, call := range calls {
		assert.Error(t, call(ctx), name)
	}
}

// TestNoClient: a forgotten client is named, and by the goroutine that forgot it.
func TestNoClient(t *testing.T) {
	for _, ctx := range []context.Context{ctx, t.Context()} {
		calls := []func(){
			func() { _, _ = Open(ctx, nil, "f", 100, 0.01) },
			func() { _, _ = OpenWindow(ctx, nil, "w", visits) },
			func() { _ = DeleteWindow(ctx, nil, "w") },
			func() { _, _ = new(Filter).Snapshot(ctx) },
			func() { _, _ = new(Filter).Source().Fetch(ctx, "") },
			func() { _ = new(Filter).Reopen(ctx) },
			func() { _ = new(Sharded).Reopen(ctx) },
			func() { _, _ = new(Filter).Info(ctx) },
			func() { _ = new(Filter).UpdateInfo(ctx, func(*bloom.Info) {}) },
			func() { _, _ = new(Window).Reach(ctx) },
		}
		for _, s := range []set{new(Filter), new(Sharded), new(Window)} {
			calls = append(calls, func() { _, _ = s.AddString(ctx, "a") }, func() { _, _ = s.Stats(ctx) },
				func() { _ = s.Reset(ctx) }, func() { _ = s.Delete(ctx) })
		}
		for _, call := range calls {
			assert.PanicsWithValue(t, errNotOpen, call)
		}
	}
}

// TestNoRoom: a batch without room for its answers panics before it writes or asks.
func TestNoRoom(t *testing.T) {
	for _, s := range []set{new(Filter), new(Sharded), new(Window)} {
		for _, batch := range []func(context.Context, []bool, []bloom.Hash) error{
			s.AddBatch, s.ContainsBatch,
		} {
			room := []bool{true, false, true}
			const want = "bloomredis: batch of 3 keys with room for 1 results"
			assert.PanicsWithValue(t, want, func() { _ = batch(ctx, room[:1], hashes(0, 3)) })
			assert.Equal(t, []bool{true, false, true}, room)
		}
	}
}

// A server, or a proxy, that refuses a change of the Info without a reason is an error, and not asked
// forever.
func TestInfoIsNotChanged(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f := openFilter(t, client, 1000, 0.01)
	there := client.Get(ctx, f.ident).Val()
	scripts := 0
	client.AddHook(hook(func(
		ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook,
	) error {
		script, ok := cmds[0].(noRetry)
		if !ok {
			return send(ctx, cmds)
		}
		scripts++
		if scripts == 100 {
			return errors.New("asked forever")
		}
		script.SetVal(there)
		return nil
	}))
	err := f.UpdateInfo(ctx, func(i *bloom.Info) { i.Comment = "x" })
	require.ErrorContains(t, err, "unexpected reply")
	require.Equal(t, 1, scripts)
}

// Redis keeps with the filter what it was made for and how its keys are hashed, for all who
// open, copy and merge it.
func TestInfoTravels(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f, other := openFilter(t, client, 1000, 0.01), openFilter(t, client, 1000, 0.01)
	info := func() bloom.Info {
		t.Helper()
		for _, f := range []*Filter{f, bloom.Must(OpenExisting(ctx, client, "f"))} {
			i := bloom.Must(f.Info(ctx))
			g := bloom.Must(f.Snapshot(ctx))
			require.Equal(t, i, g.Info())
			require.Equal(t, i, full(t, f).Full.Info())
		}
		i := bloom.Must(f.Info(ctx))
		return i
	}
	require.Equal(t, bloom.Info{N: 1000, P: 0.01}, info())

	g := bloom.Must(bloom.New(1000, 0.01))
	require.NoError(t, f.Merge(ctx, g))
	g.UpdateInfo(func(i *bloom.Info) { i.Hash = "sha1" })
	require.NoError(t, f.Merge(ctx, g))
	require.Equal(t, bloom.Info{N: 1000, P: 0.01, Hash: "sha1"}, info(), "taken over")
	require.NoError(t, other.UpdateInfo(ctx, func(i *bloom.Info) {
		i.Comment, i.Meta = "<é>", "field=2"
	}))
	want := bloom.Info{N: 1000, P: 0.01, Hash: "sha1", Comment: "<é>", Meta: "field=2"}
	require.Equal(t, want, info())
	g.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" })
	g.AddString("a")
	require.ErrorIs(t, f.Merge(ctx, g), bloom.ErrMismatch)
	for text, wrong := range map[string]bloom.Info{ // other Infos, whole
		"its Info has N = 1000, not 1001":             {N: 1001, P: 0.01, Hash: "sha1"},
		"its Info has P = 0.01, not 0.02":             {N: 1000, P: 0.02, Hash: "sha1"},
		`its Info has Hash = "sha1", not "SumString"`: {Hash: "SumString"},
	} {
		err := other.UpdateInfo(ctx, func(i *bloom.Info) { *i = wrong })
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, text)
	}
	before := dump(client)
	for text, wrong := range map[string]bloom.Info{
		"P = 1 is outside":             {P: 1},
		"P = NaN is outside":           {P: math.NaN()},
		"Hash) = 256 is more":          {Hash: strings.Repeat("x", 256)},
		"Hash = \"\\xff\\xfe\" is not": {Hash: "\xff\xfe"},
		"Comment) = 4097 is more":      {Comment: strings.Repeat("x", 4097)},
		"Comment = \"a\\x80\" is not":  {Comment: "a\x80"},
		"Info.Meta":                    {Meta: "b=1&a=2"},
	} {
		require.ErrorContains(t, f.UpdateInfo(ctx, func(i *bloom.Info) { *i = wrong }), text)
		g := bloom.Must(bloom.New(1000, 0.01))
		if g.UpdateInfo(func(i *bloom.Info) { *i = wrong }); wrong.Hash != "" {
			require.ErrorContains(t, f.Merge(ctx, g), text)
		}
	}
	require.Equal(t, before, dump(client), "refused before a script runs")
	require.Zero(t, stored(t, f).OnesCount())
	require.NoError(t, f.Reset(ctx))
	require.Equal(t, want, info(), "Reset keeps it")

	// It can be emptied, but for the values that others rely on: these are not changed to others.
	require.NoError(t, f.UpdateInfo(ctx, func(i *bloom.Info) { i.Comment, i.Meta = "", "" }))
	require.Equal(t, bloom.Info{N: 1000, P: 0.01, Hash: "sha1"}, info())
	require.NoError(t, f.UpdateInfo(ctx, func(i *bloom.Info) { *i = bloom.Info{} }))
	require.Zero(t, info())
	require.NoError(t, f.UpdateInfo(ctx, func(i *bloom.Info) { *i = want }))

	// Calls are one after the other: of facts that two processes add, none is lost.
	var wg sync.WaitGroup
	for _, f := range []*Filter{f, other} {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 50 {
				assert.NoError(t, f.UpdateInfo(ctx, func(i *bloom.Info) { i.Comment += "x" }))
			}
		}()
	}
	wg.Wait()
	require.Equal(t, want.Comment+strings.Repeat("x", 100), info().Comment)
	require.PanicsWithValue(t, 7, func() { _ = f.UpdateInfo(ctx, func(*bloom.Info) { panic(7) }) })
	require.Equal(t, want.Hash, info().Hash, "usable after a panic")

	// Of two that set another Hash concurrently, one hears of it.
	require.NoError(t, f.Delete(ctx))
	require.NoError(t, f.Reopen(ctx))
	late := clientOf(t, client.Options().Addr)
	l := bloom.Must(OpenExisting(ctx, late, "f"))
	first := true
	late.AddHook(afterwards(func(args []any) {
		if args[0] == "GETRANGE" && args[1] == l.ident && first {
			first = false
			require.NoError(t, f.UpdateInfo(ctx, func(i *bloom.Info) { i.Hash = "sha1" }))
		}
	}))
	require.ErrorIs(t, l.UpdateInfo(ctx, func(i *bloom.Info) {
		i.Hash = "SumString"
	}), bloom.ErrMismatch)
	require.Equal(t, "sha1", info().Hash)

	// A filter that others created has none, until somebody says it.
	client.FlushAll(ctx)
	require.NoError(t, client.Set(ctx, "f", bloom.Must(g.MarshalBinary()), 0).Err())
	f = bloom.Must(OpenExisting(ctx, client, "f"))
	require.Zero(t, info())
	require.NoError(t, f.UpdateInfo(ctx, func(i *bloom.Info) { i.N, i.Hash = 7, "sha1" }))
	require.Equal(t, bloom.Info{N: 7, Hash: "sha1"}, info())
	requireFound(t, f, true, bloom.SumString("a"))
}

// Guava reads the string under the key, and this package what Guava writes there.
func TestGuavaReadsTheKey(t *testing.T) {
	const jar = "/usr/share/java/guava.jar"
	java, err := exec.LookPath("java")
	if err == nil {
		_, err = os.Stat(jar)
	}
	if err != nil {
		if os.Getenv("BLOOM_REQUIRE_JAVA") != "" {
			t.Fatal("BLOOM_REQUIRE_JAVA is set, and: ", err)
		}
		t.Skip("there is no Java with Guava, which Debian has in packages default-jdk-headless "+
			"and libguava-java: ", err)
	}
	client := startServer(t).client()
	f := openFilter(t, client, 10_000, 1e-4)
	for i := range 1000 {
		mustAdd(t, f, bloom.SumString("key"+strconv.Itoa(i)))
	}

	cmd := exec.Command(java, "-cp", jar, "testdata/Guava.java")
	data := bloom.Must(client.Get(ctx, "f").Bytes())
	cmd.Stdin = bytes.NewReader(data)
	var said bytes.Buffer
	cmd.Stderr = &said
	written, err := cmd.Output()
	require.NoError(t, err, "%s", &said)
	assert.Equal(t, "1000 of 1000, "+strconv.FormatUint(stored(t, f).ApproxCount(), 10)+" in all\n",
		said.String())

	requireFound(t, f, false, bloom.SumString("from Java"))
	require.NoError(t, client.Set(ctx, "f", written, 0).Err())
	requireFound(t, f, true, bloom.SumString("from Java"))
}

func TestSharded(t *testing.T) { testSharded(t, startServer(t).client()) }

func testSharded(t *testing.T, client redis.UniversalClient) {
	const n, p, shards = 10_000, 0.01, 7
	s := bloom.Must(OpenSharded(ctx, client, "s", ShardedConfig{Shards: shards, N: n, P: p}))
	added := bloom.Must(addBatch(ctx, s, hashes(0, n/2)))
	assert.Greater(t, count(added), n/2*99/100)

	// Another process finds the same, one by one and in a batch that keeps order.
	s = bloom.Must(OpenSharded(ctx, client, "s", ShardedConfig{Shards: shards, N: n, P: p}))
	keys := append(hashes(n/2-100, n/2), hashes(1<<40, 1<<40+100)...)
	found := bloom.Must(containsBatch(ctx, s, keys))
	for i, h := range keys {
		one := bloom.Must(s.ContainsHash(ctx, h))
		assert.Equal(t, one, found[i])
	}
	assert.NotContains(t, found[:100], false)
	assert.Contains(t, found[100:], false)
	requireAdded(t, s, false, keys[:100]...)
	// Shards are filters, which can be replicated and merged.
	for _, f := range s.Shards() {
		r := replica.New(f.Source(), replica.Config{})
		require.NoError(t, r.Refresh(ctx))
		g := r.Snapshot()
		g.AddString("merged")
		require.NoError(t, f.Merge(ctx, g))
		require.NoError(t, r.Refresh(ctx))
		assert.True(t, r.ContainsString("merged"))
	}

	shown := s.Shards() // the caller's to change
	slices.Reverse(shown)
	requireAdded(t, s, false, keys[:100]...)

	same := bloom.Must(OpenExistingSharded(ctx, client, "s"))
	assert.Equal(t, s.String(), same.String())
	var ones, count uint64
	var fpr float64
	for _, f := range s.Shards() {
		g := stored(t, f)
		ones += g.OnesCount()
		count += g.ApproxCount()
		fpr += g.FPR() / shards
	}
	stats := bloom.Must(same.Stats(ctx))
	first := s.Shards()[0]
	assert.Equal(t, bloom.Stats{M: shards * first.M(), K: first.K(), OnesCount: ones,
		FillRatio: stats.FillRatio, ApproxCount: count, FPR: stats.FPR, SizeBytes: s.SizeBytes()}, stats)
	assert.InEpsilon(t, fpr, stats.FPR, 1e-9)
	assert.InEpsilon(t, float64(ones)/float64(shards*first.M()), stats.FillRatio, 1e-9)
	assert.EqualValues(t, shards*(6+first.M()/8), s.SizeBytes())

	require.ErrorIs(t, firstError(OpenSharded(ctx, client, "s",
		ShardedConfig{Shards: shards, N: 2 * n, P: p})), bloom.ErrMismatch)

	require.NoError(t, s.Delete(ctx))
	for i := range shards {
		assert.Zero(t, client.Exists(ctx, fmt.Sprintf("{s:%d}", i), fmt.Sprintf("adds:{s:%d}", i),
			fmt.Sprintf("id:{s:%d}", i)).Val())
	}
	require.ErrorIs(t, firstError(OpenExistingSharded(ctx, client, "s")), redis.Nil)
}

// The number of shards is what the first OpenSharded said, or nobody knows it. All are alike.
func TestShardedNumber(t *testing.T) {
	client := startServer(t).client()
	s := bloom.Must(OpenSharded(ctx, client, "s", ShardedConfig{Shards: 3, N: 1000, P: 0.01}))
	for _, shards := range []int{2, 4} {
		_, err := OpenSharded(ctx, client, "s",
			ShardedConfig{Shards: shards, N: uint64(shards) * 334, P: 0.01})
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, fmt.Sprintf("it is one of 3 shards, want %d", shards))
	}
	for shard, shards := range map[int]string{0: "0", 1: "2", 2: "-1"} {
		f := s.shards[shard]
		require.NoError(t, client.Set(ctx, f.ident, identityMark+nonce()+`{"Shards":`+shards+`}`,
			0).Err())
		require.ErrorIs(t, firstError(OpenExistingSharded(ctx, client, "s")), bloom.ErrMismatch)
		require.NoError(t, client.Set(ctx, f.ident, identityMark+nonce()+`{"Shards":3}`, 0).Err())

		require.NoError(t, client.Rename(ctx, f.key, "saved").Err())
		require.NoError(t, client.Set(ctx, f.key,
			bloom.Must(bloom.Must(bloom.New(1000, 0.01)).MarshalBinary()), 0).Err())
		require.ErrorIs(t, firstError(OpenExistingSharded(ctx, client, "s")), bloom.ErrMismatch)
		require.NoError(t, client.Rename(ctx, "saved", f.key).Err())
	}
	require.NoError(t, firstError(OpenExistingSharded(ctx, client, "s")))
	// A number of keys that does not divide is rounded up.
	for n, each := range map[uint64]uint64{99: 33, 100: 34, 101: 34, 102: 34} {
		s := bloom.Must(OpenSharded(ctx, client, fmt.Sprint(n), ShardedConfig{Shards: 3, N: n, P: 1e-6}))
		assert.Equal(t, bloom.Must(bloom.New(each, 1e-6)).M(), s.Shards()[2].M(), n)
	}
}

// Routing spreads keys evenly, says nothing about indexes, and stays as it is.
func TestRoute(t *testing.T) {
	const shards, n = 8, 80_000
	s := &Sharded{shards: make([]*Filter, shards)}
	var count, odd [shards]int
	for _, h := range hashes(0, n) {
		count[s.route(h)]++
		h1, _ := h.Words()
		odd[s.route(h)] += int(h1 & 1)
	}
	for i := range shards {
		sigma := math.Sqrt(n / shards * (1 - 1.0/shards))
		assert.InDelta(t, n/shards, count[i], 5*sigma)
		assert.InDelta(t, count[i]/2, odd[i], 5*math.Sqrt(float64(count[i]))/2)
	}
	s = &Sharded{shards: make([]*Filter, 1000)}
	var routes []int
	for _, h := range hashes(0, 8) {
		routes = append(routes, s.route(h))
	}
	assert.Equal(t, []int{604, 848, 674, 355, 261, 841, 701, 152}, routes)
}

// TestFileAndBack: a filter in a file goes to Redis with its Info, and back with what was added
// there.
func TestFileAndBack(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	path := filepath.Join(t.TempDir(), "seen.bloom")
	f := bloom.Must(bloom.New(1000, 0.01))
	f.AddString("a")
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "SumString" })
	require.NoError(t, f.SaveFile(path))

	f = bloom.Must(bloom.LoadFile(path))
	seen := bloom.Must(Open(ctx, client, "seen", f.Info().N, f.Info().P))
	require.NoError(t, seen.Merge(ctx, f))
	mustAdd(t, seen, bloom.SumString("b"))
	require.NoError(t, bloom.Must(seen.Snapshot(ctx)).SaveFile(path))

	f = bloom.Must(bloom.LoadFile(path))
	assert.True(t, f.ContainsString("a"))
	assert.True(t, f.ContainsString("b"))
	assert.False(t, f.ContainsString("c"))
	assert.Equal(t, "SumString", f.Info().Hash)
}
