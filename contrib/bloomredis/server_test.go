package bloomredis

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

var ctx = context.Background()

// program is the server: redis-server, or another one that is to behave alike, such as
// valkey-server.
var program = cmp.Or(os.Getenv("BLOOM_REDIS_SERVER"), "redis-server")

// Without Redis there is nothing to test. Of what a package prints that passes,
// the go command shows but one thing: after the last line here, it says "[no
// tests to run]" and not only "ok".
func TestMain(m *testing.M) {
	if _, err := exec.LookPath(program); err == nil {
		redis.SetLogger(silent{})
		// Calls wait longer than a busy machine takes to mend what a test has broken.
		after = func(d time.Duration) <-chan time.Time {
			if d > 500*time.Millisecond {
				d *= 20
			}
			return time.After(d)
		}
		os.Exit(m.Run())
	}
	fmt.Println("bloomredis: all tests need " + program +
		", which Debian has in a package of that name; BLOOM_REQUIRE_REDIS=1 makes its absence a failure")
	if os.Getenv("BLOOM_REQUIRE_REDIS") != "" {
		os.Exit(1)
	}
	fmt.Println("testing: warning: no tests to run")
}

// silent drops what the client logs of servers that tests killed.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// cannotRun is what Redis says, or Valkey, of a command that a script may not run.
const cannotRun = "can't run this command|no permissions to run"

// limit is how long a test waits for anything. A busy machine needs some seconds, and only what
// hangs needs as long.
const limit = time.Minute

// soon waits until condition returns true.
func soon(t testing.TB, condition func() bool, msg ...any) {
	t.Helper()
	for began := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		require.Less(t, time.Since(began), limit, msg...)
	}
}

// receive waits for a value of c, or its end.
func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(limit):
		require.Fail(t, "nothing came")
	}
	return v
}

// during runs call in another goroutine, and returns a function that waits for its end.
func during(t testing.TB, call func()) (wait func()) {
	done := make(chan struct{})
	go func() { defer close(done); call() }()
	return func() { t.Helper(); receive(t, done) }
}

// server is a redis-server of the test's own, on loopback. It is durable to the
// last acknowledged write.
type server struct {
	t    testing.TB
	addr string
	args []string
	cmd  *exec.Cmd
	dead chan struct{} // closed when the process has ended
}

func startServer(t testing.TB, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	for try := 0; ; try++ {
		port := freePort()
		s := &server{t: t, addr: net.JoinHostPort("127.0.0.1", port), args: append([]string{
			program, "--port", port, "--bind", "127.0.0.1", "--dir", dir, "--logfile",
			filepath.Join(dir, "log"),
			"--save", "", "--appendonly", "yes", "--appendfsync", "always",
			"--auto-aof-rewrite-percentage", "0",
		}, args...)}
		err := s.start()
		if err == nil {
			t.Cleanup(s.kill)
			return s
		}
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		require.Less(t, try, 20, "%v\n%s", err, log) // somebody may have taken the port
	}
}

// freePort returns a port below those that the system gives to clients, also with the 10,000 that
// are added for the bus of a cluster. So no client takes it while a server is away.
func freePort() string {
	for {
		port := strconv.Itoa(10_000 + rand.IntN(12_000))
		if l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			l.Close()
			return port
		}
	}
}

// start starts the server, with more arguments, and waits until it answers.
func (s *server) start(args ...string) error {
	s.cmd = exec.Command(s.args[0], append(s.args[1:len(s.args):len(s.args)], args...)...)
	if err := s.cmd.Start(); err != nil {
		return err
	}
	dead, cmd := make(chan struct{}), s.cmd
	s.dead = dead
	go func() {
		defer close(dead)
		_ = cmd.Wait()
	}()
	c := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1})
	defer c.Close()
	own := fmt.Sprintf("process_id:%d\r\n", cmd.Process.Pid) // and not of another server at that port
	for began := time.Now(); time.Since(began) < limit; {
		if strings.Contains(c.Info(ctx, "server").Val(), own) && c.Ping(ctx).Err() == nil {
			return nil
		}
		select {
		case <-dead:
			return fmt.Errorf("%s has ended: %v", s.addr, cmd.ProcessState)
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.kill()
	return fmt.Errorf("%s does not answer", s.addr)
}

// kill ends the server as a crash does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.dead
}

