package bloomredis

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

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
		check := func(
			look func(context.Context, []bool, []bloom.Hash) error, hs []bloom.Hash, want bool, round int,
		) {
			t.Helper()
			trips, commands = 0, 0
			got, err := answers(ctx, look, hs)
			requireAll(t, want, len(hs), got, err)
			assert.Equal(t, round, trips, "%s: %d", name, len(hs))
			assert.GreaterOrEqual(t, commands, (len(hs)+chunk-1)/chunk, "%s: %d", name, len(hs))
		}
		for _, do := range []func(context.Context, []bool, []bloom.Hash) error{
			s.AddBatch, s.ContainsBatch,
		} {
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
	require.ErrorContains(t, firstError(all["Filter"].(*Filter).Snapshot(ctx)),
		"0 bytes in reply, want 1048576")
	require.ErrorContains(t, firstError(all["Window"].Stats(ctx)), "bytes in reply, want")
	for name, s := range all {
		answers := make([]bool, chunk+3)
		require.ErrorContains(t, s.ContainsBatch(ctx, answers, hashes(0, chunk+3)),
			"answers in reply, want", name)
		assert.Equal(t, chunk+3, count(answers), "%s: an error is no certainty", name)
		require.ErrorContains(t, s.AddBatch(ctx, answers, hashes(0, chunk+3)),
			"answers in reply, want", name)
		assert.Zero(t, count(answers), "%s: an error is no certainty", name)
	}
}

// A batch of four scripts, and what may happen between them. The server is sent
// again what it refused for now, and nothing else.
func TestBatchIsInterrupted(t *testing.T) {
	admin := startServer(t, "--appendonly", "no").client()
	do := func(args ...any) func() {
		return func() { require.NoError(t, admin.Do(ctx, args...).Err(), args) }
	}
	forget, standby, master := do("SCRIPT", "FLUSH"), do("REPLICAOF", "127.0.0.1", "1"),
		do("REPLICAOF", "NO", "ONE")
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
		{"an error", map[int]func(){2: forbid}, 4, cannotRun},
		{"one refused, and an error", map[int]func(){1: standby, 2: func() {
			master()
			forbid()
		}}, 4, cannotRun},
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
				if test.want == "" {
					requireAll(t, true, len(hs), added, err)
					requireFound(t, s, true, hs...)
					return
				}
				require.Regexp(t, test.want, err)
				if test.name == "lost" && name == "Filter" { // a Window goes on
					require.ErrorIs(t, firstError(containsBatch(ctx, s, hs)), ErrLost)
				}
			})
		}
	}
}

// A server, or a proxy, that lacks a script even after it has got the source is an error, and not
// asked forever.
func TestSourceIsIgnored(t *testing.T) {
	client := startServer(t).client()
	all := sets(t, client)
	var trips atomic.Int32
	client.AddHook(hook(func(
		_ context.Context, cmds []redis.Cmder, _ redis.ProcessPipelineHook,
	) error {
		if trips.Add(1) == 100 {
			return errors.New("asked forever")
		}
		for _, cmd := range cmds {
			cmd.SetErr(redisError("NOSCRIPT No matching script. Please use EVAL."))
		}
		return cmds[0].Err()
	}))
	for name, s := range all {
		// A single call begins without the source.
		for n, want := range map[uint64]int32{1: 2, chunk + 1: 1} {
			trips.Store(0)
			_, err := addBatch(ctx, s, hashes(0, n))
			require.ErrorContains(t, err, "NOSCRIPT", name)
			if name != "Sharded" {
				assert.Equal(t, want, trips.Load(), name)
			}
		}
	}
}

// Replies that refuse, as servers word them.
func TestRefused(t *testing.T) {
	for reply, want := range map[string]bool{
		"READONLY You can't write against a read only replica. script: 2f2c, on @user_script:1.": true,
		// Redis 6
		"ERR Error running script (call to f_2f2c): @user_script:1: @user_script: 1: -READONLY " +
			"You can't write against a read only replica. ": true,
		"ERR Error running script (call to f_2f2c): @user_script:1: @user_script: 1: -WRONGTYPE " +
			"Operation against a key holding the wrong kind": false,
		"MOVED 3999 127.0.0.1:6381":                      true,
		"LOADING Redis is loading the dataset in memory": true,
		"TRYAGAIN Multiple keys request during reshard":  true,
		"ERR READ": false,
	} {
		assert.Equal(t, want, refused(redisError(reply)), reply)
	}
	assert.False(t, refused(errors.New("READONLY ")))
	assert.True(t, replied(redisError(
		"ERR Error running script (call to f_c51a): @user_script:2: WRONGTYPE Operation against "+
			"a key"), "WRONGTYPE"))
	assert.False(t, refused(nil))
}

