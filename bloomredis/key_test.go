package bloomredis

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// dump returns all that the server has.
func dump(client *redis.Client) map[string]string {
	all := make(map[string]string)
	for _, key := range client.Keys(ctx, "*").Val() {
		all[key] = client.Dump(ctx, key).Val()
	}
	return all
}

// opened is something that was opened under a key, and what can be called.
type opened struct {
	set
	string *caller // of the string that things happen to
	more   map[string]func() error
}

// kinds are what can be opened. All agree in the size of a string if small is
// equal.
var kinds = map[string]struct {
	key     string // of the string
	open    func(client *redis.Client, small bool) (opened, error)
	missing string // beside ErrLost, where the string is missing
}{
	"Filter": {"f", func(client *redis.Client, small bool) (opened, error) {
		n := uint64(2000)
		if small {
			n = 1000
		}
		f, err := Open(ctx, client, "f", n, 0.01)
		if err != nil {
			return opened{}, err
		}
		_, err = f.AddString(ctx, "a")
		if err != nil {
			return opened{}, err
		}
		return opened{f, &f.caller, map[string]func() error{
			"Snapshot": func() error { _, err := f.Snapshot(ctx); return err },
			"Stats":    func() error { _, err := f.Stats(ctx); return err },
			"Info":     func() error { _, err := f.Info(ctx); return err },
			"SetInfo":  func() error { return f.SetInfo(ctx, bloom.Info{Hash: "x"}) },
			"Reset":    func() error { return f.Reset(ctx) },
		}}, err
	}, "it holds nothing"},
	"Sharded": {"{s:0}", func(client *redis.Client, small bool) (opened, error) {
		c := ShardedConfig{2, 4000, 0.01}
		if small {
			c.N = 2000
		}
		s, err := OpenSharded(ctx, client, "s", c)
		if err != nil {
			return opened{}, err
		}
		_, err = s.AddString(ctx, "a")
		return opened{s, &s.shards[0].caller, map[string]func() error{
			"Stats": func() error { _, err := s.Stats(ctx); return err },
			"Reset": func() error { return s.Reset(ctx) },
		}}, err
	}, "it holds nothing"},
	"Window": {"w", func(client *redis.Client, small bool) (opened, error) {
		c := WindowConfig{N: 2000, P: 0.01, Span: 1000 * time.Hour}
		if small {
			c.N = 1000
		}
		w, err := OpenWindow(ctx, client, "w", c)
		if err != nil {
			return opened{}, err
		}
		_, err = w.AddString(ctx, "a")
		return opened{w, &w.caller, map[string]func() error{
			"Stats": func() error { _, err := w.Stats(ctx); return err },
			"Reset": func() error { return w.Reset(ctx) },
		}}, err
	}, "it is gone or was created anew"},
}

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
		happens func(key string, size int64, open func(small bool))
		open    error          // of opening it again; nil if that works
		says    map[string]any // part of what opening says, for some kinds
	}{
		{"deleted", func(key string, _ int64, _ func(bool)) { client.Del(ctx, key) }, nil, nil},
		{"all deleted", func(string, int64, func(bool)) { client.FlushAll(ctx) }, nil, nil},
		{"evicted", func(key string, _ int64, _ func(bool)) {
			client.ConfigSet(ctx, "maxmemory-policy", "allkeys-random")
			client.ConfigSet(ctx, "maxmemory", "1")
			require.Eventually(t, func() bool { return client.Exists(ctx, key).Val() == 0 }, time.Minute, time.Millisecond)
			client.ConfigSet(ctx, "maxmemory", "0")
		}, nil, nil},
		{"of a newer version", func(key string, _ int64, _ func(bool)) {
			client.SetRange(ctx, key, 18, "2")
			client.SetRange(ctx, "id:{f}", 18, "2")
			client.SetRange(ctx, "{s:0}:id", 18, "2")
		}, bloom.ErrVersion, nil},
		{"created anew", func(_ string, _ int64, open func(bool)) { client.FlushAll(ctx); open(true) }, nil, nil},
		{"created anew beside what is left", func(key string, _ int64, open func(bool)) { client.Del(ctx, key); open(true) }, nil, nil},
		{"another configuration", func(_ string, _ int64, open func(bool)) { client.FlushAll(ctx); open(false) }, bloom.ErrMismatch, map[string]any{
			"Filter":  "it holds a filter of m = 19200, k = 7, strategy = Mitz64, want m = 9600, k = 7, strategy = Mitz64",
			"Sharded": "it holds a filter of m = 19200",
			"Window":  "it holds a window of N = 2000, P = 0.01, Span = 1000h0m0s, Generations = 7, Renew = false, want N = 1000, P = ",
		}},
		{"cut by a byte", func(key string, size int64, _ func(bool)) {
			client.Set(ctx, key, client.GetRange(ctx, key, 0, size-2).Val(), 0)
		}, bloom.ErrFormat, map[string]any{
			"Filter": "it holds neither a filter nor a window but 1205 bytes that start 01 07 00 00 00 96",
			"Window": "bytes of a window of 3", // DeleteWindow helps
		}},
		{"cut to a few", func(key string, _ int64, _ func(bool)) {
			client.Set(ctx, key, client.GetRange(ctx, key, 0, 5).Val(), 0)
		}, bloom.ErrFormat, nil},
		{"longer", func(key string, _ int64, _ func(bool)) { client.Append(ctx, key, "x") }, bloom.ErrFormat, nil},
		{"list", func(key string, _ int64, _ func(bool)) { client.Del(ctx, key); client.RPush(ctx, key, "x") }, bloom.ErrFormat, nil},
		{"text", func(key string, _ int64, _ func(bool)) { client.Set(ctx, key, "hello, world", 0) }, bloom.ErrFormat, map[string]any{
			"Filter": "it holds neither a filter nor a window but 12 bytes that start 68 65 6c 6c 6f 2c",
			"Window": "it holds neither a filter nor a window but 12 bytes that start 68 65 6c 6c 6f 2c",
		}},
		{"filter", func(key string, _ int64, _ func(bool)) { client.Set(ctx, key, guava(bloom.NewSize(640, 3)), 0) }, nil, map[string]any{
			"Filter":  bloom.ErrMismatch,
			"Sharded": bloom.ErrMismatch,
			"Window":  bloom.ErrFormat,
		}},
		{"filter of the other strategy", func(key string, _ int64, _ func(bool)) {
			client.Set(ctx, key, guava(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01)), 0)
		}, nil, map[string]any{"Filter": bloom.ErrMismatch, "Sharded": bloom.ErrMismatch, "Window": bloom.ErrFormat}},
		{"window", func(key string, _ int64, _ func(bool)) {
			w, err := OpenWindow(ctx, client, "visits", visits)
			require.NoError(t, err)
			mustAdd(t, w, bloom.SumString("a"))
			client.Rename(ctx, "visits", key)
		}, nil, map[string]any{"Filter": "it holds a window, see OpenWindow", "Sharded": bloom.ErrFormat, "Window": bloom.ErrMismatch}},
	} {
		for name, kind := range kinds {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				require.NoError(t, client.FlushAll(ctx).Err())
				open := func(small bool) (is opened) {
					is, err := kind.open(client, small)
					require.NoError(t, err)
					return is
				}
				is := open(true)
				test.happens(kind.key, client.StrLen(ctx, kind.key).Val(), func(small bool) { open(small) })
				before := dump(client)
				if w, ok := is.set.(*Window); ok {
					w.reopened = time.Now().Add(time.Hour) // it does not go on by itself
				}
				calls := map[string]func() error{
					"Add":           func() error { return firstError(is.AddHash(ctx, keyOf(is))) },
					"AddBatch":      func() error { return firstError(addBatch(ctx, is, hashes(0, 200))) },
					"AddOnce":       func() error { return firstError(is.AddOnce(ctx, "token", hashes(0, 200)...)) },
					"Contains":      func() error { return firstError(is.ContainsHash(ctx, keyOf(is))) },
					"ContainsBatch": func() error { return firstError(containsBatch(ctx, is, hashes(0, 200))) },
				}
				maps.Copy(calls, is.more)
				for name, call := range calls {
					err := call()
					assert.ErrorIs(t, err, ErrLost, name)
					assert.ErrorContains(t, err, fmt.Sprintf("bloomredis: key %q", kind.key), name)
					if test.name == "all deleted" {
						assert.ErrorContains(t, err, kind.missing, name)
					}
				}
				if name != "Sharded" { // whose other shard is there, and has been changed
					assert.Equal(t, before, dump(client))
				}

				_, err := kind.open(client, true)
				want := test.open
				if says, ok := test.says[name].(error); ok {
					want = says
				} else if says, ok := test.says[name].(string); ok {
					assert.ErrorContains(t, err, says)
				}
				if want != nil {
					assert.ErrorIs(t, err, want)
				} else if test.says == nil {
					assert.NoError(t, err)
				}
				if name == "Window" { // what is a window can be deleted, then opened
					err := DeleteWindow(ctx, client, "w")
					switch test.name {
					case "cut to a few", "list", "text", "filter", "filter of the other strategy":
						assert.ErrorIs(t, err, bloom.ErrFormat)
						assert.Equal(t, before, dump(client))
					default:
						assert.NoError(t, err)
						open(true)
					}
				}
			})
		}
	}
}

