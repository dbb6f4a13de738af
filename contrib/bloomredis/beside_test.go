package bloomredis

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A small key beside a filter's string can be evicted, expire or be deleted alone. The filter is
// then lost. Reopen and Open go on with its keys, and Delete removes what is left.
func TestKeysBesideAreGone(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	const n, p = 500, 1e-6
	config := ShardedConfig{Shards: 3, N: n, P: p}
	hs := hashes(0, 200)
	type filter interface {
		set
		Reopen(context.Context) error
	}
	kinds := map[string]struct {
		open     func() (filter, error)
		existing func() (filter, error)
		beside   []string // the id and the stream of a filter or shard
	}{
		"Filter": {
			func() (filter, error) { return Open(ctx, client, "plain", n, p) },
			func() (filter, error) { return OpenExisting(ctx, client, "plain") },
			[]string{"id:{plain}", "adds:{plain}"},
		},
		"Sharded, first": {
			func() (filter, error) { return OpenSharded(ctx, client, "many", config) },
			func() (filter, error) { return OpenExistingSharded(ctx, client, "many") },
			[]string{"{many:0}:id", "{many:0}:adds"},
		},
		"Sharded, second": {
			func() (filter, error) { return OpenSharded(ctx, client, "many", config) },
			func() (filter, error) { return OpenExistingSharded(ctx, client, "many") },
			[]string{"{many:1}:id", "{many:1}:adds"},
		},
	}
	for name, kind := range kinds {
		lost := func(t *testing.T, gone int) filter {
			require.NoError(t, client.FlushAll(ctx).Err())
			f, err := kind.open()
			require.NoError(t, err)
			mustAdd(t, f, hs...)
			require.EqualValues(t, gone, client.Del(ctx, kind.beside[:gone]...).Val())
			require.ErrorIs(t, f.AddBatch(ctx, nil, hs), ErrLost)
			return f
		}
		for gone := 1; gone <= 2; gone++ {
			t.Run(fmt.Sprintf("%s/%d gone/Reopen", name, gone), func(t *testing.T) {
				f := lost(t, gone)
				require.NoError(t, f.Reopen(ctx))
				requireFound(t, f, true, hs...)
				requireAdded(t, f, true, hashes(1000, 1001)...)
				again, err := kind.open()
				require.NoError(t, err, "Open after Reopen")
				requireFound(t, again, true, hs...)
				again, err = kind.existing()
				require.NoError(t, err, "OpenExisting after Reopen")
				requireFound(t, again, true, hs...)
				require.NoError(t, f.Delete(ctx))
				assert.Empty(t, client.Keys(ctx, "*").Val(), "left by Delete")
			})
			t.Run(fmt.Sprintf("%s/%d gone/Open", name, gone), func(t *testing.T) {
				lost(t, gone)
				f, err := kind.open()
				require.NoError(t, err)
				requireFound(t, f, true, hs...)
				require.NoError(t, f.Delete(ctx))
				assert.Empty(t, client.Keys(ctx, "*").Val(), "left by Delete")
			})
		}
		t.Run(name+"/Delete", func(t *testing.T) {
			f := lost(t, 1)
			require.NoError(t, f.Delete(ctx))
			assert.Empty(t, client.Keys(ctx, "*").Val(), "left by Delete")
			require.NoError(t, f.Delete(ctx), "a second Delete")
			require.NoError(t, f.Reopen(ctx))
			requireFound(t, f, false, hs...)
			requireAdded(t, f, true, hs[0])
		})
	}
}

// What others have put where a shard was is neither taken by Reopen nor removed by Delete.
func TestKeysOfOthersStay(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	config := ShardedConfig{Shards: 3, N: 500, P: 1e-6}
	other := bloom.Must(bloom.Must(bloom.New(500/3+1, 1e-6)).MarshalBinary())
	for name, put := range map[string]func(t *testing.T){
		"another type": func(t *testing.T) {
			require.NoError(t, client.RPush(ctx, "{many:1}", "x").Err())
		},
		"other bytes": func(t *testing.T) {
			require.NoError(t, client.Set(ctx, "{many:1}", "x", 0).Err())
		},
		"a filter of others": func(t *testing.T) {
			require.NoError(t, client.Set(ctx, "{many:1}", other, 0).Err())
		},
		"a larger filter": func(t *testing.T) {
			_, err := Open(ctx, client, "{many:1}", 1000, 1e-6)
			require.NoError(t, err)
		},
		"a filter alone": func(t *testing.T) {
			_, err := Open(ctx, client, "{many:1}", 500/3+1, 1e-6)
			require.NoError(t, err)
		},
		"another type as its stream": func(t *testing.T) {
			require.NoError(t, client.Set(ctx, "{many:1}:adds", "x", 0).Err())
		},
		"another type as the stream of a filter without an id": func(t *testing.T) {
			require.NoError(t, client.Set(ctx, "{many:1}", other, 0).Err())
			require.NoError(t, client.Set(ctx, "{many:1}:adds", "x", 0).Err())
		},
		"another type beside it": func(t *testing.T) {
			require.NoError(t, client.RPush(ctx, "{many:1}:id", "x").Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, client.FlushAll(ctx).Err())
			s, err := OpenSharded(ctx, client, "many", config)
			require.NoError(t, err)
			require.EqualValues(t, 3, client.Del(ctx, "{many:1}", "{many:1}:id", "{many:1}:adds").Val())
			put(t)
			before := dump(client)
			assert.Error(t, s.Delete(ctx))
			after := dump(client)
			for key, value := range before {
				if slices.Contains([]string{"{many:1}", "{many:1}:id", "{many:1}:adds"}, key) {
					assert.Equal(t, value, after[key], "Delete changed %s", key)
				}
			}
		})
	}
}

// A value of others under the name of a stream stays, too, if the filter beside it is whole.
func TestStreamOfOthersStays(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	f, err := Open(ctx, client, "plain", 500, 1e-6)
	require.NoError(t, err)
	require.NoError(t, client.Set(ctx, "adds:{plain}", "x", 0).Err())
	require.ErrorContains(t, f.Delete(ctx), "adds:{plain} holds no stream")
	require.Equal(t, "x", client.Get(ctx, "adds:{plain}").Val())
	require.NoError(t, client.Del(ctx, "adds:{plain}").Err())
	require.NoError(t, f.Delete(ctx))
	require.Empty(t, client.Keys(ctx, "*").Val(), "left by Delete")
}
