package bloomredis

import (
	"context"
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
		var want []bool
		for _, h := range keys {
			want = append(want, local.AddHash(h))
		}
		got, err := f.AddBatch(ctx, keys)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.True(t, stored(t, f).Equal(local))

		keys = hashes(0, 1500)
		got, err = f.ContainsBatch(ctx, keys)
		require.NoError(t, err)
		require.Equal(t, local.ContainsBatch(nil, keys), got)
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

func TestKeysAreHashed(t *testing.T) {
	f, err := Open(ctx, startServer(t).client(), "f", 1000, 0.001)
	require.NoError(t, err)
	added, err := f.Add(ctx, []byte("a"))
	require.NoError(t, err)
	assert.True(t, added)
	added, err = f.AddString(ctx, "a")
	require.NoError(t, err)
	assert.False(t, added)
	_, err = f.AddString(ctx, "b")
	require.NoError(t, err)
	for key, want := range map[string]bool{"a": true, "b": true, "c": false} {
		found, err := f.Contains(ctx, []byte(key))
		require.NoError(t, err)
		assert.Equal(t, want, found)
		found, err = f.ContainsString(ctx, key)
		require.NoError(t, err)
		assert.Equal(t, want, found)
	}
	for _, empty := range [][]bloom.Hash{nil, {}} {
		got, err := f.AddBatch(ctx, empty)
		require.NoError(t, err)
		assert.Empty(t, got)
		got, err = f.ContainsBatch(ctx, empty)
		require.NoError(t, err)
		assert.Empty(t, got)
	}
}

// Every bit is where the package comment says, for Redis's own commands.
func TestBitNumbers(t *testing.T) {
	client := startServer(t).client()
	f, err := Open(ctx, client, "f", 100, 0.01)
	require.NoError(t, err)
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
	f, err := Open(ctx, s.client(), "f", 1e6, 0.01)
	require.NoError(t, err)
	found, err := f.ContainsBatch(ctx, hashes(0, racers))
	require.NoError(t, err)
	for i := range racers {
		assert.True(t, found[i])
		assert.True(t, added[i])
	}
}

func TestOpenFindsSomethingElse(t *testing.T) {
	client := startServer(t).client()
	set := func(data []byte) func() { return func() { client.Set(ctx, "f", data, 0) } }
	encode := func(f *bloom.Filter, err error) []byte {
		require.NoError(t, err)
		data, err := f.MarshalBinary()
		require.NoError(t, err)
		return data
	}
	same := encode(bloom.New(1000, 0.01))
	for _, test := range []struct {
		name string
		put  func()
		is   error
		want string
	}{
		{"other m", set(encode(bloom.New(2000, 0.01))), bloom.ErrMismatch, "holds a filter of m = 19200, k = 7, strategy = Mitz64, want m = 9600, k = 7, strategy = Mitz64"},
		{"other k", set(encode(bloom.NewSize(9600, 8))), bloom.ErrMismatch, "holds a filter of m = 9600, k = 8, strategy = Mitz64"},
		{"other strategy", set(encode(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01))), bloom.ErrMismatch, "holds a filter of m = 9600, k = 7, strategy = Mitz32"},
		{"too short", set(same[:len(same)-1]), bloom.ErrFormat, "holds no filter but 1205 bytes that start 01 07 00 00 00 96"},
		{"too long", set(append(same[:len(same):len(same)], 0)), bloom.ErrFormat, "holds no filter but 1207 bytes"},
		{"text", set([]byte("hello, world")), bloom.ErrFormat, "holds no filter but 12 bytes that start 68 65 6c 6c 6f 2c"},
		{"a few bytes", set([]byte{1}), bloom.ErrFormat, "holds no filter but 1 bytes that start 01"},
		{"empty", set(nil), bloom.ErrFormat, "holds no filter but 0 bytes"},
		{"list", func() { client.RPush(ctx, "f", "x") }, bloom.ErrFormat, "holds a list"},
		{"hash", func() { client.HSet(ctx, "f", "x", "y") }, bloom.ErrFormat, "holds a hash"},
		{"stream", func() { client.XAdd(ctx, &redis.XAddArgs{Stream: "f", Values: []string{"x", "y"}}) }, bloom.ErrFormat, "holds a stream"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			test.put()
			before := client.Dump(ctx, "f").Val()
			_, err := Open(ctx, client, "f", 1000, 0.01)
			require.ErrorIs(t, err, test.is)
			require.ErrorContains(t, err, `bloomredis: key "f"`)
			require.ErrorContains(t, err, test.want)
			assert.Equal(t, before, client.Dump(ctx, "f").Val())
			assert.EqualValues(t, 1, client.DBSize(ctx).Val())
		})
	}
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
		{"f", 100, 0, "bloomredis: p = 0 is outside"},
		{"f", 100, 1, "bloomredis: p = 1 is outside"},
		{"f", 100, math.NaN(), "bloomredis: p = NaN is outside"},
		{"f", 100, -1, "bloomredis: p = -1 is outside"},
		{"f", 1, 1e-100, "bloomredis: k = 332 is outside"},
		{"f", 500e6, 0.01, "bloomredis: n = 500000000, p = 0.01 need m = 4792529188 bits, but a Redis string holds 536870912 bytes: use OpenSharded"},
		{"f", math.MaxUint64, 0.01, "use OpenSharded"},
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

