package bloomredis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// remainders are windows of which a test leaves the remains.
var remainders = []WindowConfig{
	{N: 100, P: 1e-2, Span: time.Hour},
	{N: 10_000, P: 1e-6, Span: 10 * time.Minute},
	{N: 1_000_000, P: 1e-2, Span: time.Hour, Renew: true},
	{N: 100, P: 1e-2},
}

// TestStepBackInAScript: before Redis 7.2, PEXPIRE makes a key that has expired already if the
// clock steps back while a script runs. PEXPIREAT of a time in the past does the same. The script
// writes nothing after that, so no string without a head is left.
func TestStepBackInAScript(t *testing.T) {
	client := startServer(t).client()
	hs := make([]bloom.Hash, 100)
	for i := range hs {
		hs[i] = bloom.SumUint64(uint64(i))
	}
	before := windowAddScript
	t.Cleanup(func() { windowAddScript = before })
	for i, c := range remainders[:3] {
		for _, there := range []bool{false, true} {
			key := fmt.Sprint(i, there)
			losses := 0
			c.OnLost = func(error) { losses++ }
			w := bloom.Must(OpenWindow(ctx, client, key, c))
			if there {
				require.NoError(t, firstError(w.AddString(ctx, "a")))
			}
			past := strings.ReplaceAll(before.source,
				"redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ms))",
				"redis.call('PEXPIREAT', KEYS[1], 1)")
			require.NotEqual(t, before.source, past)
			windowAddScript = newScript(past)
			require.NoError(t, w.AddBatch(ctx, nil, hs))
			windowAddScript = before
			require.Zero(t, client.Exists(ctx, key).Val(), "%s: a string is left", key)
			_, err := w.AddString(ctx, "b")
			require.ErrorIs(t, err, ErrLost, key)
			require.Equal(t, 1, losses, key)
			require.NoError(t, firstError(w.AddString(ctx, "b")), key)
		}
	}
}

// TestUploadStepsBack: the same for the parts of an upload.
func TestUploadStepsBack(t *testing.T) {
	last := strings.LastIndex(appendScript.source, "redis.call('PEXPIRE'")
	require.Greater(t, last, strings.LastIndex(appendScript.source, "redis.call('APPEND'"))
}

// TestRemains: a window's string has lost its head. Open, a window that is in use, DeleteWindow and
// Delete take it for a lost window. A string of others is left alone.
func TestRemains(t *testing.T) {
	client := startServer(t).client()
	for i, c := range remainders {
		key := fmt.Sprint("w", i)
		losses := 0
		c.OnLost = func(error) { losses++ }
		w := bloom.Must(OpenWindow(ctx, client, key, c))
		floor := int64(len(w.head) + 16)
		// leave makes the remains.
		kinds := map[string]func(){
			"the head is zeros": func() { client.SetRange(ctx, key, 0, strings.Repeat("\x00", int(floor))) },
			"the mark is zeros": func() {
				client.SetRange(ctx, key, 0, strings.Repeat("\x00", len(windowMark)))
			},
			"all is zeros": func() { client.Set(ctx, key, strings.Repeat("\x00", int(w.size())), 0) },
			"a count and a lane": func() {
				client.Set(ctx, key, "", 0)
				client.SetRange(ctx, key, floor+32+16, "\x00\x00\x00\x00\x00\x00\xf0\x3f") // 1.0
				client.SetRange(ctx, key, w.size()-8, "lane")
			},
		}
		for kind, leave := range kinds {
			about := fmt.Sprintf("%s: %s", key, kind)
			start := func() {
				require.NoError(t, client.Del(ctx, key).Err())
				w = bloom.Must(OpenWindow(ctx, client, key, c))
				require.NoError(t, firstError(w.AddString(ctx, "a")), about)
				leave()
				losses = 0
			}
			start()
			other := bloom.Must(OpenWindow(ctx, client, key, c))
			require.Equal(t, 1, losses, about)
			require.NoError(t, firstError(other.AddString(ctx, "b")), about)

			start()
			_, err := w.AddString(ctx, "b")
			require.ErrorIs(t, err, ErrLost, about)
			require.Equal(t, 1, losses, about)
			for err != nil {
				require.ErrorIs(t, err, ErrLost, about)
				_, err = w.AddString(ctx, "b")
			}
			require.True(t, bloom.Must(w.ContainsString(ctx, "b")), about)

			start()
			require.NoError(t, DeleteWindow(ctx, client, key), about)
			require.Zero(t, client.Exists(ctx, key).Val(), about)

			start()
			require.NoError(t, w.Delete(ctx), about)
			require.Zero(t, client.Exists(ctx, key).Val(), about)
		}
	}
}

// TestStringsOfOthers: what begins with zeros, and is not left of a window, stays.
func TestStringsOfOthers(t *testing.T) {
	client := startServer(t).client()
	for name, value := range map[string]string{
		"a bitmap":           strings.Repeat("\x00", 1500) + "\x01",
		"an early bitmap":    strings.Repeat("\x00", 300) + "\x01" + strings.Repeat("\x00", 1000),
		"text after zeros":   strings.Repeat("\x00", 200) + strings.Repeat("some text", 200),
		"text":               strings.Repeat("some text", 200),
		"a few bytes":        "\x00\x00\x00",
		"shorter than heads": strings.Repeat("\x00", 100) + "x",
	} {
		require.NoError(t, client.Set(ctx, name, value, 0).Err())
		require.ErrorIs(t, DeleteWindow(ctx, client, name), bloom.ErrFormat, name)
		for _, c := range remainders {
			require.ErrorIs(t, firstError(OpenWindow(ctx, client, name, c)), bloom.ErrFormat, name)
		}
		require.Equal(t, value, client.Get(ctx, name).Val(), name)
	}
}

// A damaged head may say that there are more strings than any window has.
func TestDeleteManyStrings(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	largest := WindowConfig{N: 1, P: 0.01, Span: time.Hour}.withDefaults()
	_, err := WindowConfig{N: 1 << 60, P: 0.01, Span: time.Hour}.SizeBytes()
	_, err = fmt.Sscanf(err.Error()[strings.Index(err.Error(), "[1,"):], "[1, %d]", &largest.N)
	require.NoError(t, err)
	assert.EqualValues(t, maxStrings, bloom.Must(largest.layout()).strings)

	require.NoError(t, client.Set(ctx, "w", windowMark+"text; 100000\n", 0).Err())
	sent := 0
	client.AddHook(hook(func(
		ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook,
	) error {
		sent += len(cmds)
		if len(cmds) == 16 {
			return send(ctx, cmds)
		}
		for _, cmd := range cmds {
			cmd.(*redis.Cmd).SetVal([]any{""})
		}
		return nil
	}))
	require.NoError(t, DeleteWindow(ctx, client, "w"))
	require.Equal(t, 16+maxStrings, sent, "heads and deletions")
}
