package bloomredis

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A filter that is gone, or cut, or another by now, is an error and never
// "absent". Nor does a call that changes it leave a piece of a filter behind.
func TestLost(t *testing.T) {
	client := startServer(t).client()
	open := func(n uint64) *Filter {
		f, err := Open(ctx, client, "f", n, 0.01)
		require.NoError(t, err)
		return f
	}
	for _, test := range []struct {
		name string
		lose func()
		want string
	}{
		{"deleted", func() { client.Del(ctx, "f") }, "it holds nothing"},
		{"deleted with all beside it", func() { client.FlushAll(ctx) }, "it holds nothing"},
		{"created anew", func() { client.FlushAll(ctx); open(1000) }, "the filter was created anew"},
		{"created anew over the old stream", func() { client.Del(ctx, "f"); open(1000) }, "the filter was created anew"},
		{"another filter", func() { client.Del(ctx, "f"); open(10_000) }, "it holds a filter of m = 95872"},
		{"cut by a byte", func() { client.Set(ctx, "f", client.GetRange(ctx, "f", 0, 1204).Val(), 0) }, "it holds 1205 bytes of a filter of 1206"},
		{"cut to the header", func() { client.Set(ctx, "f", client.GetRange(ctx, "f", 0, 5).Val(), 0) }, "it holds 6 bytes of a filter of 1206"},
		{"longer", func() { client.Append(ctx, "f", "x") }, "it holds 1207 bytes of a filter of 1206"},
		{"list", func() { client.Del(ctx, "f"); client.RPush(ctx, "f", "x") }, "WRONGTYPE"},
		{"text", func() { client.Set(ctx, "f", "hello, world", 0) }, "it holds no filter but 12 bytes that start 68 65 6c 6c 6f 2c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			f := open(1000)
			_, err := f.AddString(ctx, "a")
			require.NoError(t, err)
			version := full(t, f).Version
			test.lose()
			before := dump(client)
			for name, call := range map[string]func() error{
				"Add":           func() error { _, err := f.AddString(ctx, "a"); return err },
				"AddBatch":      func() error { _, err := f.AddBatch(ctx, hashes(0, 10)); return err },
				"Contains":      func() error { _, err := f.ContainsString(ctx, "a"); return err },
				"ContainsBatch": func() error { _, err := f.ContainsBatch(ctx, hashes(0, 10)); return err },
				"Snapshot":      func() error { _, err := f.Snapshot(ctx); return err },
				"Stats":         func() error { _, err := f.Stats(ctx); return err },
				"Reset":         func() error { return f.Reset(ctx) },
				"Fetch":         func() error { _, err := f.Source().Fetch(ctx, ""); return err },
				"Fetch more":    func() error { _, err := f.Source().Fetch(ctx, version); return err },
			} {
				err := call()
				assert.ErrorContains(t, err, `bloomredis: key "f"`, name)
				assert.ErrorContains(t, err, test.want, name)
				assert.ErrorIs(t, err, ErrLost, name)
			}
			assert.Equal(t, before, dump(client))
			require.ErrorContains(t, f.Merge(ctx, bloom.Must(bloom.New(1000, 0.01))), test.want)
			if test.want != "it holds nothing" {
				require.ErrorContains(t, f.Delete(ctx), test.want)
			}
		})
	}
}

// dump returns all that the server has.
func dump(client *redis.Client) map[string]string {
	all := make(map[string]string)
	for _, key := range client.Keys(ctx, "*").Val() {
		all[key] = client.Dump(ctx, key).Val()
	}
	return all
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
			f, err := Open(ctx, client, "f", 10, 0.001)
			require.NoError(t, err)
			_, err = f.AddString(ctx, "a")
			require.NoError(t, err)
			have := full(t, f)
			before := stored(t, f)

			test.fail(f)
			for _, h := range hashes(0, 5) {
				_, err := f.AddHash(ctx, h)
				assert.ErrorContains(t, err, test.want)
			}
			_, err = f.AddBatch(ctx, hashes(0, 5))
			assert.ErrorContains(t, err, test.want)
			assert.True(t, stored(t, f).Equal(before), "bits without their entry")

			test.mend(f)
			added, err := f.AddBatch(ctx, hashes(0, 5))
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
	f, err := Open(ctx, client, "f", 1000, 0.001)
	require.NoError(t, err)
	_, err = f.AddString(ctx, "a")
	require.NoError(t, err)

	before := dump(client)
	g, err := OpenExisting(ctx, client, "f")
	require.NoError(t, err)
	assert.Equal(t, *f, *g)
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
	added, err := g.AddString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, added)
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
		f, err := Open(ctx, client, "f", test.n, 0.01)
		require.NoError(t, err)
		_, err = f.AddBatch(ctx, hashes(0, test.keys))
		require.NoError(t, err)
		got, err := f.Stats(ctx)
		require.NoError(t, err)
		assert.Equal(t, stored(t, f).Stats(), got)
	}
}

func TestResetAndDelete(t *testing.T) {
	client := startServer(t).client()
	f, err := Open(ctx, client, "f", 1000, 0.001)
	require.NoError(t, err)
	_, err = f.AddBatch(ctx, hashes(0, 100))
	require.NoError(t, err)
	before := stored(t, f)
	for _, right := range []string{"xadd", "unlink", "setrange"} { // one refused, and nothing is lost
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "-"+right).Err())
		require.Error(t, f.Reset(ctx))
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", "+"+right).Err())
		assert.True(t, stored(t, f).Equal(before), right)
	}
	require.NoError(t, f.Reset(ctx))
	assert.True(t, stored(t, f).Equal(bloom.Must(bloom.New(1000, 0.001))))
	added, err := f.AddHash(ctx, hashes(0, 1)[0])
	require.NoError(t, err)
	assert.True(t, added)

	require.NoError(t, f.Delete(ctx))
	assert.Empty(t, dump(client))
	require.NoError(t, f.Delete(ctx))
	_, err = f.AddString(ctx, "a")
	require.ErrorIs(t, err, ErrLost)

	// What stood beside a string that somebody deleted goes, too.
	f, err = Open(ctx, client, "f", 1000, 0.001)
	require.NoError(t, err)
	require.NoError(t, client.Del(ctx, "f").Err())
	require.NoError(t, f.Delete(ctx))
	assert.Empty(t, dump(client))
}
