package bloomredis

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

var ctx = context.Background()

func hashes(from, to uint64) (hs []bloom.Hash) {
	for i := from; i < to; i++ {
		hs = append(hs, bloom.SumUint64(i))
	}
	return hs
}

// stored returns what GET of the key reads as a filter.
func stored(t testing.TB, f *Filter) *bloom.Filter {
	t.Helper()
	data, err := f.client.Get(ctx, f.key).Bytes()
	require.NoError(t, err)
	g := new(bloom.Filter)
	require.NoError(t, g.UnmarshalBinary(data))
	return g
}

func TestFilterIsBloomFilter(t *testing.T) {
	client := startServer(t).client()
	for _, test := range []struct {
		n uint64
		p float64
	}{{1, 0.5}, {100, 0.01}, {10_000, 1e-9}, {100_000, 0.03}, {20, 1e-70}} {
		f, err := Open(ctx, client, "f-"+strconv.FormatUint(test.n, 10), test.n, test.p)
		require.NoError(t, err)
		local, err := bloom.New(test.n, test.p)
		require.NoError(t, err)
		require.True(t, stored(t, f).Equal(local))

		// One by one and in batches, with repetitions in and across batches.
		keys := append(hashes(0, 300), hashes(200, 500)...)
		for _, h := range keys[:20] {
			want := local.AddHash(h)
			got, err := f.AddHash(ctx, h)
			require.NoError(t, err)
			require.Equal(t, want, got)
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
		for _, h := range keys[490:510] {
			got, err := f.ContainsHash(ctx, h)
			require.NoError(t, err)
			require.Equal(t, local.ContainsHash(h), got)
		}
		snapshot, err := f.Snapshot(ctx)
		require.NoError(t, err)
		require.True(t, snapshot.Equal(local))
	}
}

// Keys are hashed alike by all methods of all types, and answers go behind those
// that are there.
func TestKeysAreHashed(t *testing.T) {
	for name, s := range sets(t, startServer(t).client()) {
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
		got, err := addBatch(ctx, s, nil)
		require.NoError(t, err)
		assert.Empty(t, got, name)
		got, err = containsBatch(ctx, s, []bloom.Hash{bloom.SumString("absent")})
		require.NoError(t, err)
		assert.Equal(t, []bool{false}, got, name)
	}
}

// What they are is said without a server, and without raw bytes.
func TestString(t *testing.T) {
	client := startServer(t).client()
	f := openFilter(t, client, 1000, 0.01)
	s, err := OpenSharded(ctx, client, "s", ShardedConfig{Shards: 2, N: 2000, P: 0.01})
	require.NoError(t, err)
	w := openWindow(t, client, visits)
	assert.Equal(t, `bloomredis.Filter("f", m = 9600, k = 7, strategy = Mitz64)`, fmt.Sprint(f))
	assert.Equal(t, `bloomredis.Sharded("s", 2 shards of m = 9600, k = 7, strategy = Mitz64)`, fmt.Sprint(s))
	assert.Equal(t, `bloomredis.Window("w", N = 100, P = 0.01, Span = 1h0m0s, Generations = 7, Renew = false)`, fmt.Sprint(w))
	assert.Contains(t, fmt.Sprint(new(Filter), new(Sharded), new(Window)), "bloomredis.Filter")
}

// Every bit is where the package comment says, for Redis's own commands.
func TestBitNumbers(t *testing.T) {
	client := startServer(t).client()
	f := openFilter(t, client, 100, 0.01)
	local, err := bloom.New(100, 0.01)
	require.NoError(t, err)
	for i := range local.M() {
		if i%3 == 0 {
			local.AddHash(bloom.NewHash(i, 0)) // bit i
			require.NoError(t, client.SetBit(ctx, "f", 48+int64(i^63), 1).Err())
		}
	}
	assert.True(t, stored(t, f).Equal(local))
}

func TestOpenRace(t *testing.T) {
	s := startServer(t)
	const racers = 16
	added := make([]bool, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f, err := Open(ctx, s.client(), "f", 1e6, 0.01)
			if err == nil {
				added[i], err = f.AddHash(ctx, bloom.SumUint64(uint64(i)))
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	f := openFilter(t, s.client(), 1e6, 0.01)
	found, err := containsBatch(ctx, f, hashes(0, racers))
	require.NoError(t, err)
	assert.NotContains(t, append(found, added...), false)
}

func TestOpenParameters(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"}) // nobody's; not reached
	defer client.Close()
	for _, test := range []struct {
		key  string
		n    uint64
		p    float64
		want string
	}{
		{"f", 0, 0.01, "bloomredis: n = 0 "},
		{"f", 100, 0, "bloomredis: p = 0 is outside"},
		{"f", 100, 1, "bloomredis: p = 1 is outside"},
		{"f", 100, math.NaN(), "bloomredis: p = NaN is outside"},
		{"f", 100, -1, "bloomredis: p = -1 is outside"},
		{"f", 1, 1e-100, "k = 332 hashes"},
		{"f", 500e6, 0.01, "bloomredis: n = 500000000, p = 0.01 need m = 4792529216 bits, but a Redis string holds 536870912 bytes: use OpenSharded"},
		{"f", math.MaxUint64, 0.01, "bloomredis: n = 18446744073709551615, p = 0.01 take m = "},
		{"a}b", 100, 0.01, `bloomredis: key "a}b": it has a closing brace but no hash tag`},
	} {
		_, err := Open(ctx, client, test.key, test.n, test.p)
		require.ErrorContains(t, err, test.want)
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
			added, err := f.AddOnce(ctx, "token", hashes(0, 5)...)
			require.NoError(t, err)
			assert.Equal(t, []bool{true, true, true, true, true}, added)
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

func TestStats(t *testing.T) {
	client := startServer(t).client()
	for _, test := range []struct{ n, keys uint64 }{{10, 0}, {10, 10}, {10, 1000}, {30_000_000, 10_000}} { // the last is counted in several steps
		require.NoError(t, client.FlushAll(ctx).Err())
		f := openFilter(t, client, test.n, 0.01)
		mustAdd(t, f, hashes(0, test.keys)...)
		got, err := f.Stats(ctx)
		require.NoError(t, err)
		assert.Equal(t, stored(t, f).Stats(), got)
	}
}

func TestResetAndDelete(t *testing.T) {
	client := startServer(t).client()
	f := openFilter(t, client, 1000, 0.001)
	mustAdd(t, f, hashes(0, 100)...)
	before := stored(t, f)
	for _, right := range []string{"xadd", "unlink", "setrange"} { // one refused, and nothing is lost
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "-"+right).Err())
		require.Error(t, f.Reset(ctx))
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "+"+right).Err())
		assert.True(t, stored(t, f).Equal(before), right)
	}
	require.NoError(t, f.Reset(ctx))
	assert.True(t, stored(t, f).Equal(bloom.Must(bloom.New(1000, 0.001))))
	requireAdded(t, f, true, hashes(0, 1)[0])

	require.NoError(t, f.Delete(ctx))
	assert.Empty(t, dump(client))
	require.NoError(t, f.Delete(ctx))

	// What is left beside a string that somebody deleted goes, too.
	f = openFilter(t, client, 1000, 0.001)
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
	calls := map[string]func(context.Context) (any, error){
		"Add":           func(ctx context.Context) (any, error) { return f.AddString(ctx, "a") },
		"AddBatch":      func(ctx context.Context) (any, error) { return addBatch(ctx, f, hashes(0, 1000)) },
		"AddOnce":       func(ctx context.Context) (any, error) { return f.AddOnce(ctx, "token", hashes(0, 1000)...) },
		"Contains":      func(ctx context.Context) (any, error) { return f.ContainsString(ctx, "a") },
		"ContainsBatch": func(ctx context.Context) (any, error) { return containsBatch(ctx, f, hashes(0, 1000)) },
		"Snapshot":      func(ctx context.Context) (any, error) { return f.Snapshot(ctx) },
		"Fetch":         func(ctx context.Context) (any, error) { return f.Source().Fetch(ctx, "") },
		"Merge": func(ctx context.Context) (any, error) {
			return nil, f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01)))
		},
		"Open":       func(ctx context.Context) (any, error) { return Open(ctx, f.client, "f", 100_000, 0.01) },
		"OpenWindow": func(ctx context.Context) (any, error) { return OpenWindow(ctx, f.client, "w", visits) },
	}
	t.Run("silent", func(t *testing.T) {
		p.hold(true)
		defer p.hold(false)
		for name, call := range calls {
			for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
				ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				if end == context.Canceled {
					ctx, cancel = context.WithCancel(context.Background())
					time.AfterFunc(20*time.Millisecond, cancel)
				}
				_, err := call(ctx)
				cancel()
				assert.ErrorIs(t, err, end, name) // the client's own time-out is another error
			}
		}
	})
	t.Run("ended", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		for name, call := range calls {
			_, err := call(ctx)
			assert.ErrorIs(t, err, context.Canceled, name)
		}
	})
	p.cut()
	t.Run("back", func(t *testing.T) {
		for name, call := range calls {
			_, err := call(ctx)
			assert.NoError(t, err, name)
		}
	})
	s.kill()
	t.Run("dead", func(t *testing.T) {
		for name, call := range calls {
			_, err := call(ctx)
			assert.Error(t, err, name)
		}
	})
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
