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

// startServer starts one, and skips the test where there is none to start.
func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("BLOOM_REQUIRE_REDIS") != "" {
			t.Fatal("BLOOM_REQUIRE_REDIS is set, and there is no redis-server")
		}
		t.Skip("there is no redis-server: Debian has it in package redis-server")
	}
	dir := t.TempDir()
	for try := 0; ; try++ {
		port := freePort(t)
		s := &server{t: t, addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), args: append([]string{
			program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--logfile", filepath.Join(dir, "log"),
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

// start starts the server and waits until it answers.
func (s *server) start() error {
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer c.Close()
	var err error
	for range 500 {
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

// proxy passes connections on to addr, and cuts or holds them when told.
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