func firstError[T any](_ T, err error) error { return err }

// keyOf returns a key that goes to the string that things happen to.
func keyOf(is opened) bloom.Hash {
	if s, ok := is.set.(*Sharded); ok {
		for i := range uint64(1000) {
			if h := bloom.SumUint64(i); s.route(h) == 0 {
				return h
			}
		}
	}
	return bloom.SumString("a")
}

// A server that lost everything, and a Window that another process deleted, are
// lost to those who had them.
func TestLostToOthers(t *testing.T) {
	s := startServer(t, "--appendonly", "no")
	client := s.client()
	all := sets(t, client)
	for _, set := range all {
		mustAdd(t, set, bloom.SumString("a"))
	}
	other := openWindow(t, client, bigWindow)
	require.NoError(t, other.Delete(ctx))
	mustAdd(t, other, bloom.SumString("b"))
	_, err := all["Window"].ContainsHash(ctx, bloom.SumString("a"))
	require.ErrorIs(t, err, ErrLost)
	mustAdd(t, all["Window"], bloom.SumString("a")) // it goes on by itself
	s.kill()
	require.NoError(t, s.start())
	for name, set := range all {
		_, err := set.ContainsHash(ctx, bloom.SumString("a"))
		require.ErrorIs(t, err, ErrLost, name)
		_, err = set.AddHash(ctx, bloom.SumString("a"))
		require.ErrorIs(t, err, ErrLost, name)
	}

	// A window that never was used by a process is none that it can lose.
	require.NoError(t, client.FlushAll(ctx).Err())
	late := openWindow(t, client, bigWindow)
	_, err = openWindow(t, client, visits).AddString(ctx, "a") // another has come up meanwhile
	require.NoError(t, err)
	_, err = late.AddString(ctx, "a")
	require.ErrorIs(t, err, bloom.ErrMismatch)
	require.ErrorIs(t, late.Delete(ctx), bloom.ErrMismatch)
}
