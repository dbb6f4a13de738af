package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// startRedis starts a server and returns its address.
func startRedis(t *testing.T) (addr string) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("BLOOM_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr = l.Addr().String()
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(addr)
	server := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	require.Eventually(t, func() bool { return client.Ping(t.Context()).Err() == nil }, 20*time.Second, 5*time.Millisecond)
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
	assert.Regexp(t, `^5000 requests, [34]\d{3} of them for keys that do not exist: (9\d\d|1[01]\d\d) queries in .*\na new row is found after .*\n$`, out.String())
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
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error { _, err := tx.CreateBucket(items); return err }))
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
