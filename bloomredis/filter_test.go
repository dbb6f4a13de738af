package bloomredis

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A Filter answers as a bloom.Filter with the same keys, and its string is that filter's bytes.
func TestFilterIsBloomFilter(t *testing.T) {
	client := startServer(t).client()
	for _, test := range []struct {
		n uint64
		p float64
	}{{1, 0.5}, {100, 0.01}, {10_000, 1e-9}, {100_000, 0.03}, {20, 1e-70}} {
		f, err := Open(ctx, client, "f-"+strconv.FormatUint(test.n, 10), test.n, test.p)
		require.NoError(t, err)
		local := bloom.Must(bloom.New(test.n, test.p))
		require.True(t, stored(t, f).Equal(local))

		// One by one and in batches, with repetitions in and across batches.
		keys := append(hashes(0, 300), hashes(200, 500)...)
		for _, h := range keys[:20] {
			got, err := f.AddHash(ctx, h)
			require.NoError(t, err)
			require.Equal(t, local.AddHash(h), got)
		}
		got, err := addBatch(ctx, f, keys)
		require.NoError(t, err)
		want := make([]bool, len(keys))
		local.AddBatch(want, keys)
		require.Equal(t, want, got)
		require.True(t, stored(t, f).Equal(local))

		keys = hashes(0, 1500)
		got, err = containsBatch(ctx, f, keys)
		require.NoError(t, err)
		want = make([]bool, len(keys))
		local.ContainsBatch(want, keys)
		require.Equal(t, want, got)
		for i, h := range keys[490:510] {
			got, err := f.ContainsHash(ctx, h)
			require.NoError(t, err)
			require.Equal(t, want[490+i], got)
		}
		snapshot, err := f.Snapshot(ctx)
		require.NoError(t, err)
		require.True(t, snapshot.Equal(local))
		stats, err := f.Stats(ctx)
		require.NoError(t, err)
		require.Equal(t, local.Stats(), stats)
	}

	// Every bit is where the package comment says, for Redis's own commands.
	f, local := openFilter(t, client, 100, 0.01), bloom.Must(bloom.New(100, 0.01))
	for i := uint64(0); i < local.M(); i += 3 {
		local.AddHash(bloom.NewHash(i, 0)) // bit i
		require.NoError(t, client.SetBit(ctx, "f", 48+int64(i^63), 1).Err())
	}
	assert.True(t, stored(t, f).Equal(local))

	// A large one is counted in several steps.
	require.NoError(t, client.Del(ctx, "f").Err())
	f = openFilter(t, client, 30_000_000, 0.01)
	mustAdd(t, f, hashes(0, 10_000)...)
	stats, err := f.Stats(ctx)
	require.NoError(t, err)
	assert.Equal(t, stored(t, f).Stats(), stats)
}

// Keys are hashed alike by all methods of all types, and what they are is said without a server.
func TestKeysAreHashed(t *testing.T) {
	all := sets(t, startServer(t).client())
	for name, s := range all {
		for i, add := range []func(string) (bool, error){
			func(key string) (bool, error) { return s.Add(ctx, []byte(key)) },
			func(key string) (bool, error) { return s.AddString(ctx, key) },
			func(key string) (bool, error) { return s.AddHash(ctx, bloom.SumString(key)) },
		} {
			key := fmt.Sprint("key ", i)
			for _, want := range []bool{true, false} {
				added, err := add(key)
				require.NoError(t, err, name)
				assert.Equal(t, want, added, name)
			}
			for _, key := range []string{key, "absent"} {
				for _, contains := range []func() (bool, error){
					func() (bool, error) { return s.Contains(ctx, []byte(key)) },
					func() (bool, error) { return s.ContainsString(ctx, key) },
					func() (bool, error) { return s.ContainsHash(ctx, bloom.SumString(key)) },
				} {
					found, err := contains()
					require.NoError(t, err, name)
					assert.Equal(t, key != "absent", found, name)
				}
			}
		}
		requireAdded(t, s, true)
		requireFound(t, s, false, bloom.SumString("absent"))
	}
	assert.Equal(t, `bloomredis.Filter("f", m = 28755200, k = 7, strategy = Mitz64)`, fmt.Sprint(all["Filter"]))
	assert.Equal(t, `bloomredis.Sharded("s", 2 shards of m = 28755200, k = 7, strategy = Mitz64)`, fmt.Sprint(all["Sharded"]))
	assert.Equal(t, `bloomredis.Window("w", N = 3000000, P = 0.01, Span = 1000h0m0s, Generations = 7, Renew = false)`, fmt.Sprint(all["Window"]))
	assert.Contains(t, fmt.Sprint(new(Filter), new(Sharded), new(Window)), "bloomredis.Filter")
}

