package bloomredis

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// hook gets what a client sends in a round trip, and sends it.
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

// onRefusal calls mend once, after the first command that is refused.
func onRefusal(mend func(refusal error)) hook {
	var once sync.Once
	return func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, cmds)
		for _, cmd := range cmds {
			if refused(cmd.Err()) {
				once.Do(func() { mend(cmd.Err()) })
			}
		}
		return err
	}
}

// set is what all types have in common.
type set interface {
	Add(context.Context, []byte) (bool, error)
	AddString(context.Context, string) (bool, error)
	Contains(context.Context, []byte) (bool, error)
	ContainsString(context.Context, string) (bool, error)
	AddHash(context.Context, bloom.Hash) (bool, error)
	AddBatch(context.Context, []bool, []bloom.Hash) error
	AddOnce(context.Context, string, ...bloom.Hash) ([]bool, error)
	ContainsHash(context.Context, bloom.Hash) (bool, error)
	ContainsBatch(context.Context, []bool, []bloom.Hash) error
}

// addBatch returns what AddBatch of s answers, or an error and nothing.
func addBatch(ctx context.Context, s interface {
	AddBatch(context.Context, []bool, []bloom.Hash) error
}, hs []bloom.Hash) ([]bool, error) {
	added := make([]bool, len(hs))
	if err := s.AddBatch(ctx, added, hs); err != nil {
		return nil, err
	}
	return added, nil
}

// containsBatch is addBatch of look-ups.
func containsBatch(ctx context.Context, s interface {
	ContainsBatch(context.Context, []bool, []bloom.Hash) error
}, hs []bloom.Hash) ([]bool, error) {
	found := make([]bool, len(hs))
	if err := s.ContainsBatch(ctx, found, hs); err != nil {
		return nil, err
	}
	return found, nil
}

var (
	visits    = WindowConfig{N: 100, P: 0.01, Span: time.Hour}
	bigWindow = WindowConfig{N: 3_000_000, P: 0.01, Span: 1000 * time.Hour}
)

// sets returns a set of each type, large enough that the keys of a test find no
// false positives.
func sets(t testing.TB, client redis.UniversalClient) map[string]set {
	t.Helper()
	f := openFilter(t, client, 3_000_000, 0.01)
	s, err := OpenSharded(ctx, client, "s", ShardedConfig{Shards: 2, N: 3_000_000, P: 0.01})
	require.NoError(t, err)
	return map[string]set{"Filter": f, "Sharded": s, "Window": openWindow(t, client, bigWindow)}
}

// openFilter opens the filter under "f".
func openFilter(t testing.TB, client redis.UniversalClient, n uint64, p float64) *Filter {
	t.Helper()
	f, err := Open(ctx, client, "f", n, p)
	require.NoError(t, err)
	return f
}

func mustAdd(t testing.TB, s set, hs ...bloom.Hash) {
	t.Helper()
	_, err := addBatch(ctx, s, hs)
	require.NoError(t, err)
}

// requireAdded adds hs. All of them are new, or none is.
func requireAdded(t testing.TB, s set, isNew bool, hs ...bloom.Hash) {
	t.Helper()
	answers, err := addBatch(ctx, s, hs)
	requireAll(t, isNew, len(hs), answers, err)
}

// requireFound looks hs up. All of them are found, or none is.
func requireFound(t testing.TB, s set, found bool, hs ...bloom.Hash) {
	t.Helper()
	answers, err := containsBatch(ctx, s, hs)
	requireAll(t, found, len(hs), answers, err)
}

// requireAll is for calls whose answers are all the same.
func requireAll(t testing.TB, want bool, n int, answers []bool, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Len(t, answers, n)
	require.False(t, slices.Contains(answers, !want), "not all of %d are %v", n, want)
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
	all := sets(t, client)
	for name, most := range map[string]uint64{"Filter": 18_724, "Window": 8192} {
		s, keys := all[name], uint64(1)
		check := func(do func(context.Context, []bool, []bloom.Hash) error, hs []bloom.Hash, want bool, round int) {
			t.Helper()
			trips, commands = 0, 0
			got := make([]bool, len(hs))
			require.NoError(t, do(ctx, got, hs))
			assert.False(t, slices.Contains(got, !want), "%s: %d", name, len(hs))
			assert.Equal(t, round, trips, "%s: %d", name, len(hs))
			assert.GreaterOrEqual(t, commands, (len(hs)+chunk-1)/chunk, "%s: %d", name, len(hs))
		}
		for _, do := range []func(context.Context, []bool, []bloom.Hash) error{s.AddBatch, s.ContainsBatch} {
			require.NoError(t, do(ctx, make([]bool, 1), hashes(0, 1))) // loads the script
			check(do, nil, false, 0)
		}
		for _, n := range []uint64{1, chunk + 1, most} {
			hs := hashes(keys, keys+n)
			keys += n
			if n > 1 {
				require.NoError(t, client.ScriptFlush(ctx).Err())
			}
			check(s.ContainsBatch, hs, false, 1)
			check(s.AddBatch, hs, true, 1)
			check(s.ContainsBatch, hs[:min(n, 1000)], true, 1)
		}
		check(s.ContainsBatch, hashes(keys, keys+most+1), false, 2)
	}
}

