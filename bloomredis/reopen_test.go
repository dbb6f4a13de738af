package bloomredis

import (
	"context"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

// ofFilters are a Filter and a Sharded, and what only they have.
type ofFilters interface {
	set
	fmt.Stringer
	Reopen(context.Context) error
}

// A filter that was lost is an error until Reopen. Then it has what is there, and what its
// users add again.
func TestReopen(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	for name, open := range map[string]func() (ofFilters, error){
		"Filter":  func() (ofFilters, error) { return Open(ctx, client, "f", 1000, 1e-6) },
		"Sharded": func() (ofFilters, error) { return OpenSharded(ctx, client, "s", ShardedConfig{3, 1000, 1e-6}) },
	} {
		f, err := open()
		require.NoError(t, err)
		require.NoError(t, f.Reopen(ctx), "nothing is lost")
		requireAdded(t, f, true, hashes(0, 100)...)
		require.NoError(t, f.Reopen(ctx))
		requireFound(t, f, true, hashes(0, 100)...)
		for _, anew := range []bool{false, true} {
			require.NoError(t, client.FlushAll(ctx).Err())
			if anew {
				other, err := open()
				require.NoError(t, err)
				requireAdded(t, other, true, hashes(200, 300)...)
			}
			for range 2 {
				_, err = containsBatch(ctx, f, hashes(0, 100))
				require.ErrorIs(t, err, ErrLost, name)
				_, err = addBatch(ctx, f, hashes(0, 100))
				require.ErrorIs(t, err, ErrLost, name)
			}
			require.NoError(t, f.Reopen(ctx))
			requireFound(t, f, false, hashes(0, 100)...)
			requireFound(t, f, anew, hashes(200, 300)...)
			requireAdded(t, f, true, hashes(0, 100)...)
		}
	}

	f := openFilter(t, client, 1000, 1e-6)
	reader, err := OpenExisting(ctx, client, "f")
	require.NoError(t, err)
	require.NoError(t, f.Delete(ctx))
	require.ErrorIs(t, reader.Reopen(ctx), redis.Nil, "who only reads makes none")
	_, err = Open(ctx, client, "f", 2000, 1e-6)
	require.NoError(t, err)
	require.ErrorIs(t, f.Reopen(ctx), bloom.ErrMismatch)
	_, err = f.ContainsString(ctx, "a")
	require.ErrorIs(t, err, ErrLost)
}

// A replica keeps its copy while the filter is lost, and follows what is made anew with the
// same parameters, also if its own Filter stays lost.
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
		_, err := f.ContainsString(ctx, "new")
		require.ErrorIs(t, err, ErrLost, "the Filter of the Source")
	}
}

// What is made anew while it is downloaded is not mixed with what was there.
func TestSourceDoesNotMix(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f := openFilter(t, client, 3_000_000, 0.01) // several pieces
	mustAdd(t, f, hashes(0, 1000)...)
	reads := clientOf(t, client.Options().Addr)
	g, err := OpenExisting(ctx, reads, "f")
	require.NoError(t, err)
	trips := 0
	reads.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		if trips++; trips == 3 {
			client.FlushAll(ctx)
			openFilter(t, client, 3_000_000, 0.01)
		}
		return send(ctx, cmds)
	}))
	_, err = g.Source().Fetch(ctx, "")
	require.ErrorIs(t, err, ErrLost)
	u, err := g.Source().Fetch(ctx, "")
	require.NoError(t, err)
	require.Zero(t, u.Full.OnesCount())
}

// The answer for a token belongs to the filter that gave it.
func TestTokensEndWithTheirFilter(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	for name := range kinds {
		for what, happens := range map[string]func(is opened) error{
			"Reset":   func(is opened) error { return is.more["Reset"]() },
			"Delete":  func(is opened) error { return is.set.(interface{ Delete(context.Context) error }).Delete(ctx) },
			"deleted": func(opened) error { return client.Del(ctx, kinds[name].key).Err() },
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				require.NoError(t, client.FlushAll(ctx).Err())
				is, err := kinds[name].open(client, true)
				require.NoError(t, err)
				h := keyOf(is)
				if name == "Filter" || name == "Window" {
					h = bloom.SumString("b")
				}
				for range 2 {
					answers, err := is.AddOnce(ctx, "token", h, h)
					require.NoError(t, err)
					require.Equal(t, []bool{true, false}, answers)
				}
				require.NoError(t, happens(is))
				if what != "Reset" {
					is, err = kinds[name].open(client, true)
					require.NoError(t, err)
				}
				answers, err := is.AddOnce(ctx, "token", h, h)
				require.NoError(t, err)
				require.Equal(t, []bool{true, false}, answers)
				requireFound(t, is, true, h)
			})
		}
	}
	// Where others created the filter, too.
	require.NoError(t, client.Set(ctx, "f", bloom.Must(bloom.Must(bloom.New(1000, 0.01)).MarshalBinary()), 0).Err())
	f, err := OpenExisting(ctx, client, "f")
	require.NoError(t, err)
	for range 2 {
		for range 2 {
			answers, err := f.AddOnce(ctx, "token", bloom.SumString("a"))
			requireAll(t, true, 1, answers, err)
		}
		require.NoError(t, f.Reset(ctx))
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
