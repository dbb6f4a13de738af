package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary is the program where a test runs it as one.
func TestMain(m *testing.M) {
	if os.Getenv("GUARD_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// guard returns a command that runs the program, whose files are all in dir.
func guard(dir string, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	cmd = exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "GUARD_MAIN=1", "TMPDIR="+dir)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

func needRedis(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("BLOOM_REQUIRE_REDIS") == "" {
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
}

// client waits until a server answers.
func client(t *testing.T, options *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(options)
	t.Cleanup(func() { _ = c.Close() })
	require.Eventually(t, func() bool { return c.Ping(t.Context()).Err() == nil }, time.Minute, 5*time.Millisecond)
	return c
}

// waitForRows waits until the program has cached rows in Redis: it is serving requests.
func waitForRows(t *testing.T, c *redis.Client) {
	t.Helper()
	require.Eventually(t, func() bool { return c.DBSize(t.Context()).Val() > 100 }, time.Minute, 5*time.Millisecond)
}

func requireEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestSignals(t *testing.T) {
	needRedis(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd, stderr := guard(dir, "-requests", "1000000000")
			require.NoError(t, cmd.Start())
			defer cmd.Process.Kill()
			var socket string
			require.Eventually(t, func() bool {
				found, _ := filepath.Glob(filepath.Join(dir, "guard*", "socket"))
				if len(found) > 0 {
					socket = found[0]
				}
				return socket != ""
			}, time.Minute, 5*time.Millisecond)
			waitForRows(t, client(t, &redis.Options{Network: "unix", Addr: socket}))
			conn, err := net.Dial("unix", socket)
			require.NoError(t, err)
			defer conn.Close()

			require.NoError(t, cmd.Process.Signal(sig))
			require.Error(t, cmd.Wait())
			assert.Equal(t, 1, cmd.ProcessState.ExitCode())
			assert.Equal(t, "guard: stopped by a signal\n", stderr.String())
			requireEmpty(t, dir)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
			_, err = conn.Read(make([]byte, 1))
			require.Error(t, err)
			assert.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server runs on")
		})
	}
}

// Somebody else's Redis holds afterwards what it held before.
func TestUsersRedis(t *testing.T) {
	needRedis(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, port, _ := net.SplitHostPort(addr)
	server := exec.Command("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	require.NoError(t, server.Start())
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	c := client(t, &redis.Options{Addr: addr})
	require.NoError(t, c.Set(t.Context(), "theirs", "1", 0).Err())

	for name, requests := range map[string]int{"whole": 5000, "stopped": 1e9} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd, stderr := guard(dir, "-redis", addr, "-rows", "5000", "-requests", fmt.Sprint(requests))
			require.NoError(t, cmd.Start())
			defer cmd.Process.Kill()
			if name == "stopped" {
				waitForRows(t, c)
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			}
			err := cmd.Wait()
			if name == "stopped" {
				require.Error(t, err)
				assert.Equal(t, "guard: stopped by a signal\n", stderr.String())
			} else {
				require.NoError(t, err, stderr)
			}
			requireEmpty(t, dir)
			keys, err := c.Keys(t.Context(), "*").Result()
			require.NoError(t, err)
			assert.Equal(t, []string{"theirs"}, keys)
		})
	}
}

func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	cmd, stderr := guard(dir, "-redis", "127.0.0.1:1")
	require.Error(t, cmd.Run())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Equal(t, 1, strings.Count(stderr.String(), "\n"), stderr)
	assert.Contains(t, stderr.String(), "guard: no Redis at 127.0.0.1:1: ")
	requireEmpty(t, dir)
}

func TestMetrics(t *testing.T) {
	needRedis(t)
	dir := t.TempDir()
	cmd, stderr := guard(dir, "-rows", "5000", "-requests", "5000", "-metrics", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	var url string
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "Ctrl-C ends this."; {
		fmt.Sscanf(lines.Text(), "metrics: %s", &url)
	}
	read := func(url string) string {
		response, err := http.Get(url)
		require.NoError(t, err, stderr)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body)
	}
	metrics := read(url)
	assert.Regexp(t, `bloom_filter_keys{filter="items"} (49|50)\d\d\n`, metrics)
	assert.Contains(t, metrics, `bloom_lookups_total{filter="items",result="miss"} 3`)
	assert.Contains(t, read(strings.TrimSuffix(url, "metrics")+"debug/vars"), `"items": {"hits": `)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.NoError(t, cmd.Wait(), stderr)
	requireEmpty(t, dir)
}

func TestGuard(t *testing.T) {
	needRedis(t)
	const requests, absent = 5000, 0.8
	var out bytes.Buffer
	stores, err := run(context.Background(), &out, config{rows: 5000, requests: requests, absent: absent})
	require.NoError(t, err)
	t.Logf("\n%s", &out)
	plain, guarded := stores[0].answered, stores[1].answered
	assert.Zero(t, plain[byFilter])
	// The filter answers all absent keys but 1 %; the layers behind it answer
	// what they did before.
	assert.Equal(t, plain[byLocal], guarded[byLocal])
	assert.Equal(t, plain[byRedis], guarded[byRedis])
	queries := float64(plain[byDatabase] - guarded[byDatabase])
	assert.InDelta(t, 0.99*absent*requests, queries, 120) // 4 sigma of the number of absent keys, and the new row
	// The counts of the filter's answers are those of the layers.
	hits, misses, wrong := stores[1].lookups.Counts()
	assert.EqualValues(t, guarded[byFilter], misses)
	assert.EqualValues(t, guarded[byLocal]+guarded[byRedis]+guarded[byDatabase], hits+wrong)
	assert.Less(t, wrong, uint64(100)) // 1 % of 4000 are 40
	assert.Positive(t, wrong)
	assert.Contains(t, out.String(), "saved: ")
	assert.Contains(t, out.String(), "a new row is found after ")
}

func TestLRU(t *testing.T) {
	c := newLRU(2)
	c.put("a", "1")
	c.put("b", "2")
	_, ok := c.get("a")
	assert.True(t, ok)
	c.put("c", "3")
	_, ok = c.get("b")
	assert.False(t, ok)
	value, ok := c.get("a")
	assert.True(t, ok)
	assert.Equal(t, "1", value)
	assert.Len(t, c.items, 2)
}