// A reply with fewer answers than keys is an error.
func TestAnswersAreMissing(t *testing.T) {
	client := startServer(t).client()
	all := sets(t, client)
	for _, s := range all { // a window has nothing to count before
		mustAdd(t, s, bloom.SumString("a"))
	}
	client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, cmds)
		switch cmd := cmds[0].(type) {
		case *redis.IntSliceCmd:
			cmd.SetVal(nil)
		case *redis.StringCmd:
			cmd.SetVal("")
		case interface {
			Val() any
			SetVal(any)
		}:
			if reply, ok := cmd.Val().([]any); ok {
				reply[len(reply)-1] = "?"
			} else {
				cmd.SetVal("")
			}
		}
		return err
	}))
	_, err := all["Filter"].(*Filter).Snapshot(ctx)
	require.ErrorContains(t, err, "0 bytes in reply, want 1048576")
	_, err = all["Window"].(*Window).Stats(ctx)
	require.ErrorContains(t, err, "bytes in reply, want")
	for name, s := range all {
		for _, do := range []func(context.Context, []bool, []bloom.Hash) error{s.AddBatch, s.ContainsBatch} {
			answers := slices.Repeat([]bool{true}, chunk+3)
			require.ErrorContains(t, do(ctx, answers, hashes(0, chunk+3)), "answers in reply, want", name)
			assert.NotContains(t, answers, false)
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
				added, err := addBatch(ctx, s, hs)
				do("ACL", "SETUSER", "default", "+@all")()
				assert.Equal(t, test.sent, sent)
				if test.want != "" {
					require.ErrorContains(t, err, test.want)
					if test.name == "lost" {
						if _, err = containsBatch(ctx, s, hs); name == "Filter" { // a Window goes on
							require.ErrorIs(t, err, ErrLost)
						}
					}
					return
				}
				requireAll(t, true, len(hs), added, err)
				requireFound(t, s, true, hs...)
			})
		}
	}
}

