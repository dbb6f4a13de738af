package bloomredis

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// hook stands between a client and what it sends in a round trip.
type hook func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	one := h.ProcessPipelineHook(func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds[0]) })
	return func(ctx context.Context, cmd redis.Cmder) error { return one(ctx, []redis.Cmder{cmd}) }
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name == "client" || name == "hello" { // of a new connection
			return next(ctx, cmds)
		}
		return h(ctx, cmds, next)
	}
}

// afterwards calls then after each command that succeeds.
func afterwards(then func(args []any)) hook {
	return func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, cmds)
		for _, cmd := range cmds {
			if cmd.Err() == nil {
				then(cmd.Args())
			}
		}
		return err
	}
}

// between sends the commands of a round trip one by one, and calls a function
// before each.
func between(before func()) hook {
	return func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) (first error) {
		for _, cmd := range cmds {
			before()
			if err := send(ctx, []redis.Cmder{cmd}); first == nil {
				first = err
			}
		}
		return first
	}
}

// set is what a Filter and a Window have in common.
type set interface {
	AddBatch(context.Context, []bloom.Hash) ([]bool, error)
	ContainsBatch(context.Context, []bloom.Hash) ([]bool, error)
}

// sets returns a set of each type, large enough that the keys of a test find no
// false positives.
func sets(t testing.TB, client redis.UniversalClient) map[string]set {
	t.Helper()
	f, err := Open(ctx, client, "f", 3_000_000, 0.01)
	require.NoError(t, err)
	return map[string]set{
		"Filter": f,
		"Window": openWindow(t, client, WindowConfig{Capacity: 3_000_000, FPR: 0.01, Span: time.Hour}),
	}
}

// A batch is one round trip for as many keys as the comments say. That is so also
// where the server has forgotten the scripts.
func TestOneRoundTrip(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	trips, commands := 0, 0
	client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		trips++
		commands += len(cmds)
		return send(ctx, cmds)
	}))
	most := map[string]uint64{"Filter": 18_724, "Window": 13_107}
	for name, s := range sets(t, client) {
		keys := uint64(1)
		check := func(do func(context.Context, []bloom.Hash) ([]bool, error), hs []bloom.Hash, want bool, round int) {
			t.Helper()
			trips, commands = 0, 0
			got, err := do(ctx, hs)
			require.NoError(t, err)
			require.Len(t, got, len(hs))
			assert.False(t, slices.Contains(got, !want), "%s: %d", name, len(hs))
			assert.Equal(t, round, trips, "%s: %d", name, len(hs))
			assert.GreaterOrEqual(t, commands, (len(hs)+chunk-1)/chunk, "%s: %d", name, len(hs))
		}
		for _, do := range []func(context.Context, []bloom.Hash) ([]bool, error){s.AddBatch, s.ContainsBatch} {
			_, err := do(ctx, hashes(0, 1)) // loads the script
			require.NoError(t, err)
			check(do, nil, false, 0)
		}
		for _, n := range []uint64{1, chunk + 1, most[name]} {
			hs := hashes(keys, keys+n)
			keys += n
			if n > 1 {
				require.NoError(t, client.ScriptFlush(ctx).Err())
			}
			check(s.ContainsBatch, hs, false, 1)
			check(s.AddBatch, hs, true, 1)
			check(s.ContainsBatch, hs[:min(n, 1000)], true, 1)
		}
		check(s.ContainsBatch, hashes(keys, keys+most[name]+1), false, 2)
	}
	low, err := WindowConfig{Capacity: 3_000_000, FPR: 1e-6, Span: time.Hour}.withDefaults().params()
	require.NoError(t, err)
	require.Equal(t, 5_698, tripBits/low.K)
}

// A reply with fewer answers than keys is an error.
func TestAnswersAreMissing(t *testing.T) {
	client := startServer(t).client()
	both := sets(t, client)
	client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, cmds)
		switch cmd := cmds[0].(type) {
		case *redis.IntSliceCmd:
			cmd.SetVal(nil)
		case interface {
			Val() any
			SetVal(any)
		}:
			if reply, ok := cmd.Val().([]any); ok {
				reply[len(reply)-1] = ""
			} else {
				cmd.SetVal("")
			}
		}
		return err
	}))
	for name, s := range both {
		for _, do := range []func(context.Context, []bloom.Hash) ([]bool, error){s.AddBatch, s.ContainsBatch} {
			answers, err := do(ctx, hashes(0, chunk+3))
			require.ErrorContains(t, err, "3 answers in reply, want 131", name)
			assert.Nil(t, answers)
		}
	}
}

