package bloomredis

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pauses replaces the clock between two tries, and returns the pauses that were asked for. A pause
// ends immediately if attempt returns true, and never otherwise.
func pauses(t testing.TB, attempt func(pause int) bool) *[]time.Duration {
	before := after
	t.Cleanup(func() { after = before })
	asked := new([]time.Duration)
	after = func(d time.Duration) <-chan time.Time {
		*asked = append(*asked, d)
		c := make(chan time.Time)
		if attempt(len(*asked)) {
			close(c)
		}
		return c
	}
	return asked
}

// refusing opens the filter under "f" and has the server refuse the next n round trips.
func refusing(t testing.TB, n int) *Filter {
	client := startServer(t, "--appendonly", "no").client()
	f := openFilter(t, client, many, 0.01)
	client.AddHook(hook(func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		if n == 0 {
			return send(ctx, cmds)
		}
		n--
		err := redisError("LOADING Redis is loading the dataset in memory")
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}))
	return f
}

// A server that refuses is asked again after pauses that double up to half a second, for four
// seconds in all.
func TestPausesBetweenTries(t *testing.T) {
	f := refusing(t, patience)
	asked := pauses(t, func(int) bool { return true })
	added, err := f.AddString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, added)
	var milliseconds []int64
	total := time.Duration(0)
	for _, pause := range *asked {
		milliseconds = append(milliseconds, pause.Milliseconds())
		total += pause
	}
	assert.Equal(t, []int64{8, 16, 32, 64, 128, 256, 512, 512, 512, 512, 512, 512}, milliseconds)
	assert.InDelta(t, 4, total.Seconds(), 0.5, "seconds until the call gives up")
}

// A call ends when its context does, also between two tries.
func TestContextEndsBetweenTries(t *testing.T) {
	f := refusing(t, 1000)
	for name, call := range map[string]func(context.Context) error{
		"AddString": func(ctx context.Context) error { return firstError(f.AddString(ctx, "a")) },
		"ContainsString": func(ctx context.Context) error {
			return firstError(f.ContainsString(ctx, "a"))
		},
		"AddOnce": func(ctx context.Context) error {
			return firstError(f.AddOnce(ctx, "token", hashes(0, 1)...))
		},
		"Stats":  func(ctx context.Context) error { return firstError(f.Stats(ctx)) },
		"Reset":  f.Reset,
		"Reopen": f.Reopen,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			asked := pauses(t, func(pause int) bool {
				if pause == 3 {
					cancel()
				}
				return pause < 3
			})
			done := make(chan error, 1)
			go func() { done <- call(ctx) }()
			assert.ErrorIs(t, receive(t, done), context.Canceled)
			assert.Len(t, *asked, 3, "pauses")
		})
	}
}