// Replies that refuse, as servers word them.
func TestRefused(t *testing.T) {
	for reply, want := range map[string]bool{
		"READONLY You can't write against a read only replica. script: 2f2c, on @user_script:1.":                                                true,
		"ERR Error running script (call to f_2f2c): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica. ":   true, // Redis 6
		"ERR Error running script (call to f_2f2c): @user_script:1: @user_script: 1: -WRONGTYPE Operation against a key holding the wrong kind": false,
		"MOVED 3999 127.0.0.1:6381":                     true,
		"TRYAGAIN Multiple keys request during reshard": true,
		"ERR READ": false,
	} {
		assert.Equal(t, want, refused(redisError(reply)), reply)
	}
	assert.False(t, refused(errors.New("READONLY ")))
	assert.True(t, replied(redisError("ERR Error running script (call to f_c51a): @user_script:2: WRONGTYPE Operation against a key"), "WRONGTYPE"))
	assert.False(t, refused(nil))
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// A server that refuses for good is asked a dozen times more, and then it is an
// error.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	client := startServer(t).client()
	f := openFilter(t, client, 1000, 0.01)
	require.NoError(t, client.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	sent := 0
	client.AddHook(between(func() { sent++ }))
	_, err := addBatch(ctx, f, hashes(0, 2*chunk))
	require.ErrorContains(t, err, "READONLY ")
	assert.Equal(t, 2*(1+patience), sent)
}

// An Add whose reply is lost is not sent again: it would find its own key. AddOnce
// can be: it answers what it did.
func TestReplyIsLost(t *testing.T) {
	s := startServer(t)
	for name, direct := range sets(t, s.client()) {
		p := startProxy(t, s.addr)
		client := redis.NewClient(&redis.Options{Addr: p.addr()})
		defer client.Close()
		there := sets(t, client)[name]
		requireAll(t, true, 1, bloom.Must(there.AddOnce(ctx, "loads the script", bloom.SumString(name))), nil)
		// lose drops the replies to a call until the keys have arrived, and then the
		// connections.
		lose := func(hs []bloom.Hash, call func() ([]bool, error)) ([]bool, error) {
			_, err := containsBatch(ctx, there, hs) // connects
			require.NoError(t, err)
			p.hold(true)
			arrived := make(chan struct{})
			go func() {
				defer close(arrived)
				for found := []bool{false}; slices.Contains(found, false) && !t.Failed(); {
					var err error
					found, err = containsBatch(ctx, direct, hs)
					assert.NoError(t, err)
				}
				p.hold(false)
				p.cut()
			}()
			answers, err := call()
			<-arrived
			return answers, err
		}
		hs := hashes(0, 1)
		_, err := lose(hs, func() ([]bool, error) { return addBatch(ctx, there, hs) })
		require.Error(t, err, name)
		hs = hashes(1, 3*chunk)
		_, err = lose(hs, func() ([]bool, error) { return there.AddOnce(ctx, "token", hs...) })
		require.Error(t, err, name)
		for range 2 { // from wherever it comes
			answers, err := direct.AddOnce(ctx, "token", hs...)
			requireAll(t, true, len(hs), answers, err)
		}

		// Another token, or other keys, are another call.
		answers, err := direct.AddOnce(ctx, "another token", hs...)
		requireAll(t, false, len(hs), answers, err)
		answers, err = direct.AddOnce(ctx, "token", hs[:chunk]...)
		requireAll(t, false, chunk, answers, err)
		requireAdded(t, direct, false, hs...)
		// Parts of one call are different calls, too.
		twice := slices.Concat(hashes(1000, 1000+chunk), hashes(1000, 1000+chunk))
		answers, err = direct.AddOnce(ctx, "token", twice...)
		require.NoError(t, err)
		assert.NotContains(t, answers[:chunk], false, name)
		assert.NotContains(t, answers[chunk:], true, name)
		_, err = direct.AddOnce(ctx, "", hs...)
		require.ErrorContains(t, err, "token is empty")
	}
	// Tokens expire.
	client := s.client()
	for _, key := range client.Keys(ctx, "*once-*").Val() {
		assert.Positive(t, client.PTTL(ctx, key).Val())
		assert.LessOrEqual(t, client.PTTL(ctx, key).Val(), 5*time.Minute)
	}
}

// Whoever chooses tokens and keys finds no two calls that are one.
func TestTokens(t *testing.T) {
	seen := make(map[string]int)
	for i, call := range []struct {
		token string
		hs    []bloom.Hash
	}{
		{"a", hashes(0, 1)},
		{"b", hashes(0, 1)},
		{"a", hashes(0, 2)},
		{"a", hashes(1, 2)},
		{"a", nil},
		{"a", []bloom.Hash{bloom.NewHash(7, 7), bloom.NewHash(1, 2)}},
		{"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02a", []bloom.Hash{bloom.NewHash(7, 7)}},
		{"\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02a", []bloom.Hash{bloom.NewHash(7, 7)}},
		{"\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00a", []bloom.Hash{bloom.NewHash(7, 7)}},
	} {
		token, err := tokenOf(call.token, call.hs)
		require.NoError(t, err)
		again, err := tokenOf(call.token, call.hs)
		require.NoError(t, err)
		assert.Equal(t, token, again)
		assert.NotContains(t, seen, token, "calls %d and %d", i, seen[token])
		seen[token] = i
	}
}

// A token does not outlive what it was for.
func TestTokenOfAnotherWindow(t *testing.T) {
	client := startServer(t).client()
	w := openWindow(t, client, visits)
	for range 2 {
		answers, err := w.AddOnce(ctx, "token", hashes(0, 1)...)
		requireAll(t, true, 1, answers, err)
		requireFound(t, w, true, hashes(0, 1)[0])
		require.NoError(t, w.Delete(ctx))
	}
}

// A server that is busy with a script of somebody refuses all calls, until that is killed.
func TestScriptKill(t *testing.T) {
	client := startServer(t, "--busy-reply-threshold", "10").client()
	all := sets(t, client)
	busy := make(chan error)
	go func() { busy <- clientOf(t, client.Options().Addr).Eval(ctx, "while true do end", nil).Err() }()
	require.Eventually(t, func() bool { return redis.HasErrorPrefix(client.Ping(ctx).Err(), "BUSY ") }, time.Minute, time.Millisecond)
	time.AfterFunc(100*time.Millisecond, func() { client.ScriptKill(ctx) })
	for _, s := range all {
		added, err := s.AddOnce(ctx, "token", hashes(0, 200)...)
		requireAll(t, true, 200, added, err)
		requireFound(t, s, true, hashes(0, 200)...)
	}
	require.ErrorContains(t, <-busy, "killed")
}