// Of many that open a filter at once, one makes it, and all use it.
func TestOpenRace(t *testing.T) {
	s := startServer(t)
	const racers = 16
	added := make(chan error, racers)
	for i := range racers {
		go func() {
			f, err := Open(ctx, s.client(), "f", 1e6, 0.01)
			if err == nil {
				var isNew bool
				if isNew, err = f.AddHash(ctx, bloom.SumUint64(uint64(i))); err == nil && !isNew {
					err = fmt.Errorf("%d was there", i)
				}
			}
			added <- err
		}()
	}
	for range racers {
		require.NoError(t, from(t, added))
	}
	requireFound(t, openFilter(t, s.client(), 1e6, 0.01), true, hashes(0, racers)...)
}

// Parameters that are out of range are errors that name them, and reach no server.
func TestParameters(t *testing.T) {
	client := clientOf(t, "127.0.0.1:1") // nobody's
	filter := func(key string, n uint64, p float64) error { return firstError(Open(ctx, client, key, n, p)) }
	sharded := func(key string, c ShardedConfig) error { return firstError(OpenSharded(ctx, client, key, c)) }
	window := func(change func(*WindowConfig)) error {
		c := WindowConfig{N: 1000, P: 0.01, Span: time.Hour}
		change(&c)
		_, err := OpenWindow(ctx, client, "w", c)
		size, err2 := c.SizeBytes()
		assert.Equal(t, err, err2)
		assert.Zero(t, size)
		return err
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{filter("f", 0, 0.01), "bloomredis: n = 0 "},
		{filter("f", 100, 0), "bloomredis: p = 0 is outside"},
		{filter("f", 100, 1), "bloomredis: p = 1 is outside"},
		{filter("f", 100, math.NaN()), "bloomredis: p = NaN is outside"},
		{filter("f", 100, -1), "bloomredis: p = -1 is outside"},
		{filter("f", 1, 1e-100), "k = 332 hashes"},
		{filter("f", 500e6, 0.01), "bloomredis: n = 500000000, p = 0.01 need m = 4792529216 bits, but a Redis string holds 536870912 bytes: use OpenSharded"},
		{filter("f", math.MaxUint64, 0.01), "bloomredis: n = 18446744073709551615, p = 0.01 take m = "},
		{filter("a}b", 100, 0.01), `bloomredis: key "a}b": it has a closing brace but no hash tag`},
		{sharded("s", ShardedConfig{-1, 100, 0.01}), "bloomredis: Shards = -1 is outside [1, 16384]"},
		{sharded("s", ShardedConfig{0, 100, 0.01}), "bloomredis: Shards = 0 is outside [1, 16384]"},
		{sharded("s", ShardedConfig{maxShards + 1, 100, 0.01}), "bloomredis: Shards = 16385 is outside [1, 16384]"},
		{sharded("{s}", ShardedConfig{2, 100, 0.01}), `bloomredis: key "{s}" of a Sharded has braces`},
		{sharded("s", ShardedConfig{2, math.MaxUint64, 0.01}), "(for a shard of N = 18446744073709551615, Shards = 2)"},
		{sharded("s", ShardedConfig{2, 0, 0.01}), "n = 0 "},
		{sharded("s", ShardedConfig{2, 100, 1}), "bloomredis: P = 1 is outside (0, 1)"},
		{window(func(c *WindowConfig) { c.N = 0 }), "bloomredis: N = 0 is not at least 1"},
		{window(func(c *WindowConfig) { c.N = math.MaxUint64 }), "bloomredis: N = 18446744073709551615, P = 0.01 need "},
		{window(func(c *WindowConfig) { c.P = 0 }), "bloomredis: P = 0 is outside"},
		{window(func(c *WindowConfig) { c.P = 1 }), "bloomredis: P = 1 is outside"},
		{window(func(c *WindowConfig) { c.P = math.NaN() }), "bloomredis: P = NaN is outside"},
		{window(func(c *WindowConfig) { c.Span = -1 }), "bloomredis: Span = -1ns is too short"},
		{window(func(c *WindowConfig) { c.Span = 7*time.Millisecond - 1 }), "is too short for 7 generations of a millisecond"},
		{window(func(c *WindowConfig) { c.Generations = -1 }), "bloomredis: Generations = -1 is outside [0, 15]"},
		{window(func(c *WindowConfig) { c.Generations = 16 }), "bloomredis: Generations = 16 is outside [0, 15]"},
		{firstError(OpenWindow(ctx, client, "a}b", visits)), "it has a closing brace but no hash tag"},
	} {
		assert.ErrorContains(t, test.err, test.want)
	}
}

