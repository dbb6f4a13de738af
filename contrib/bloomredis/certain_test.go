package bloomredis

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// unhurried makes this package wait for nothing before it asks a server again.
func unhurried(t testing.TB) {
	before := after
	t.Cleanup(func() { after = before })
	after = func(time.Duration) <-chan time.Time {
		c := make(chan time.Time)
		close(c)
		return c
	}
}

// An error is no certainty: with it Contains of every type says that the key may be there, and Add
// that it is not certainly new, whatever went wrong and whatever was in the caller's slices.
func TestErrorIsNoCertainty(t *testing.T) {
	unhurried(t)
	s := startServer(t, "--appendonly", "no")
	admin := s.client()
	fails := func(err error) hook {
		return func(_ context.Context, cmds []redis.Cmder, _ redis.ProcessPipelineHook) error {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
	}
	for _, class := range []struct {
		name   string
		breaks func(t *testing.T, key string, client *redis.Client) context.Context
		want   error // nil for any
	}{
		{"deleted", func(t *testing.T, key string, _ *redis.Client) context.Context {
			require.EqualValues(t, 1, admin.Del(ctx, key).Val())
			return ctx
		}, ErrLost},
		{"another type", func(t *testing.T, key string, _ *redis.Client) context.Context {
			require.EqualValues(t, 1, admin.Del(ctx, key).Val())
			require.NoError(t, admin.RPush(ctx, key, "x").Err())
			return ctx
		}, ErrLost},
		{"context has ended", func(*testing.T, string, *redis.Client) context.Context {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx
		}, context.Canceled},
		{"deadline", func(t *testing.T, _ string, client *redis.Client) context.Context {
			client.AddHook(hook(func(context.Context, []redis.Cmder, redis.ProcessPipelineHook) error {
				select {} // a server that does not answer
			}))
			ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}, context.DeadlineExceeded},
		{"client is closed", func(t *testing.T, _ string, client *redis.Client) context.Context {
			require.NoError(t, client.Close())
			return ctx
		}, redis.ErrClosed},
		{"no right", func(_ *testing.T, _ string, client *redis.Client) context.Context {
			client.AddHook(fails(redisError("NOPERM this user has no permissions")))
			return ctx
		}, redisError("NOPERM this user has no permissions")},
		{"read only", func(_ *testing.T, _ string, client *redis.Client) context.Context {
			client.AddHook(fails(redisError("READONLY You can't write against a read only replica.")))
			return ctx
		}, redisError("READONLY You can't write against a read only replica.")},
		{"no master", func(_ *testing.T, _ string, client *redis.Client) context.Context {
			client.AddHook(fails(redisError("MASTERDOWN Link with MASTER is down")))
			return ctx
		}, redisError("MASTERDOWN Link with MASTER is down")},
		{"no memory", func(_ *testing.T, _ string, client *redis.Client) context.Context {
			client.AddHook(fails(redisError("OOM command not allowed")))
			return ctx
		}, redisError("OOM command not allowed")},
		{"connection ends", func(_ *testing.T, _ string, client *redis.Client) context.Context {
			client.AddHook(fails(io.ErrUnexpectedEOF))
			return ctx
		}, io.ErrUnexpectedEOF},
		{"second round trip", func(_ *testing.T, _ string, client *redis.Client) context.Context {
			var trips atomic.Int64 // of all shards, each with a goroutine
			client.AddHook(hook(
				func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
					if trips.Add(1)%2 == 0 || len(cmds) < 64 {
						return fails(io.EOF)(ctx, cmds, send)
					}
					return send(ctx, cmds)
				}))
			return ctx
		}, io.EOF},
		{"server is away", func(t *testing.T, _ string, _ *redis.Client) context.Context {
			s.kill()
			t.Cleanup(func() { require.NoError(t, s.start()) })
			return ctx
		}, nil},
	} {
		for name, kind := range kinds {
			t.Run(class.name+"/"+name, func(t *testing.T) {
				require.NoError(t, admin.FlushAll(ctx).Err())
				options := patient(s.addr)
				options.MaxRetries, options.DialerRetries = -1, 1
				client := redis.NewClient(options)
				defer client.Close()
				set := bloom.Must(kind.open(client, 1000))
				h, hs := keyOf(set), hashes(0, 300)
				if class.name == "second round trip" {
					hs = hashes(0, 3*tripBits/7) // of a Sharded, each shard has two trips, too
				}
				mustAdd(t, set, h)
				ctx := class.breaks(t, kind.key, client)
				fails := func(method string, want, got bool, err error) {
					t.Helper()
					assert.Error(t, err, method)
					assert.Equal(t, want, got, "%s: %v", method, err)
					if class.want != nil {
						assert.ErrorIs(t, err, class.want, method)
					}
				}
				if w, ok := set.(*Window); ok {
					w.reopened = time.Now().Add(time.Hour) // it does not go on by itself
				}
				key := []byte("absent")
				if name == "Sharded" { // one that goes to the shard that is broken
					key = shardKeyOf(set.(*Sharded))
				}
				got, err := set.Contains(ctx, key)
				fails("Contains", true, got, err)
				got, err = set.ContainsString(ctx, string(key))
				fails("ContainsString", true, got, err)
				got, err = set.ContainsHash(ctx, h)
				fails("ContainsHash", true, got, err)
				got, err = set.Add(ctx, key)
				fails("Add", false, got, err)
				got, err = set.AddString(ctx, string(key))
				fails("AddString", false, got, err)
				got, err = set.AddHash(ctx, h)
				fails("AddHash", false, got, err)
				once, err := set.AddOnce(ctx, "token", h)
				fails("AddOnce", false, once != nil, err)

				found := make([]bool, len(hs)+1)
				err = set.ContainsBatch(ctx, found, hs)
				fails("ContainsBatch", true, count(found) == len(hs), err)
				assert.False(t, found[len(hs)], "ContainsBatch writes beyond its keys")
				added := make([]bool, len(hs)+1)
				for i := range added {
					added[i] = true
				}
				err = set.AddBatch(ctx, added, hs)
				fails("AddBatch", false, count(added) > 1, err)
				assert.True(t, added[len(hs)], "AddBatch writes beyond its keys")
				assert.Error(t, set.AddBatch(ctx, nil, hs))
			})
		}
	}
}

// shardKeyOf returns a key that is not in s and goes to its first shard.
func shardKeyOf(s *Sharded) []byte {
	for i := byte(0); ; i++ {
		if key := []byte{'k', i}; s.route(bloom.Sum(key)) == 0 {
			return key
		}
	}
}