// Calls end with their context, whatever the client was told about time, and the
// end of a connection is an error.
func TestServerGoesAway(t *testing.T) {
	s := startServer(t)
	p := startProxy(t, s.addr)
	client := redis.NewClient(&redis.Options{Addr: p.addr(), MaxRetries: 1, DialerRetries: 1})
	defer client.Close()
	f, err := Open(ctx, client, "f", 100_000, 0.01)
	require.NoError(t, err)
	_, err = f.AddString(ctx, "a")
	require.NoError(t, err)
	calls := map[string]func(context.Context) (any, error){
		"Add":           func(ctx context.Context) (any, error) { return f.AddString(ctx, "a") },
		"AddBatch":      func(ctx context.Context) (any, error) { return f.AddBatch(ctx, hashes(0, 1000)) },
		"Contains":      func(ctx context.Context) (any, error) { return f.ContainsString(ctx, "a") },
		"ContainsBatch": func(ctx context.Context) (any, error) { return f.ContainsBatch(ctx, hashes(0, 1000)) },
		"Snapshot":      func(ctx context.Context) (any, error) { return f.Snapshot(ctx) },
		"Fetch":         func(ctx context.Context) (any, error) { return f.Source().Fetch(ctx, "") },
		"Merge": func(ctx context.Context) (any, error) {
			return nil, f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01)))
		},
		"Open": func(ctx context.Context) (any, error) { return Open(ctx, f.client, "f", 100_000, 0.01) },
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

// A lost reply must not make a key look as if it had been there before: the
// client would send the command again by itself.
func TestAddIsSentOnce(t *testing.T) {
	s := startServer(t)
	p := startProxy(t, s.addr)
	f, err := Open(ctx, clientOf(t, p.addr()), "f", 100_000, 0.01)
	require.NoError(t, err)
	_, err = f.AddString(ctx, "b") // loads the script
	require.NoError(t, err)
	direct, err := Open(ctx, s.client(), "f", 100_000, 0.01)
	require.NoError(t, err)
	p.hold(true)
	go func() {
		for found := false; !found && !t.Failed(); {
			var err error
			found, err = direct.ContainsString(ctx, "a")
			assert.NoError(t, err)
		}
		p.hold(false)
		p.cut()
	}()
	added, err := f.AddString(ctx, "a")
	require.Error(t, err)
	assert.False(t, added)
}

func TestScriptsAreLoadedAgain(t *testing.T) {
	client := startServer(t).client()
	f, err := Open(ctx, client, "f", 1000, 0.01)
	require.NoError(t, err)
	require.NoError(t, client.ScriptFlush(ctx).Err())
	added, err := f.AddString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, added)
}

// TestNoClient: a forgotten client is named, and by the goroutine that forgot it.
func TestNoClient(t *testing.T) {
	const want = "bloomredis: the client is nil, or the value was made without Open"
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		assert.PanicsWithValue(t, want, func() { _, _ = Open(ctx, nil, "f", 100, 0.01) })
		assert.PanicsWithValue(t, want, func() { _, _ = OpenWindow(ctx, nil, "w", WindowConfig{Capacity: 100, FPR: 0.01, Span: time.Hour}) })
		assert.PanicsWithValue(t, want, func() { _, _ = new(Filter).AddString(ctx, "a") })
	}
}
