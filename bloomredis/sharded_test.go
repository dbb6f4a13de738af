package bloomredis

import (
	"context"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

func TestSharded(t *testing.T) { testSharded(t, startServer(t).client()) }

func testSharded(t *testing.T, client redis.UniversalClient) {
	const n, p, shards = 10_000, 0.01, 7
	s, err := OpenSharded(ctx, client, "s", shards, n, p)
	require.NoError(t, err)
	added, err := s.AddBatch(ctx, hashes(0, n/2))
	require.NoError(t, err)
	for i, h := range hashes(n/2, n/2+20) {
		got, err := s.AddHash(ctx, h)
		require.NoError(t, err)
		require.True(t, got, i)
	}
	news := 0
	for _, new := range added {
		if new {
			news++
		}
	}
	assert.Greater(t, news, n/2*99/100)

	// Another process finds the same, one by one and in a batch that keeps order.
	s, err = OpenSharded(ctx, client, "s", shards, n, p)
	require.NoError(t, err)
	keys := append(hashes(n/2-100, n/2+20), hashes(1<<40, 1<<40+100)...)
	found, err := s.ContainsBatch(ctx, keys)
	require.NoError(t, err)
	for i, h := range keys {
		one, err := s.ContainsHash(ctx, h)
		require.NoError(t, err)
		assert.Equal(t, one, found[i])
		if i < 120 {
			assert.True(t, one)
		}
	}
	assert.Contains(t, found[120:], false)

	again, err := s.AddBatch(ctx, keys[:120])
	require.NoError(t, err)
	assert.NotContains(t, again, true)
	fresh, err := s.AddString(ctx, "a")
	require.NoError(t, err)
	assert.True(t, fresh)
	for _, call := range []func(context.Context, []byte) (bool, error){s.Contains, func(ctx context.Context, key []byte) (bool, error) {
		return s.ContainsString(ctx, string(key))
	}} {
		yes, err := call(ctx, []byte("a"))
		require.NoError(t, err)
		assert.True(t, yes)
	}
	fresh, err = s.Add(ctx, []byte("a"))
	require.NoError(t, err)
	assert.False(t, fresh)

	// Shards are filters, which can be replicated and merged.
	for _, f := range s.Shards() {
		r := replica.New(f.Source(), replica.Config{})
		require.NoError(t, r.Refresh(ctx))
		g := r.Snapshot()
		g.AddString("merged")
		require.NoError(t, f.Merge(ctx, g))
		require.NoError(t, r.Refresh(ctx))
		assert.True(t, r.ContainsString("merged"))
	}

	_, err = OpenSharded(ctx, client, "s", shards-1, (n/shards+1)*(shards-1), p)
	require.ErrorContains(t, err, `it has 7 shards, want 6`)
	_, err = OpenSharded(ctx, client, "s", shards, 2*n, p)
	require.ErrorIs(t, err, bloom.ErrFormat)
}

func TestOpenShardedParameters(t *testing.T) {
	_, err := OpenSharded(ctx, nil, "s", 0, 100, 0.01)
	require.ErrorContains(t, err, "bloomredis: shards = 0 is below 1")
	_, err = OpenSharded(ctx, nil, "{s}", 2, 100, 0.01)
	require.ErrorContains(t, err, `bloomredis: redis key "{s}" of a Sharded has braces`)
	_, err = OpenSharded(ctx, nil, "s", 2, math.MaxUint64, 0.01)
	require.ErrorContains(t, err, "use OpenSharded")
}

// Routing spreads keys evenly, says nothing about indexes, and stays as it is.
func TestRoute(t *testing.T) {
	const shards, n = 8, 80_000
	s := &Sharded{shards: make([]*Filter, shards)}
	var count, odd [shards]int
	for _, h := range hashes(0, n) {
		count[s.route(h)]++
		odd[s.route(h)] += int(h.H1 & 1)
	}
	for i := range shards {
		sigma := math.Sqrt(n / shards * (1 - 1.0/shards))
		assert.InDelta(t, n/shards, count[i], 5*sigma)
		assert.InDelta(t, count[i]/2, odd[i], 5*math.Sqrt(float64(count[i]))/2)
	}
	s = &Sharded{shards: make([]*Filter, 1000)}
	var routes []int
	for _, h := range hashes(0, 8) {
		routes = append(routes, s.route(h))
	}
	assert.Equal(t, []int{604, 848, 674, 355, 261, 841, 701, 152}, routes)
}

// A cluster of three servers, each with a third of the slots.
func TestCluster(t *testing.T) {
	var servers []*server
	var addrs []string
	for range 3 {
		s := startServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
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
	}, 20*time.Second, 50*time.Millisecond)

	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer client.Close()
	testSharded(t, client)

	// Stream and uploads are in their string's slot, or the server would refuse.
	for _, key := range []string{"plain", "{tag}", "tag{ged}", "open{"} {
		f, err := Open(ctx, client, key, 1000, 0.01)
		require.NoError(t, err)
		added, err := f.AddString(ctx, "a")
		require.NoError(t, err)
		assert.True(t, added)
		require.NoError(t, f.Merge(ctx, bloom.Must(bloom.New(1000, 0.01))))
		assert.True(t, full(t, f).Full.ContainsString("a"))
	}
	sizes := 0
	for i, s := range servers {
		size := int(s.client().DBSize(ctx).Val())
		assert.NotZero(t, size, "server "+strconv.Itoa(i))
		sizes += size
	}
	assert.Equal(t, 7*3+1+4*3, sizes)
}
