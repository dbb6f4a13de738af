package bloomredis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

func full(t testing.TB, f *Filter) replica.Update {
	t.Helper()
	u, err := f.Source().Fetch(ctx, "")
	require.NoError(t, err)
	require.NotNil(t, u.Full)
	require.Nil(t, u.Delta)
	return u
}

// A copy that follows a filter is that filter, whatever happened between two fetches. What a delta
// cannot say comes as the whole filter.
func TestSource(t *testing.T) {
	client := startServer(t).client()
	const n = 100_000
	add := func(f *Filter, from, to uint64) { mustAdd(t, f, hashes(from, to)...) }
	replace := func(f *Filter, id string, values ...string) {
		client.Del(ctx, f.stream)
		require.NoError(t, client.XAdd(ctx, &redis.XAddArgs{Stream: f.stream, ID: id, Values: values}).Err())
	}
	last := func(f *Filter) redis.XMessage { return client.XRevRangeN(ctx, f.stream, "+", "-", 1).Val()[0] }
	for _, test := range []struct {
		name string
		do   func(f *Filter)
		want string // nothing, delta or full
	}{
		{"nothing", func(f *Filter) {}, "nothing"},
		{"only old keys", func(f *Filter) { add(f, 0, 100) }, "nothing"},
		{"new keys", func(f *Filter) { add(f, 50, 150) }, "delta"},
		{"all that the stream keeps", func(f *Filter) { add(f, 1000, 1000+f.keep-1) }, "delta"},
		{"more than the stream keeps", func(f *Filter) { add(f, 1000, 1000+f.keep+300) }, "full"},
		{"merge", func(f *Filter) {
			g := bloom.Must(bloom.New(n, 0.01))
			g.AddString("merged")
			require.NoError(t, f.Merge(ctx, g))
		}, "full"},
		{"merge, then new keys", func(f *Filter) {
			require.NoError(t, f.Merge(ctx, bloom.Must(bloom.New(n, 0.01))))
			add(f, 1000, 1010)
		}, "full"},
		{"stream deleted, then new keys", func(f *Filter) {
			client.Del(ctx, f.stream)
			add(f, 1000, 1010)
		}, "full"},
		{"reset, then new keys", func(f *Filter) {
			require.NoError(t, f.Reset(ctx))
			add(f, 1000, 1010)
		}, "full"},
		{"stream with the same ids, but other keys", func(f *Filter) {
			replace(f, last(f).ID, "h", strings.Repeat("x", 16))
			add(f, 1000, 1010)
		}, "full"},
		{"stream with the same last key under another id", func(f *Filter) {
			replace(f, "", "h", value(last(f)))
			add(f, 1000, 1010)
		}, "full"},
		{"a foreign entry", func(f *Filter) {
			client.XAdd(ctx, &redis.XAddArgs{Stream: f.stream, Values: []string{"x", "y"}})
		}, "full"},
	} {
		for _, keys := range []uint64{0, 100} { // that are there before
			t.Run(fmt.Sprint(test.name, "/", keys), func(t *testing.T) {
				if keys == 0 && test.name == "only old keys" {
					t.Skip("there is none")
				}
				client.FlushAll(ctx)
				f := openFilter(t, client, n, 0.01)
				add(f, 0, keys)
				before := full(t, f)
				test.do(f)
				u, err := f.Source().Fetch(ctx, before.Version)
				require.NoError(t, err)
				got := "nothing"
				switch {
				case u.Full != nil && u.Delta == nil:
					got, before.Full = "full", u.Full
				case u.Delta != nil && u.Full == nil:
					got = "delta"
					require.NoError(t, before.Full.Merge(u.Delta))
				default:
					require.Equal(t, replica.Update{Version: before.Version}, u)
				}
				assert.Equal(t, test.want, got)
				assert.True(t, before.Full.Equal(stored(t, f)))
				again, err := f.Source().Fetch(ctx, u.Version)
				require.NoError(t, err)
				assert.Equal(t, replica.Update{Version: u.Version}, again)
			})
		}
	}
}

func TestSourceDoesNotKnowVersion(t *testing.T) {
	f := openFilter(t, startServer(t).client(), 1000, 0.01)
	for _, have := range []string{"x", "/", "1-1/", "1-1", "1-1/zz", "-/00", "99999999999999-0/00", "1-99999999999999999999/00"} {
		u, err := f.Source().Fetch(ctx, have)
		require.NoError(t, err, have)
		assert.NotNil(t, u.Full, have)
	}
}

// A delta of several pages, each of which must go on where the last one ended.
func TestSourcePages(t *testing.T) {
	client := startServer(t).client()
	const n = 1_000_000
	for _, keys := range []uint64{page - 2, page - 1, page, 2*page - 2, 2*page - 1, 2 * page, 10_000} {
		client.FlushAll(ctx)
		f := openFilter(t, client, n, 0.01)
		before := full(t, f)
		mustAdd(t, f, hashes(0, keys)...)
		u, err := f.Source().Fetch(ctx, before.Version)
		require.NoError(t, err)
		require.NotNil(t, u.Delta)
		assert.True(t, u.Delta.Equal(stored(t, f)))
	}
}