func (s *server) client() *redis.Client { return clientOf(s.t, s.addr) }

func clientOf(t testing.TB, addr string) *redis.Client {
	c := redis.NewClient(patient(addr))
	t.Cleanup(func() { c.Close() })
	return c
}

// patient returns options of a client that gives up no call because a server or a disk is slow.
func patient(addr string) *redis.Options {
	return &redis.Options{Addr: addr, DialTimeout: limit, ReadTimeout: limit, WriteTimeout: limit,
		PoolTimeout: limit}
}

// forbid takes a right from all clients, until the function it returns is called.
func forbid(t testing.TB, client *redis.Client, right string) (allow func()) {
	set := func(rule string) {
		require.NoError(t, client.Do(ctx, "ACL", "SETUSER", "default", rule).Err())
	}
	set("-" + right)
	return func() { set("+" + right) }
}

// dump returns all that the server has.
func dump(client *redis.Client) map[string]string {
	all := make(map[string]string)
	for _, key := range client.Keys(ctx, "*").Val() {
		all[key] = client.Dump(ctx, key).Val()
	}
	return all
}

// proxy passes connections on to a server, and cuts or holds them on demand.
type proxy struct {
	net.Listener
	mu   sync.Mutex
	open []net.Conn
	held atomic.Bool // replies are read and dropped
	// The replies of connections that send a script are read and dropped. Others can still be made.
	losing atomic.Bool
}

func startProxy(t testing.TB, addr string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c, addr)
		}
	}()
	return p
}

func (p *proxy) serve(c net.Conn, addr string) {
	defer c.Close()
	up, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	p.open = append(p.open, c, up)
	p.mu.Unlock()
	var lost atomic.Bool
	go func() {
		defer up.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := c.Read(buf)
			if p.losing.Load() && bytes.Contains(buf[:n], []byte("EVAL")) {
				lost.Store(true)
			}
			if err == nil {
				_, err = up.Write(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := up.Read(buf)
		if err == nil && !p.held.Load() && !lost.Load() {
			_, err = c.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// cut resets all connections: what was on its way is lost, on one side or the
// other.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	p.open = nil
}

func (p *proxy) addr() string { return p.Addr().String() }

// hook gets what a client sends in a round trip, and sends it.
type hook func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	one := h.ProcessPipelineHook(func(ctx context.Context, cmds []redis.Cmder) error {
		return next(ctx, cmds[0])
	})
	return func(ctx context.Context, cmd redis.Cmder) error { return one(ctx, []redis.Cmder{cmd}) }
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name == "client" || name == "hello" { // of a new connection
			return next(ctx, cmds)
		}
		return h(ctx, cmds, next)
	}
}

// afterwards calls then after each command that succeeds.
func afterwards(then func(args []any)) hook {
	return func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, cmds)
		for _, cmd := range cmds {
			if cmd.Err() == nil {
				then(cmd.Args())
			}
		}
		return err
	}
}

// between sends the commands of a round trip one by one, and calls a function
// before each.
func between(before func()) hook {
	return func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) (first error) {
		for _, cmd := range cmds {
			before()
			if err := send(ctx, []redis.Cmder{cmd}); first == nil {
				first = err
			}
		}
		return first
	}
}

// onRefusal calls mend once, after the first command that is refused.
func onRefusal(mend func(refusal error)) hook {
	var once sync.Once
	return func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		err := send(ctx, cmds)
		for _, cmd := range cmds {
			if refused(cmd.Err()) {
				once.Do(func() { mend(cmd.Err()) })
			}
		}
		return err
	}
}

// set is what all types have in common.
type set interface {
	fmt.Stringer
	Add(context.Context, []byte) (bool, error)
	AddString(context.Context, string) (bool, error)
	Contains(context.Context, []byte) (bool, error)
	ContainsString(context.Context, string) (bool, error)
	AddHash(context.Context, bloom.Hash) (bool, error)
	AddBatch(context.Context, []bool, []bloom.Hash) error
	AddOnce(context.Context, string, ...bloom.Hash) ([]bool, error)
	ContainsHash(context.Context, bloom.Hash) (bool, error)
	ContainsBatch(context.Context, []bool, []bloom.Hash) error
	Stats(context.Context) (bloom.Stats, error)
	Reset(context.Context) error
	Delete(context.Context) error
}

