package bloomredis

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server is a redis-server of the test's own, on loopback. It is durable to the
// last acknowledged write.
type server struct {
	t    testing.TB
	addr string
	args []string
	cmd  *exec.Cmd
}

// Without Redis there is nothing to test. Of what a package prints that passes,
// the go command shows but one thing: after the last line here, it says "[no
// tests to run]" and not only "ok".
func TestMain(m *testing.M) {
	if _, err := exec.LookPath("redis-server"); err == nil {
		redis.SetLogger(silent{})
		os.Exit(m.Run())
	}
	fmt.Println("bloomredis: all tests need redis-server, which Debian has in package redis-server; BLOOM_REQUIRE_REDIS=1 makes its absence a failure")
	if os.Getenv("BLOOM_REQUIRE_REDIS") != "" {
		os.Exit(1)
	}
	fmt.Println("testing: warning: no tests to run")
}

// silent drops what the client logs of servers that tests killed.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestWithoutRedis(t *testing.T) {
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(program)
	cmd.Env = []string{"PATH=/nowhere"}
	said, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(said), "all tests need redis-server")
	assert.Contains(t, string(said), "\ntesting: warning: no tests to run\n")

	cmd = exec.Command(program)
	cmd.Env = []string{"PATH=/nowhere", "BLOOM_REQUIRE_REDIS=1"}
	assert.Error(t, cmd.Run())
}

func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	for try := 0; ; try++ {
		port := freePort(t)
		s := &server{t: t, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), args: append([]string{
			"redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--logfile", filepath.Join(dir, "log"),
			"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0",
		}, args...)}
		err := s.start()
		if err == nil {
			t.Cleanup(s.kill)
			return s
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		require.Less(t, try, 5, "%v\n%s", err, log) // somebody may have taken the port
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start starts the server, with more arguments, and waits until it answers.
func (s *server) start(args ...string) error {
	s.cmd = exec.Command(s.args[0], append(s.args[1:len(s.args):len(s.args)], args...)...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer c.Close()
	var err error
	for range 6000 { // a minute, on a machine with much else to do
		if err = c.Ping(context.Background()).Err(); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.kill()
	return fmt.Errorf("%s does not answer: %w", s.addr, err)
}

// kill ends the server as a crash does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) client() *redis.Client { return clientOf(s.t, s.addr) }

func clientOf(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { c.Close() })
	return c
}

// proxy passes connections on to addr, and cuts or holds them on demand.
type proxy struct {
	net.Listener
	to   string
	mu   sync.Mutex
	open map[net.Conn]bool
	held bool // replies are read and dropped
}

func startProxy(t testing.TB, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, to: to, open: make(map[net.Conn]bool)}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open[c], p.open[up] = true, true
	p.mu.Unlock()
	go func() {
		_, _ = io.Copy(up, c)
		up.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := up.Read(buf)
		if err != nil {
			break
		}
		p.mu.Lock()
		held := p.held
		p.mu.Unlock()
		if held {
			continue
		}
		if _, err := c.Write(buf[:n]); err != nil {
			break
		}
	}
	p.mu.Lock()
	delete(p.open, c)
	delete(p.open, up)
	p.mu.Unlock()
}

// cut resets all connections: what was on its way is lost, on one side or the
// other.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func (p *proxy) hold(held bool) {
	p.mu.Lock()
	p.held = held
	p.mu.Unlock()
}

func (p *proxy) addr() string { return p.Addr().String() }
