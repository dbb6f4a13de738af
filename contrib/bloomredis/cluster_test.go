package bloomredis

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
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
	for range 3 {
		servers = append(servers,
			startServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "60000",
				"--cluster-require-full-coverage", "no"))
	}
	const slots = 16384
	for i, s := range servers {
		c := s.client()
		require.NoError(t, c.ClusterAddSlotsRange(ctx, i*slots/3, (i+1)*slots/3-1).Err())
		host, port, err := net.SplitHostPort(servers[(i+1)%3].addr)
		require.NoError(t, err)
		require.NoError(t, c.ClusterMeet(ctx, host, port).Err())
	}
	soon(t, func() bool {
		for _, s := range servers {
			info := s.client().ClusterInfo(ctx).Val()
			if !strings.Contains(info, "cluster_state:ok") ||
				!strings.Contains(info, "cluster_known_nodes:3") {
				return false
			}
		}
		return true
	})

	client := clusterClient(t, servers, redis.ClusterOptions{})
	testSharded(t, client)

	// Stream and uploads are in their string's slot, or the server would refuse.
	for _, key := range []string{"plain", "{tag}", "tag{ged}", "open{"} {
		f := bloom.Must(Open(ctx, client, key, 100_000, 0.01))
		requireAdded(t, f, true, bloom.SumString("a"))
		require.NoError(t, f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01))))
		assert.True(t, full(t, f).Full.ContainsString("a"))
	}
	// So are the strings of a window, and the keys for tokens.
	for _, key := range []string{"visits", "{tag}visits", "other"} {
		w := bloom.Must(OpenWindow(ctx, client, key,
			WindowConfig{N: 40_000_000, P: 0.01, Span: time.Hour}))
		require.Greater(t, len(w.names), 1)
		hs := hashes(0, 3*chunk)
		requireAdded(t, w, true, hs...)
		requireOnce(t, w, false, "token", hs...)
		require.NoError(t, DeleteWindow(ctx, client, key))
	}

	// A user of a cluster needs one right more; see the README.
	for _, s := range servers {
		require.NoError(t, s.client().Do(ctx, "ACL", "SETUSER", "reader", "on", ">secret",
			"%R~plain", "%R~*:{plain}",
			"+cluster|slots", "+type", "+strlen", "+getrange", "+bitfield_ro").Err())
	}
	as := clusterClient(t, servers, redis.ClusterOptions{Username: "reader", Password: "secret"})
	f := bloom.Must(OpenExisting(ctx, as, "plain"))
	requireFound(t, f, true, bloom.SumString("a"))

	testRefused(t, servers)
	testMoves(t, servers)
}

// A client that spreads keys over servers of their own sends what belongs together
// to one.
func TestRing(t *testing.T) {
	client := redis.NewRing(&redis.RingOptions{
		Addrs:              map[string]string{"a": startServer(t).addr, "b": startServer(t).addr},
		HeartbeatFrequency: time.Hour, // it would take a slow server for one that is down
		DialTimeout:        limit, ReadTimeout: limit, WriteTimeout: limit, PoolTimeout: limit,
	})
	defer client.Close()
	for _, s := range sets(t, client) {
		hs := hashes(0, 3*chunk)
		requireAdded(t, s, true, hs...)
		requireOnce(t, s, false, "token", hs...)
		requireFound(t, s, true, hs...)
	}
}

// mover moves a slot of a cluster of three servers from the one that has it to the
// next.
type mover struct {
	t              testing.TB
	slot           int
	source, target *server
}

func newMover(t testing.TB, client *redis.ClusterClient, servers []*server, key string) *mover {
	slot := int(client.ClusterKeySlot(ctx, key).Val())
	at := slot * 3 / 16384
	return &mover{t, slot, servers[at], servers[(at+1)%3]}
}

func (m *mover) send(s *server, args ...any) {
	m.t.Helper()
	require.NoError(m.t, s.client().Do(ctx, args...).Err())
}

func (m *mover) id(s *server) any { return s.client().Do(ctx, "CLUSTER", "MYID").Val() }

func (m *mover) begin() {
	m.send(m.target, "CLUSTER", "SETSLOT", m.slot, "IMPORTING", m.id(m.source))
	m.send(m.source, "CLUSTER", "SETSLOT", m.slot, "MIGRATING", m.id(m.target))
}

func (m *mover) move(keys ...string) {
	host, port, err := net.SplitHostPort(m.target.addr)
	require.NoError(m.t, err)
	for _, key := range keys {
		m.send(m.source, "MIGRATE", host, port, key, 0, limit.Milliseconds())
	}
}

func (m *mover) keys() []string {
	return m.source.client().ClusterGetKeysInSlot(ctx, m.slot, 1000).Val()
}

func (m *mover) finish() {
	m.move(m.keys()...)
	m.send(m.target, "CLUSTER", "SETSLOT", m.slot, "NODE", m.id(m.target))
	m.send(m.source, "CLUSTER", "SETSLOT", m.slot, "NODE", m.id(m.target))
	m.source, m.target = m.target, m.source
}