// kinds are the types: how one is opened for n keys, and the key of its (first) string.
var kinds = map[string]struct {
	key  string
	open func(client redis.UniversalClient, n uint64) (set, error)
}{
	"Filter": {"f", func(c redis.UniversalClient, n uint64) (set, error) {
		return Open(ctx, c, "f", n, 0.01)
	}},
	"Sharded": {"{s:0}", func(c redis.UniversalClient, n uint64) (set, error) {
		return OpenSharded(ctx, c, "s", ShardedConfig{Shards: 2, N: 2 * n, P: 0.01})
	}},
	"Window": {"w", func(c redis.UniversalClient, n uint64) (set, error) {
		return OpenWindow(ctx, c, "w", WindowConfig{N: n, P: 0.01, Span: 1000 * time.Hour})
	}},
}

// many is a number of keys for which those of a test find no false positives.
const many = 3_000_000

// sets returns an empty set of each type.
func sets(t testing.TB, client redis.UniversalClient) map[string]set {
	t.Helper()
	all := make(map[string]set)
	for name, kind := range kinds {
		s := bloom.Must(kind.open(client, many))
		all[name] = s
	}
	return all
}

// openFilter opens the filter under "f".
func openFilter(t testing.TB, client redis.UniversalClient, n uint64, p float64) *Filter {
	t.Helper()
	f := bloom.Must(Open(ctx, client, "f", n, p))
	return f
}

// openWindow opens the window under "w".
func openWindow(t testing.TB, client redis.UniversalClient, c WindowConfig) *Window {
	t.Helper()
	w := bloom.Must(OpenWindow(ctx, client, "w", c))
	return w
}

var visits = WindowConfig{N: 100, P: 0.01, Span: time.Hour}

func hashes(low, high uint64) (hs []bloom.Hash) {
	for i := low; i < high; i++ {
		hs = append(hs, bloom.SumUint64(i))
	}
	return hs
}

// addBatch returns what AddBatch of s answers, or an error and nothing.
func addBatch(ctx context.Context, s set, hs []bloom.Hash) ([]bool, error) {
	return answers(ctx, s.AddBatch, hs)
}

// containsBatch is addBatch of look-ups.
func containsBatch(ctx context.Context, s set, hs []bloom.Hash) ([]bool, error) {
	return answers(ctx, s.ContainsBatch, hs)
}

func answers(
	ctx context.Context, call func(context.Context, []bool, []bloom.Hash) error, hs []bloom.Hash,
) ([]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answers := make([]bool, len(hs))
	if err := call(ctx, answers, hs); err != nil {
		return nil, err
	}
	return answers, nil
}

func mustAdd(t testing.TB, s set, hs ...bloom.Hash) {
	t.Helper()
	require.NoError(t, firstError(addBatch(ctx, s, hs)))
}

// requireAdded adds hs. All of them are new, or none is.
func requireAdded(t testing.TB, s set, isNew bool, hs ...bloom.Hash) {
	t.Helper()
	answers, err := addBatch(ctx, s, hs)
	requireAll(t, isNew, len(hs), answers, err)
}

// requireOnce is requireAdded by AddOnce.
func requireOnce(t testing.TB, s set, isNew bool, token string, hs ...bloom.Hash) {
	t.Helper()
	answers, err := s.AddOnce(ctx, token, hs...)
	requireAll(t, isNew, len(hs), answers, err)
}

// requireFound looks hs up. All of them are found, or none is.
func requireFound(t testing.TB, s set, found bool, hs ...bloom.Hash) {
	t.Helper()
	answers, err := containsBatch(ctx, s, hs)
	requireAll(t, found, len(hs), answers, err)
}

func requireAll(t testing.TB, want bool, n int, answers []bool, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Len(t, answers, n)
	require.False(t, slices.Contains(answers, !want), "not all of %d are %v", n, want)
}

// count returns how many answers are yes.
func count(answers []bool) (n int) {
	for _, yes := range answers {
		if yes {
			n++
		}
	}
	return n
}

func firstError[T any](_ T, err error) error { return err }

// stored returns what GET of the key reads as a filter.
func stored(t testing.TB, f *Filter) *bloom.Filter {
	t.Helper()
	data := bloom.Must(f.client.Get(ctx, f.key).Bytes())
	g := new(bloom.Filter)
	require.NoError(t, g.UnmarshalBinary(data))
	return g
}
