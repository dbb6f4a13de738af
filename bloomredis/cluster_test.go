package bloomredis

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A cluster of three servers, each with a third of the slots.
func TestCluster(t *testing.T) {
	t.Parallel()
	var servers []*server
	var addrs []string
	for range 3 {
		s := startServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no")
		servers, addrs = append(servers, s), append(addrs, s.addr)
	}
	const slots = 16384
	for i, s := range servers {
		c := s.client()
		require.NoError(t, c.ClusterAddSlotsRange(ctx, i*slots/3, (i+1)*slots/3-1).Err())
		host, port, err := net.SplitHostPort(addrs[(i+1)%3])
		require.NoError(t, err)
		require.NoError(t, c.ClusterMeet(ctx, host, port).Err())
	}
	require.Eventually(t, func() bool {
		for _, s := range servers {
			info := s.client().ClusterInfo(ctx).Val()
			if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:3") {
				return false
			}
		}
		return true
	}, time.Minute, 50*time.Millisecond)

	client := clusterClient(t, servers)
	testSharded(t, client)

	// Stream and uploads are in their string's slot, or the server would refuse.
	for _, key := range []string{"plain", "{tag}", "tag{ged}", "open{"} {
		f, err := Open(ctx, client, key, 100_000, 0.01)
		require.NoError(t, err)
		requireAdded(t, f, true, bloom.SumString("a"))
		require.NoError(t, f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01))))
		assert.True(t, full(t, f).Full.ContainsString("a"))
	}
	// So are the strings of a window, and the keys for tokens.
	for _, key := range []string{"visits", "{tag}visits", "other"} {
		w, err := OpenWindow(ctx, client, key, WindowConfig{N: 40_000_000, P: 0.01, Span: time.Hour})
		require.NoError(t, err)
		require.Greater(t, len(w.names), 1)
		hs := hashes(0, 3*chunk)
		requireAdded(t, w, true, hs...)
		added, err := w.AddOnce(ctx, "token", hs...)
		requireAll(t, false, len(hs), added, err)
		require.NoError(t, DeleteWindow(ctx, client, key))
	}

	// A user of a cluster needs one right more; see the README.
	for _, s := range servers {
		require.NoError(t, s.client().Do(ctx, "ACL", "SETUSER", "reader", "on", ">secret", "%R~plain", "%R~*:{plain}",
			"+cluster|slots", "+type", "+strlen", "+getrange", "+bitfield_ro").Err())
	}
	as := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Username: "reader", Password: "secret"})
	defer as.Close()
	f, err := OpenExisting(ctx, as, "plain")
	require.NoError(t, err)
	requireFound(t, f, true, bloom.SumString("a"))

	testRefused(t, servers)
	testMoves(t, servers)
}

// A client that spreads keys over servers of their own sends what belongs together
// to one.
func TestRing(t *testing.T) {
	client := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": startServer(t).addr, "b": startServer(t).addr}})
	defer client.Close()
	for _, s := range sets(t, client) {
		hs := hashes(0, 3*chunk)
		requireAdded(t, s, true, hs...)
		added, err := s.AddOnce(ctx, "token", hs...)
		requireAll(t, false, len(hs), added, err)
		requireFound(t, s, true, hs...)
	}
}

// mover moves a slot of a cluster of three servers from the one that has it to the
// next.
type mover struct {
	t        testing.TB
	slot     int
	from, to *server
}

func newMover(t testing.TB, client *redis.ClusterClient, servers []*server, key string) *mover {
	slot := int(client.ClusterKeySlot(ctx, key).Val())
	at := slot * 3 / 16384
	return &mover{t, slot, servers[at], servers[(at+1)%3]}
}

func (m *mover) do(s *server, args ...any) {
	m.t.Helper()
	require.NoError(m.t, s.client().Do(ctx, args...).Err())
}

func (m *mover) id(s *server) any { return s.client().Do(ctx, "CLUSTER", "MYID").Val() }

func (m *mover) begin() {
	m.do(m.to, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.id(m.from))
	m.do(m.from, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.id(m.to))
}

func (m *mover) move(keys ...string) {
	host, port, err := net.SplitHostPort(m.to.addr)
	require.NoError(m.t, err)
	for _, key := range keys {
		m.do(m.from, "MIGRATE", host, port, key, 0, 5000)
	}
}

func (m *mover) keys() []string {
	return m.from.client().ClusterGetKeysInSlot(ctx, m.slot, 1000).Val()
}

func (m *mover) end() {
	m.move(m.keys()...)
	m.do(m.to, "CLUSTER", "SETSLOT", m.slot, "NODE", m.id(m.to))
	m.do(m.from, "CLUSTER", "SETSLOT", m.slot, "NODE", m.id(m.to))
	m.from, m.to = m.to, m.from
}