func TestSlots(t *testing.T) {
	client := startServer(t, "--cluster-enabled", "yes").client()
	slot := func(key string) int64 {
		slot, err := client.ClusterKeySlot(ctx, key).Result()
		require.NoError(t, err)
		return slot
	}
	require.NotEqual(t, slot("a"), slot("b"))
	seen := make(map[string]string)
	for _, key := range []string{"a", "{a}", "a{b}c", "{", "a{b", "x{y}{z}", "{a}:adds", "adds:{a}", "adds:{{a}"} {
		for _, name := range []string{"adds", "merge-1"} {
			other, err := (caller{key: key}).beside(name)
			require.NoError(t, err)
			assert.Equal(t, slot(key), slot(other), "%s %s", key, other)
			assert.Empty(t, seen[other], "%s also belongs to %s", other, key)
			seen[other] = key
		}
	}
	for _, key := range []string{"}", "a{}b", "a}b{c"} {
		_, err := (caller{key: key}).beside("adds")
		assert.Error(t, err, key)
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
		{"no right to the stream",
			func(*Filter) { client.Do(ctx, "ACL", "SETUSER", "default", "-xadd") },
			func(*Filter) { client.Do(ctx, "ACL", "SETUSER", "default", "+xadd") }, "can't run"},
		{"another type",
			func(f *Filter) { client.Rename(ctx, f.stream, "saved"); client.RPush(ctx, f.stream, "x") },
			func(f *Filter) { client.Rename(ctx, "saved", f.stream) }, "WRONGTYPE"},
		{"no more ids",
			func(f *Filter) { client.Do(ctx, "XSETID", f.stream, "18446744073709551615-18446744073709551615") },
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
				_, err := f.AddHash(ctx, h)
				assert.ErrorContains(t, err, test.want)
			}
			for range 2 {
				_, err := f.AddOnce(ctx, "token", hashes(0, 5)...)
				assert.ErrorContains(t, err, test.want)
			}
			assert.True(t, stored(t, f).Equal(before), "bits without their entry")

			test.mend(f)
			requireOnce(t, f, true, "token", hashes(0, 5)...)
			more, err := f.Source().Fetch(ctx, have.Version)
			require.NoError(t, err)
			if more.Full == nil {
				require.NoError(t, have.Full.Merge(more.Delta))
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
	add := func(s set) func() error { return func() error { return firstError(s.AddString(ctx, "b")) } }
	for _, test := range []struct {
		name   string
		rights []string
		call   func() error
	}{
		{"Filter.Add", []string{"bitfield", "xadd", ""}, add(f)},
		{"Filter.AddOnce", []string{"set", "xadd", ""}, func() error { return firstError(f.AddOnce(ctx, "token", bloom.SumString("c"))) }},
		{"Merge", []string{"xadd", ""}, func() error { return f.Merge(ctx, g) }},
		{"Reset", []string{"xadd", "unlink", "setrange", ""}, func() error { return f.Reset(ctx) }},
		{"Window.Add", []string{"setrange", "pexpire", ""}, add(w)},
		{"Window.AddOnce", []string{"set", ""}, func() error { return firstError(w.AddOnce(ctx, "token", bloom.SumString("c"))) }},
		{"Add to a new Window", []string{"setrange", "pexpire", ""}, func() error {
			return firstError(bloom.Must(OpenWindow(ctx, client, "new", visits)).AddString(ctx, "a"))
		}},
	} {
		before := []string{client.Dump(ctx, "f").Val(), client.Dump(ctx, "w").Val()}
		for _, right := range test.rights {
			want, allow := "OOM ", func() { require.NoError(t, client.ConfigSet(ctx, "maxmemory", "0").Err()) }
			if right != "" {
				want, allow = "can't run", forbid(t, client, right)
			} else {
				require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1").Err())
			}
			assert.ErrorContains(t, test.call(), want, "%s without %q", test.name, right)
			allow()
			assert.Equal(t, before, []string{client.Dump(ctx, "f").Val(), client.Dump(ctx, "w").Val()}, "%s without %q", test.name, right)
			assert.Zero(t, client.Exists(ctx, "new").Val())
		}
		require.NoError(t, test.call(), test.name)
	}
}

func TestOpenExisting(t *testing.T) {
	client := startServer(t).client()
	_, err := OpenExisting(ctx, client, "f")
	require.ErrorIs(t, err, redis.Nil)
	f := openFilter(t, client, 1000, 0.001)
	mustAdd(t, f, bloom.SumString("a"))

	before := dump(client)
	g, err := OpenExisting(ctx, client, "f")
	require.NoError(t, err)
	assert.Equal(t, f.opened(), g.opened())
	assert.EqualValues(t, 14400, g.M())
	assert.Equal(t, 10, g.K())
	assert.EqualValues(t, client.StrLen(ctx, "f").Val(), g.SizeBytes())
	assert.Equal(t, before, dump(client))

	// One that Guava wrote, which has nothing beside it.
	data, err := bloom.Must(bloom.NewSize(640, 3)).MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, client.Set(ctx, "java", data, 0).Err())
	g, err = OpenExisting(ctx, client, "java")
	require.NoError(t, err)
	assert.Empty(t, full(t, g).Version)
	requireAdded(t, g, true, bloom.SumString("a"))
	assert.NotEmpty(t, full(t, g).Version)

	data[0] = 0 // Mitz32
	for _, other := range []string{string(data), "", "x", string(data[:80])} {
		require.NoError(t, client.Set(ctx, "f", other, 0).Err())
		_, err := OpenExisting(ctx, client, "f")
		assert.Error(t, err, "%q", other)
		assert.NotErrorIs(t, err, redis.Nil)
	}
}

func TestResetAndDelete(t *testing.T) {
	client := startServer(t).client()
	for name, kind := range kinds {
		s, err := kind.open(client, 1000)
		require.NoError(t, err)
		mustAdd(t, s, hashes(0, 100)...)
		require.NoError(t, s.Reset(ctx))
		stats, err := s.Stats(ctx)
		require.NoError(t, err)
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
	client := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: 1, DialerRetries: 1})
	defer client.Close()
	f := openFilter(t, client, 100_000, 0.01)
	mustAdd(t, f, bloom.SumString("a"))
	calls := map[string]func(context.Context) error{
		"Add":           func(ctx context.Context) error { return firstError(f.AddString(ctx, "a")) },
		"AddBatch":      func(ctx context.Context) error { return f.AddBatch(ctx, nil, hashes(0, 1000)) },
		"AddOnce":       func(ctx context.Context) error { return firstError(f.AddOnce(ctx, "token", hashes(0, 1000)...)) },
		"Contains":      func(ctx context.Context) error { return firstError(f.ContainsString(ctx, "a")) },
		"ContainsBatch": func(ctx context.Context) error { return f.ContainsBatch(ctx, make([]bool, 1000), hashes(0, 1000)) },
		"Snapshot":      func(ctx context.Context) error { return firstError(f.Snapshot(ctx)) },
		"Fetch":         func(ctx context.Context) error { return firstError(f.Source().Fetch(ctx, "")) },
		"Merge":         func(ctx context.Context) error { return f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01))) },
		"Open":          func(ctx context.Context) error { return firstError(Open(ctx, f.client, "f", 100_000, 0.01)) },
		"OpenWindow":    func(ctx context.Context) error { return firstError(OpenWindow(ctx, f.client, "w", visits)) },
	}
	check := func(ctx func() context.Context, want error) {
		for name, call := range calls {
			ended := make(chan error, 1)
			go func() { ended <- call(ctx()) }()
			require.ErrorIs(t, from(t, ended), want, name) // the client's own time-out is another error
		}
	}
	p.hold(true)
	check(func() context.Context {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}, context.DeadlineExceeded)
	check(func() context.Context {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(20*time.Millisecond, cancel)
		return ctx
	}, context.Canceled)
	p.hold(false)
	check(func() context.Context {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx
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
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		for _, call := range []func(){
			func() { _, _ = Open(ctx, nil, "f", 100, 0.01) },
			func() { _, _ = OpenWindow(ctx, nil, "w", visits) },
			func() { _ = DeleteWindow(ctx, nil, "w") },
			func() { _, _ = new(Filter).AddString(ctx, "a") },
			func() { _, _ = new(Filter).Stats(ctx) },
			func() { _, _ = new(Filter).Snapshot(ctx) },
			func() { _, _ = new(Filter).Source().Fetch(ctx, "") },
			func() { _ = new(Filter).Reopen(ctx) },
			func() { _, _ = new(Filter).Info(ctx) },
			func() { _ = new(Filter).SetInfo(ctx, bloom.Info{}) },
			func() { _ = new(Filter).Reset(ctx) },
			func() { _ = new(Filter).Delete(ctx) },
			func() { _, _ = addBatch(ctx, new(Sharded), nil) },
			func() { _, _ = new(Sharded).Stats(ctx) },
			func() { _ = new(Sharded).Reset(ctx) },
			func() { _ = new(Sharded).Reopen(ctx) },
			func() { _ = new(Sharded).Delete(ctx) },
			func() { _, _ = new(Window).AddString(ctx, "a") },
			func() { _, _ = new(Window).Stats(ctx) },
			func() { _ = new(Window).Reset(ctx) },
			func() { _ = new(Window).Delete(ctx) },
		} {
			assert.PanicsWithValue(t, errNotOpen, call)
		}
	}
}