// A batch of four scripts, and what may happen between them. The server is sent
// again what it refused for now, and nothing else.
func TestBatchIsInterrupted(t *testing.T) {
	admin := startServer(t, "--appendonly", "no").client()
	do := func(args ...any) func() {
		return func() { require.NoError(t, admin.Do(ctx, args...).Err(), args) }
	}
	forget, standby, master := do("SCRIPT", "FLUSH"), do("REPLICAOF", "127.0.0.1", "1"), do("REPLICAOF", "NO", "ONE")
	forbid, flush := do("ACL", "SETUSER", "default", "-bitfield"), do("FLUSHALL")
	for _, test := range []struct {
		name   string
		before map[int]func() // a command, in the order in which they are sent
		sent   int
		want   string
	}{
		{"scripts forgotten twice", map[int]func(){1: forget, 5: forget}, 4 + 3 + 2, ""},
		{"the first refused", map[int]func(){0: standby, 1: master}, 4 + 1, ""},
		{"one refused", map[int]func(){1: standby, 2: master}, 4 + 1, ""},
		{"all but one refused, and once more", map[int]func(){1: standby, 6: master}, 4 + 3 + 2, ""},
		{"an error", map[int]func(){2: forbid}, 4, "can't run this command"},
		{"one refused, and an error", map[int]func(){1: standby, 2: func() { master(); forbid() }}, 4, "can't run this command"},
		{"lost", map[int]func(){2: flush}, 4, ErrLost.Error()},
	} {
		for _, name := range []string{"Filter", "Window"} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				flush()
				client := clientOf(t, admin.Options().Addr)
				s := sets(t, client)[name]
				sent := 0
				client.AddHook(between(func() {
					if f := test.before[sent]; f != nil {
						f()
					}
					sent++
				}))
				hs := hashes(0, 4*chunk)
				added, err := s.AddBatch(ctx, hs)
				do("ACL", "SETUSER", "default", "+@all")()
				assert.Equal(t, test.sent, sent)
				if test.want != "" {
					require.ErrorContains(t, err, test.want)
					if test.name == "lost" {
						_, err = s.ContainsBatch(ctx, hs)
						require.ErrorIs(t, err, ErrLost)
					}
					return
				}
				require.NoError(t, err)
				require.Len(t, added, len(hs))
				assert.NotContains(t, added, false)
				found, err := s.ContainsBatch(ctx, hs)
				require.NoError(t, err)
				assert.NotContains(t, found, false)
			})
		}
	}
}

// A server that refuses for good is asked a dozen times more, and then it is an
// error.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	client := startServer(t).client()
	f, err := Open(ctx, client, "f", 1000, 0.01)
	require.NoError(t, err)
	require.NoError(t, client.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	sent := 0
	client.AddHook(between(func() { sent++ }))
	_, err = f.AddBatch(ctx, hashes(0, 2*chunk))
	require.ErrorContains(t, err, "READONLY ")
	assert.Equal(t, 2*(1+patience), sent)
}

// Within a batch of look-ups, too, a window is lost that is gone before its time.
// What is gone in its time is no error.
func TestWindowGoesWithinBatch(t *testing.T) {
	admin := startServer(t).client()
	for span, lost := range map[time.Duration]bool{time.Hour: true, time.Millisecond: false} {
		for _, anew := range []bool{false, true} {
			require.NoError(t, admin.FlushAll(ctx).Err())
			c := WindowConfig{Capacity: 1000, FPR: 1e-6, Span: span, Generations: 1}
			client := clientOf(t, admin.Options().Addr)
			w, other := openWindow(t, client, c), openWindow(t, admin, c)
			sent := 0
			client.AddHook(between(func() {
				switch sent++; sent {
				case 2: // a window appears
					_, err := other.AddString(ctx, "a")
					require.NoError(t, err)
				case 4: // it is gone, or another by now
					require.NoError(t, admin.FlushAll(ctx).Err())
					time.Sleep(10 * time.Millisecond)
					if anew {
						_, err := openWindow(t, admin, c).AddString(ctx, "a")
						require.NoError(t, err)
					}
				}
			}))
			_, err := w.ContainsBatch(ctx, hashes(0, 4*chunk))
			if lost {
				assert.ErrorIs(t, err, ErrLost, "anew: %v", anew)
			} else {
				assert.NoError(t, err, "anew: %v", anew)
			}
		}
	}
}
