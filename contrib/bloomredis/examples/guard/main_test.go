package main

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/seed79a3ff49/bloom"
)

// startRedis starts a server and returns its address.
func startRedis(t *testing.T) (addr string) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("BLOOM_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
	dir, err := os.MkdirTemp("", "bloom") // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	addr = filepath.Join(dir, "socket")
	server := exec.Command("redis-server", "--port", "0", "--unixsocket", addr, "--save", "",
		"--dir", dir)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	require.Eventually(t, func() bool {
		return client.Ping(t.Context()).Err() == nil
	}, time.Minute, 5*time.Millisecond)
	return addr
}

// Somebody's Redis holds afterwards what it held before.
func TestGuard(t *testing.T) {
	addr := startRedis(t)
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	require.NoError(t, client.Set(t.Context(), "theirs", "1", 0).Err())
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, addr, 5000))
	figures := regexp.MustCompile(
		`^5000 requests, (\d+) of them for keys that do not exist: (\d+) queries in .*\na new row is found after .*\n$`).FindStringSubmatch(out.String())
	require.Len(t, figures, 3, out.String())
	// One request in five is for a key that exists, and for some 15 others there is a query, too.
	sigma := math.Sqrt(5000 * 0.2 * 0.8)
	assert.InDelta(t, 4000, bloom.Must(strconv.Atoi(figures[1])), 7*sigma)
	assert.InDelta(t, 1015, bloom.Must(strconv.Atoi(figures[2])), 8*sigma)
	assert.Equal(t, []string{"theirs"}, client.Keys(t.Context(), "*").Val())
	assert.Error(t, run(t.Context(), &out, "127.0.0.1:1", 10))
}

// The filter is filled again from the database where Redis comes back without it.
func TestRedisComesBackEmpty(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: startRedis(t)})
	defer client.Close()
	db, err := bbolt.Open(t.TempDir()+"/db", 0o600, nil)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucket(items)
		return err
	}))
	table, err := Open(t.Context(), db, client, "guard", 1000)
	require.NoError(t, err)
	require.NoError(t, table.Put(t.Context(), "old", "1"))
	require.NoError(t, table.near.Refresh(t.Context()))
	require.NoError(t, client.FlushAll(t.Context()).Err())
	require.Error(t, table.near.Refresh(t.Context()))
	value, err := table.Get("old")
	require.NoError(t, err)
	require.Equal(t, "1", string(value), "the copy stays")
	require.NoError(t, table.Put(t.Context(), "new", "2"))
	require.NoError(t, table.near.Refresh(t.Context()))
	for key, want := range map[string]string{"old": "1", "new": "2", "none": ""} {
		value, err := table.Get(key)
		require.NoError(t, err)
		require.Equal(t, want, string(value))
	}
}