type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// A server that is a replica for now, with or without a master, or busy with a script of somebody,
// refuses, and is asked again. One that refuses for good is asked a dozen times more, and then it
// is an error.
func TestServerRefuses(t *testing.T) {
	s := startServer(t, "--busy-reply-threshold", "10")
	admin := s.client()
	do := func(args ...any) { require.NoError(t, admin.Do(ctx, args...).Err(), args) }
	standby, master := func() {
		do("REPLICAOF", "127.0.0.1", "1")
	}, func() { do("REPLICAOF", "NO", "ONE") }
	sets(t, admin)
	keys := uint64(0)
	for refusal, test := range map[string]struct{ begin, finish func() }{
		"READONLY ": {standby, master},
		"MASTERDOWN ": {func() {
			do("CONFIG", "SET", "replica-serve-stale-data", "no")
			standby()
		}, master},
		"BUSY ": {
			func() {
				options := patient(s.addr)
				options.MaxRetries = -1
				busy := redis.NewClient(options)
				t.Cleanup(func() { busy.Close() })
				go busy.Eval(ctx, "while true do end", nil)
				soon(t, func() bool { return redis.HasErrorPrefix(admin.Ping(ctx).Err(), "BUSY ") })
			},
			func() { assert.Equal(t, "OK", admin.ScriptKill(ctx).Val()) },
		},
	} {
		for name := range kinds {
			for _, call := range []func(set, ...bloom.Hash){
				func(s set, hs ...bloom.Hash) { requireOnce(t, s, true, "token", hs...) },
				func(s set, hs ...bloom.Hash) { requireAdded(t, s, true, hs...) },
				func(s set, hs ...bloom.Hash) { requireFound(t, s, false, hs...) },
			} {
				options := patient(s.addr)
				options.MaxRetries = -1 // leaves it to this package
				client := redis.NewClient(options)
				mended := make(chan bool, 1)
				client.AddHook(onRefusal(func(err error) {
					assert.ErrorContains(t, err, refusal)
					test.finish()
					mended <- true
				}))
				there := sets(t, client)[name]
				test.begin()
				call(there, hashes(keys, keys+200)...)
				select {
				case <-mended:
				default: // a replica answers look-ups
					assert.Equal(t, "READONLY ", refusal, name)
					test.finish()
				}
				keys += 200
				client.Close()
			}
		}
		do("CONFIG", "SET", "replica-serve-stale-data", "yes")
	}
	client := s.client()
	f := openFilter(t, client, many, 0.01)
	standby()
	unhurried(t)
	sent := 0
	client.AddHook(between(func() { sent++ }))
	require.ErrorContains(t, firstError(addBatch(ctx, f, hashes(0, 2*chunk))), "READONLY ")
	assert.Equal(t, 2*(1+patience), sent)
}

// An Add whose reply is lost is not sent again: it would find its own key. AddOnce
// can be: it answers what it did.
func TestReplyIsLost(t *testing.T) {
	began := time.Now()
	s := startServer(t)
	for name, direct := range sets(t, s.client()) {
		p := startProxy(t, s.addr)
		there := sets(t, clientOf(t, p.addr()))[name]
		requireOnce(t, there, true, "loads the script", bloom.SumString(name))
		// lose drops the replies to a call until the keys have arrived, and then the
		// connections.
		lose := func(hs []bloom.Hash, call func() error) {
			require.NoError(t, firstError(containsBatch(ctx, there, hs))) // connects
			p.losing.Store(true)
			arrived := during(t, func() {
				assert.Eventually(t, func() bool {
					found, err := containsBatch(ctx, direct, hs)
					return err == nil && !slices.Contains(found, false)
				}, limit, time.Millisecond)
				p.losing.Store(false)
				p.cut()
			})
			require.Error(t, call(), name)
			arrived()
		}
		hs := hashes(0, 1)
		lose(hs, func() error { return firstError(addBatch(ctx, there, hs)) })
		hs = hashes(1, 3*chunk)
		lose(hs, func() error { return firstError(there.AddOnce(ctx, "token", hs...)) })
		for range 2 { // from wherever it comes
			requireOnce(t, direct, true, "token", hs...)
		}

		// Another token, or other keys, are another call.
		requireOnce(t, direct, false, "another token", hs...)
		requireOnce(t, direct, false, "token", hs[:chunk]...)
		requireAdded(t, direct, false, hs...)
		// Parts of one call are different calls, too.
		answers := bloom.Must(direct.AddOnce(ctx, "token",
			slices.Concat(hashes(1000, 1000+chunk), hashes(1000, 1000+chunk))...))
		assert.Equal(t, slices.Concat(slices.Repeat([]bool{true}, chunk), make([]bool, chunk)),
			answers, name)
		require.ErrorContains(t, firstError(direct.AddOnce(ctx, "", hs...)), "token is empty")
	}
	// The answers for tokens are kept for five minutes.
	client := s.client()
	keys := client.Keys(ctx, "*once-*").Val()
	require.NotEmpty(t, keys)
	for _, key := range keys {
		left := client.PTTL(ctx, key).Val()
		assert.LessOrEqual(t, left, 5*time.Minute, key)
		assert.GreaterOrEqual(t, left+time.Since(began)+time.Second, 5*time.Minute, key)
	}
}

// AddOnce of more keys than a round trip takes: each of its calls has an answer of its own.
func TestTokenOfTwoTrips(t *testing.T) {
	all := sets(t, startServer(t, "--appendonly", "no").client())
	trips := map[string]uint64{"Filter": tripBits / 7, "Window": windowTrip} // Sharded has Filters
	for name, trip := range trips {
		hs := slices.Concat(hashes(0, trip), hashes(0, chunk))
		added, err := all[name].AddOnce(ctx, "token", hs...)
		require.NoError(t, err, name)
		assert.Equal(t, int(trip), count(added[:trip]), name)
		assert.Zero(t, count(added[trip:]), name)
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
		{"\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02a",
			[]bloom.Hash{bloom.NewHash(7, 7)}},
		{"\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02a",
			[]bloom.Hash{bloom.NewHash(7, 7)}},
		{"\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00a",
			[]bloom.Hash{bloom.NewHash(7, 7)}},
	} {
		token := bloom.Must(tokenOf(call.token, call.hs))
		assert.NotContains(t, seen, token, "calls %d and %d", i, seen[token])
		seen[token] = i
	}
}