// Servers that refuse a command as a whole, for now, are asked again, and the
// keys are new to them then.
func testRefused(t *testing.T, servers []*server) {
	for i, refusal := range []string{"CLUSTERDOWN ", "TRYAGAIN "} {
		client := clusterClient(t, servers, redis.ClusterOptions{})
		f := bloom.Must(OpenExisting(ctx, client, "plain"))
		m := newMover(t, client, servers, "plain")
		mend := func() { m.send(m.source, "CLUSTER", "ADDSLOTS", m.slot) }
		if refusal == "TRYAGAIN " {
			m.begin()
			m.move(f.stream)
			mend = m.finish
		} else {
			m.send(m.source, "CLUSTER", "DELSLOTS", m.slot)
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
	client := func() *redis.ClusterClient { return clusterClient(t, servers, redis.ClusterOptions{}) }
	w := bloom.Must(OpenWindow(ctx, client(), "moving window",
		WindowConfig{N: 20_000_000, P: 1e-6, Span: time.Hour}))
	require.Greater(t, len(w.names), 1)
	for key, s := range map[string]set{
		"moving": bloom.Must(Open(ctx, client(), "moving", 1_000_000, 1e-6)), "moving window": w,
	} {
		m := newMover(t, client(), servers, key)
		calls, stop := make(chan error), make(chan struct{})
		ended := during(t, func() {
			for next := uint64(0); ; next += 100 {
				added, err := addBatch(ctx, s, hashes(next, next+100))
				found, err2 := containsBatch(ctx, s, hashes(0, next+100))
				assert.NotContains(t, append(found, added...), false, key)
				select {
				case calls <- errors.Join(err, err2):
				case <-stop:
					return
				}
			}
		})
		call := func() { require.NoError(t, receive(t, calls), key) }
		for range 2 { // there and back
			m.begin()
			keys := m.keys()
			require.Greater(t, len(keys), 1)
			for i, key := range keys {
				call()
				m.move(key)
				if i > 0 || len(keys) == 3 {
					break // of a Filter's keys, some are here and some there: it is refused until the move ends
				}
			}
			if key == "moving window" {
				call()
				call()
			}
			once := during(t, func() {
				assert.NoError(t, firstError(s.AddOnce(ctx, nonce(), hashes(1<<40, 1<<40+1000)...)))
			})
			m.finish()
			once()
			call()
			call()
		}
		close(stop)
		ended()
	}
}

func clusterClient(t testing.TB, servers []*server, o redis.ClusterOptions) *redis.ClusterClient {
	for _, s := range servers {
		o.Addrs = append(o.Addrs, s.addr)
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = limit, limit, limit, limit
	client := redis.NewClusterClient(&o)
	t.Cleanup(func() { client.Close() })
	return client
}

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
	standby := startServer(t, "--replicaof", host+" "+port)

	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	require.NoError(t, os.WriteFile(conf, []byte(fmt.Sprintf(
		"sentinel monitor m %s %s 1\nsentinel down-after-milliseconds m 3600000\nsentinel "+
			"failover-timeout m 10000\n", host, port)), 0o600))
	sentinelPort := freePort()
	sentinel := &server{t: t, addr: net.JoinHostPort("127.0.0.1", sentinelPort), args: []string{
		program, conf, "--sentinel", "--port", sentinelPort, "--bind", "127.0.0.1"}}
	require.NoError(t, sentinel.start())
	t.Cleanup(sentinel.kill)

	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m",
		SentinelAddrs: []string{sentinel.addr},
		DialTimeout:   limit, ReadTimeout: limit, WriteTimeout: limit, PoolTimeout: limit})
	defer client.Close()
	all := sets(t, client)
	for _, s := range all {
		mustAdd(t, s, hashes(0, 1000)...)
		requireOnce(t, s, true, "token", hashes(5000, 5300)...)
	}
	f := all["Filter"].(*Filter)
	have := full(t, f)
	// The replica has this key, and so all that came before it, and Sentinel knows the replica.
	require.NoError(t, master.client().Set(ctx, "last", "", 0).Err())
	replica, watch := standby.client(), sentinel.client()
	soon(t, func() bool {
		known, _ := watch.Do(ctx, "SENTINEL", "REPLICAS", "m").Slice()
		return len(known) == 1 && replica.Exists(ctx, "last").Val() == 1
	})

	lagging := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m",
		SentinelAddrs: []string{sentinel.addr}, ReplicaOnly: true})
	for name, open := range openers {
		assert.ErrorContains(t, open(lagging, "lagging"), "ReplicaOnly", name)
	}
	require.NoError(t, lagging.Close())

	master.kill()
	// Sentinel is told to act: if it watched for the death, it would find it in a server that is slow.
	soon(t, func() bool {
		// also again, if there was no good replica yet
		_ = watch.Do(ctx, "SENTINEL", "FAILOVER", "m").Err()
		return strings.Contains(replica.Info(ctx, "replication").Val(), "role:master")
	})
	soon(t, func() bool { return firstError(f.AddHash(ctx, hashes(1000, 1001)[0])) == nil })
	for _, s := range all {
		requireFound(t, s, true, hashes(0, 1000)...)
		requireOnce(t, s, true, "token", hashes(5000, 5300)...) // the answer went over with the keys
	}
	u := bloom.Must(f.Source().Fetch(ctx, have.Version))
	require.NotEmpty(t, u.Added, "the stream goes on")
	assert.Contains(t, u.Added, hashes(1000, 1001)[0])
}