// Servers that refuse a command as a whole, for now, are asked again, and the
// keys are new to them then.
func testRefused(t *testing.T, servers []*server) {
	for i, refusal := range []string{"CLUSTERDOWN ", "TRYAGAIN "} {
		client := clusterClient(t, servers)
		f, err := OpenExisting(ctx, client, "plain")
		require.NoError(t, err)
		m := newMover(t, client, servers, "plain")
		mend := func() { m.do(m.from, "CLUSTER", "ADDSLOTS", m.slot) }
		if refusal == "TRYAGAIN " {
			m.begin()
			m.move(f.stream)
			mend = m.end
		} else {
			m.do(m.from, "CLUSTER", "DELSLOTS", m.slot)
		}
		refused := false
		client.AddHook(onRefusal(func(err error) {
			refused = true
			assert.ErrorContains(t, err, refusal)
			mend()
		}))
		hs := hashes(uint64(i*3*chunk), uint64((i+1)*3*chunk))
		requireAdded(t, f, true, hs...)
		assert.True(t, refused)
		requireFound(t, f, true, hs...)
	}
}

// Slots move, there and back, key by key, under a Filter and a Window that are used.
// No call fails, no key is lost, and each is new once.
func testMoves(t *testing.T, servers []*server) {
	f, err := Open(ctx, clusterClient(t, servers), "moving", 1_000_000, 1e-6)
	require.NoError(t, err)
	w, err := OpenWindow(ctx, clusterClient(t, servers), "moving window", WindowConfig{N: 20_000_000, P: 1e-6, Span: time.Hour})
	require.NoError(t, err)
	require.Greater(t, len(w.names), 1)
	for key, s := range map[string]set{"moving": f, "moving window": w} {
		m := newMover(t, clusterClient(t, servers), servers, key)
		calls := make(chan uint64)
		stop := make(chan struct{})
		go func() {
			defer close(calls)
			for next := uint64(0); ; next += 100 {
				hs := hashes(next, next+100)
				added, err := addBatch(ctx, s, hs)
				found, err2 := containsBatch(ctx, s, hashes(0, next+100))
				if !assert.NoError(t, errors.Join(err, err2), key) {
					return
				}
				assert.NotContains(t, append(found, added...), false, key)
				select {
				case calls <- next:
				case <-stop:
					return
				}
			}
		}()
		for range 2 { // there and back
			m.begin()
			keys := m.keys()
			require.Greater(t, len(keys), 1)
			for i, key := range keys {
				<-calls
				m.move(key)
				if i > 0 || len(keys) == 3 {
					break // of a Filter's keys, some are here and some there: it is refused until the move ends
				}
			}
			if key == "moving window" {
				for range 3 {
					<-calls
				}
			}
			once := make(chan error)
			go func() { once <- firstError(s.AddOnce(ctx, nonce(), hashes(1<<40, 1<<40+1000)...)) }()
			m.end()
			assert.NoError(t, <-once)
			<-calls
			<-calls
		}
		close(stop)
		for range calls {
		}
	}
}

func clusterClient(t testing.TB, servers []*server) *redis.ClusterClient {
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.addr)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { client.Close() })
	return client
}

// A server that is loading what it has refuses commands.
func TestLoading(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--appendonly", "no", "--rdbcompression", "no")
	client := s.client()
	f := openFilter(t, client, 1000, 0.01)
	mustAdd(t, f, bloom.SumString("a"))
	for i := range 100 { // which take half a second to load, and not much of the client's patience
		require.NoError(t, client.Set(ctx, strconv.Itoa(i), strings.Repeat("x", 100), 0).Err())
	}
	require.NoError(t, client.Save(ctx).Err())
	s.kill()
	started := make(chan error)
	go func() {
		started <- s.start("--key-load-delay", "5000", "--loading-process-events-interval-bytes", "1024")
	}()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			return false
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("GET x\r\n"))
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		reply := make([]byte, 100)
		n, _ := conn.Read(reply)
		return strings.HasPrefix(string(reply[:n]), "-LOADING ")
	}, time.Minute, time.Millisecond)
	requireAdded(t, f, true, bloom.SumString("b"))
	require.NoError(t, <-started)
	requireFound(t, f, true, bloom.SumString("a"))
}

// A server that is a replica for now, with or without a master, refuses, too.
func TestStandby(t *testing.T) {
	s := startServer(t)
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1}) // leaves it to this package
	defer client.Close()
	f := openFilter(t, client, 1000, 0.01)
	for _, test := range []struct {
		stale, refusal string
		call           func() (bool, error)
	}{
		{"yes", "READONLY ", func() (bool, error) { return f.AddString(ctx, "a") }},
		{"no", "MASTERDOWN ", func() (bool, error) { return f.ContainsString(ctx, "a") }},
	} {
		require.NoError(t, client.ConfigSet(ctx, "replica-serve-stale-data", test.stale).Err())
		require.NoError(t, client.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
		client.AddHook(onRefusal(func(refusal error) {
			assert.ErrorContains(t, refusal, test.refusal)
			assert.NoError(t, s.client().Do(ctx, "REPLICAOF", "NO", "ONE").Err())
		}))
		yes, err := test.call()
		require.NoError(t, err)
		assert.True(t, yes)
	}
}
