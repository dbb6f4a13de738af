package bloomredis

import (
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

	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer client.Close()
	testSharded(t, client)

	// Stream and uploads are in their string's slot, or the server would refuse.
	for _, key := range []string{"plain", "{tag}", "tag{ged}", "open{"} {
		f, err := Open(ctx, client, key, 100_000, 0.01)
		require.NoError(t, err)
		added, err := f.AddString(ctx, "a")
		require.NoError(t, err)
		assert.True(t, added)
		require.NoError(t, f.Merge(ctx, bloom.Must(bloom.New(100_000, 0.01))))
		assert.True(t, full(t, f).Full.ContainsString("a"))
	}
	// So are the generations of a window, whose names the server makes.
	for _, key := range []string{"visits", "{tag}visits", "other"} {
		w, err := OpenWindow(ctx, client, key, WindowConfig{Capacity: 100_000, FPR: 0.01, Span: time.Hour})
		require.NoError(t, err)
		for _, want := range []bool{true, false} {
			added, err := w.AddBatch(ctx, hashes(0, 3*chunk))
			require.NoError(t, err)
			assert.NotContains(t, added, !want)
		}
		require.NoError(t, w.Delete(ctx))
	}

	// The settings are those of the server that has the key.
	for i, s := range servers {
		require.NoError(t, s.client().ConfigSet(ctx, "save", strconv.Itoa(1000+i)+" 1").Err())
	}
	for _, key := range []string{"plain", "{tag}", "tag{ged}", "open{"} {
		f, err := OpenExisting(ctx, client, key)
		require.NoError(t, err)
		got, err := f.Persistence(ctx)
		require.NoError(t, err)
		assert.Equal(t, strconv.Itoa(1000+int(client.ClusterKeySlot(ctx, key).Val())*3/slots)+" 1", got.Save)
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
	found, err := f.ContainsString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, found)

	testRefused(t, client, servers)

	sizes := 0
	for i, s := range servers {
		size := int(s.client().DBSize(ctx).Val())
		assert.NotZero(t, size, "server "+strconv.Itoa(i))
		sizes += size
	}
	assert.Equal(t, 4*3, sizes)
}

// A client that spreads keys over servers of their own sends what belongs together
// to one.
func TestRing(t *testing.T) {
	client := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": startServer(t).addr, "b": startServer(t).addr}})
	defer client.Close()
	for name, s := range sets(t, client) {
		for _, want := range []bool{true, false} {
			added, err := s.AddBatch(ctx, hashes(0, 3*chunk))
			require.NoError(t, err)
			assert.NotContains(t, added, !want, name)
		}
		found, err := s.ContainsBatch(ctx, hashes(0, 3*chunk))
		require.NoError(t, err)
		assert.NotContains(t, found, false, name)
	}
}

// Servers that refuse a command as a whole, for now, are asked again, and the
// keys are new to them then.
func testRefused(t *testing.T, client *redis.ClusterClient, servers []*server) {
	f, err := OpenExisting(ctx, client, "plain")
	require.NoError(t, err)
	slot := int(client.ClusterKeySlot(ctx, "plain").Val())
	from := servers[slot*3/16384]
	to := servers[(slot*3/16384+1)%3]
	fromID, toID := from.client().Do(ctx, "CLUSTER", "MYID").Val(), to.client().Do(ctx, "CLUSTER", "MYID").Val()
	do := func(s *server, args ...any) {
		t.Helper()
		require.NoError(t, s.client().Do(ctx, args...).Err())
	}
	host, port, err := net.SplitHostPort(to.addr)
	require.NoError(t, err)
	migrate := func(key string) { do(from, "MIGRATE", host, port, key, 0, 5000) }
	for i, test := range []struct {
		refusal      string
		refuse, mend func()
	}{
		{"CLUSTERDOWN", func() { do(from, "CLUSTER", "DELSLOTS", slot) }, func() { do(from, "CLUSTER", "ADDSLOTS", slot) }},
		{"TRYAGAIN", func() {
			do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
			do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
			migrate(f.stream)
		}, func() {
			migrate(f.key)
			migrate(f.ident)
			do(to, "CLUSTER", "SETSLOT", slot, "NODE", toID)
			do(from, "CLUSTER", "SETSLOT", slot, "NODE", toID)
		}},
	} {
		test.refuse()
		err := from.client().Eval(ctx, "return 1", f.keys()).Err()
		require.ErrorContains(t, err, test.refusal)
		mended := make(chan struct{})
		time.AfterFunc(100*time.Millisecond, func() { test.mend(); close(mended) })
		hs := hashes(uint64(i*3*chunk), uint64((i+1)*3*chunk))
		added, err := f.AddBatch(ctx, hs)
		require.NoError(t, err)
		assert.NotContains(t, added, false)
		<-mended
		found, err := f.ContainsBatch(ctx, hs)
		require.NoError(t, err)
		assert.NotContains(t, found, false)
	}
}

// A server that is loading what it has refuses commands.
func TestLoading(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--appendonly", "no", "--rdbcompression", "no")
	client := s.client()
	f, err := Open(ctx, client, "f", 1000, 0.01)
	require.NoError(t, err)
	_, err = f.AddString(ctx, "a")
	require.NoError(t, err)
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
	added, err := f.AddString(ctx, "b")
	require.NoError(t, err)
	assert.True(t, added)
	require.NoError(t, <-started)
	found, err := f.ContainsString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, found)
}

// A server that is a replica for now, with or without a master, refuses, too.
func TestStandby(t *testing.T) {
	s := startServer(t)
	client := redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1}) // leaves it to this package
	defer client.Close()
	f, err := Open(ctx, client, "f", 1000, 0.01)
	require.NoError(t, err)
	for _, test := range []struct {
		stale, refusal string
		call           func() (bool, error)
	}{
		{"yes", "READONLY ", func() (bool, error) { return f.AddString(ctx, "a") }},
		{"no", "MASTERDOWN ", func() (bool, error) { return f.ContainsString(ctx, "a") }},
	} {
		require.NoError(t, client.ConfigSet(ctx, "replica-serve-stale-data", test.stale).Err())
		require.NoError(t, client.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
		if test.stale == "yes" {
			require.ErrorContains(t, client.SetBit(ctx, "x", 1, 1).Err(), test.refusal)
		} else {
			require.ErrorContains(t, client.GetBit(ctx, "x", 1).Err(), test.refusal)
		}
		mended := make(chan error)
		time.AfterFunc(100*time.Millisecond, func() { mended <- s.client().Do(ctx, "REPLICAOF", "NO", "ONE").Err() })
		yes, err := test.call()
		require.NoError(t, err)
		assert.True(t, yes)
		require.NoError(t, <-mended)
	}
}
