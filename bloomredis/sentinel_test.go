package bloomredis

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A replica takes over from a server that was killed. What it had is found under
// the handles that were open before, and they go on.
func TestSentinel(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	master := startServer(t)
	host, port, err := net.SplitHostPort(master.addr)
	require.NoError(t, err)
	startServer(t, "--replicaof", host+" "+port)

	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(conf, []byte(fmt.Sprintf(
		"sentinel monitor m %s %s 1\nsentinel down-after-milliseconds m 300\nsentinel failover-timeout m 3000\n", host, port)), 0o600))
	sentinelPort := freePort(t)
	sentinel := &server{t: t, addr: net.JoinHostPort("127.0.0.1", fmt.Sprint(sentinelPort)), args: []string{
		"redis-server", conf, "--sentinel", "--port", fmt.Sprint(sentinelPort), "--bind", "127.0.0.1"}}
	require.NoError(t, sentinel.start())
	t.Cleanup(sentinel.kill)

	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{sentinel.addr}})
	defer client.Close()
	f := openFilter(t, client, 10_000, 1e-6)
	w := openWindow(t, client, WindowConfig{N: 10_000, P: 1e-6, Span: time.Hour})
	mustAdd(t, f, hashes(0, 1000)...)
	mustAdd(t, w, hashes(0, 1000)...)
	once := map[string]set{"Filter": f, "Window": w}
	for name, s := range once {
		answers, err := s.AddOnce(ctx, "token", hashes(5000, 5300)...)
		require.NoError(t, err, name)
		require.NotContains(t, answers, false, name)
	}
	have := full(t, f)
	require.Eventually(t, func() bool { // replicated, and Sentinel knows to where
		replicated := master.client().Wait(ctx, 1, time.Second).Val()
		known := sentinel.client().Do(ctx, "SENTINEL", "REPLICAS", "m").Val()
		return replicated == 1 && len(known.([]any)) == 1
	}, 2*time.Minute, 50*time.Millisecond)

	master.kill()
	require.Eventually(t, func() bool { _, err := f.AddHash(ctx, hashes(1000, 1001)[0]); return err == nil },
		2*time.Minute, 50*time.Millisecond)
	requireFound(t, f, true, hashes(0, 1001)...)
	requireFound(t, w, true, hashes(0, 1000)...)
	for name, s := range once { // the answer went over with the keys
		answers, err := s.AddOnce(ctx, "token", hashes(5000, 5300)...)
		require.NoError(t, err, name)
		require.NotContains(t, answers, false, name)
	}
	u, err := f.Source().Fetch(ctx, have.Version)
	require.NoError(t, err)
	require.NotNil(t, u.Delta, "the stream goes on")
	assert.True(t, u.Delta.ContainsHash(hashes(1000, 1001)[0]))
}
