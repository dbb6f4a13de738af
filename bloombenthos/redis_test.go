package bloombenthos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redpanda-data/benthos/v4/public/service/integration"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startRedis starts a server and returns its URL, and what kills it.
func startRedis(t *testing.T) (url string, kill func()) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("BLOOM_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "bloom") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "socket")
	server := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	require.NoError(t, server.Start())
	kill = func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}
	t.Cleanup(kill)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	defer client.Close()
	require.Eventually(t, func() bool { return client.Ping(context.Background()).Err() == nil },
		time.Minute, 10*time.Millisecond)
	return "unix://" + socket, kill
}

func TestRedis(t *testing.T) {
	url, kill := startRedis(t)
	conf := fmt.Sprintf("%sbloom_redis: {url: '%s', key: ids, capacity: 1000, span: 1h}", dedupe, url)
	a, b := start(t, conf), start(t, conf)
	assert.Equal(t, []string{"1", "2"}, a.send("1", "2", "1"))
	assert.Equal(t, []string{"3"}, b.send("2", "3", "1"))
	assert.Empty(t, a.send("3"))
	b.stop()
	b = start(t, conf)
	assert.Equal(t, []string{"4"}, b.send("3", "4"), "started again")
	assert.Contains(t, a.metrics(), `"bloom_hits{label=\"seen\",path=\"root.cache_resources\"}":2`)

	_, err := build(t, conf, true)
	require.NoError(t, err)
	other, err := build(t, strings.Replace(conf, "capacity: 1000", "capacity: 1001", 1), true)
	require.NoError(t, err)
	err = other.open()
	assert.ErrorContains(t, err, "key")
	assert.ErrorContains(t, err, "ids")

	drop := start(t, strings.Replace(conf, "drop_on_err: false", "drop_on_err: true", 1))
	assert.Equal(t, []string{"5"}, drop.send("5"))
	kill()
	assert.Equal(t, []string{"6"}, a.send("6"), "drop_on_err: false")
	assert.Empty(t, drop.send("7"), "drop_on_err: true")
}

func TestRedisEngineSuite(t *testing.T) {
	url, _ := startRedis(t)
	t.Run("suite", func(t *testing.T) {
		integration.CacheTests(integration.CacheTestMissingKey()).Run(t, `
cache_resources:
  - label: testcache
    bloom_redis:
      url: `+url+`
      key: ids
      capacity: 1000
      span: 1h
`)
	})
}