// Redis keeps with the filter what it was made for and how its keys are hashed, for all who
// open, copy and merge it.
func TestInfoTravels(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f, other := openFilter(t, client, 1000, 0.01), openFilter(t, client, 1000, 0.01)
	info := func() bloom.Info {
		t.Helper()
		for _, f := range []*Filter{f, bloom.Must(OpenExisting(ctx, client, "f"))} {
			i, err := f.Info(ctx)
			require.NoError(t, err)
			g, err := f.Snapshot(ctx)
			require.NoError(t, err)
			require.Equal(t, i, g.Info())
			require.Equal(t, i, full(t, f).Full.Info())
		}
		i, err := f.Info(ctx)
		require.NoError(t, err)
		return i
	}
	require.Equal(t, bloom.Info{N: 1000, P: 0.01}, info())

	g := bloom.Must(bloom.New(1000, 0.01))
	require.NoError(t, f.Merge(ctx, g))
	g.SetInfo(bloom.Info{Hash: "sha1"})
	require.NoError(t, f.Merge(ctx, g))
	require.Equal(t, bloom.Info{N: 1000, P: 0.01, Hash: "sha1"}, info(), "taken over")
	require.NoError(t, other.SetInfo(ctx, bloom.Info{Hash: "sha1", Comment: "<é>"}))
	want := bloom.Info{N: 1000, P: 0.01, Hash: "sha1", Comment: "<é>"}
	require.Equal(t, want, info())
	g.SetInfo(bloom.Info{Hash: "SumString"})
	g.AddString("a")
	require.ErrorIs(t, f.Merge(ctx, g), bloom.ErrMismatch)
	for _, wrong := range []bloom.Info{{N: 1001}, {P: 0.02}, {Hash: "SumString"}} {
		require.ErrorIs(t, other.SetInfo(ctx, wrong), bloom.ErrMismatch)
	}
	require.ErrorContains(t, f.SetInfo(ctx, bloom.Info{P: 1}), "P = 1 is outside")
	require.Zero(t, stored(t, f).OnesCount())
	require.NoError(t, f.Reset(ctx))
	require.Equal(t, want, info(), "Reset keeps it")

	// Of two that set another Hash at once, one hears of it.
	require.NoError(t, f.Delete(ctx))
	require.NoError(t, f.Reopen(ctx))
	late := clientOf(t, client.Options().Addr)
	l := bloom.Must(OpenExisting(ctx, late, "f"))
	first := true
	late.AddHook(afterwards(func(args []any) {
		if args[0] == "GETRANGE" && args[1] == l.ident && first {
			first = false
			require.NoError(t, f.SetInfo(ctx, bloom.Info{Hash: "sha1"}))
		}
	}))
	require.ErrorIs(t, l.SetInfo(ctx, bloom.Info{Hash: "SumString"}), bloom.ErrMismatch)
	require.Equal(t, "sha1", info().Hash)

	// A filter that others created has none, until somebody says it.
	client.FlushAll(ctx)
	require.NoError(t, client.Set(ctx, "f", bloom.Must(g.MarshalBinary()), 0).Err())
	f = bloom.Must(OpenExisting(ctx, client, "f"))
	require.Zero(t, info())
	require.NoError(t, f.SetInfo(ctx, bloom.Info{N: 7, Hash: "sha1"}))
	require.Equal(t, bloom.Info{N: 7, Hash: "sha1"}, info())
	requireFound(t, f, true, bloom.SumString("a"))
}
