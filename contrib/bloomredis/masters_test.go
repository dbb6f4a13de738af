package bloomredis

import (
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// openers are the functions that open something under a key.
var openers = map[string]func(client redis.UniversalClient, key string) error{
	"Open": func(client redis.UniversalClient, key string) error {
		return firstError(Open(ctx, client, key, 100, 0.01))
	},
	"OpenExisting": func(client redis.UniversalClient, key string) error {
		return firstError(OpenExisting(ctx, client, key))
	},
	"OpenSharded": func(client redis.UniversalClient, key string) error {
		return firstError(OpenSharded(ctx, client, key+"-s", ShardedConfig{Shards: 2, N: 100, P: 0.01}))
	},
	"OpenExistingSharded": func(client redis.UniversalClient, key string) error {
		return firstError(OpenExistingSharded(ctx, client, key+"-s"))
	},
	"OpenWindow": func(client redis.UniversalClient, key string) error {
		return firstError(OpenWindow(ctx, client, key+"-w", WindowConfig{N: 100, P: 0.01}))
	},
}

// wrapper is a client of a program's own.
type wrapper struct{ *redis.ClusterClient }

// TestClientsThatReadReplicas: a client that shows that it reads from replicas is refused, with the
// name of the option, before anything is sent.
func TestClientsThatReadReplicas(t *testing.T) {
	nowhere := []string{"127.0.0.1:1"}
	short := time.Millisecond
	for name, client := range map[string]redis.UniversalClient{
		"ReadOnly": redis.NewClusterClient(&redis.ClusterOptions{Addrs: nowhere, ReadOnly: true}),
		"RouteByLatency": redis.NewClusterClient(&redis.ClusterOptions{Addrs: nowhere,
			RouteByLatency: true}),
		"RouteRandomly": wrapper{redis.NewClusterClient(&redis.ClusterOptions{Addrs: nowhere,
			RouteRandomly: true})},
		"ReplicaOnly": redis.NewFailoverClusterClient(&redis.FailoverOptions{
			MasterName: "m", SentinelAddrs: nowhere, ReplicaOnly: true, DialTimeout: short}),
		"RouteRandomly ": redis.NewFailoverClusterClient(&redis.FailoverOptions{
			MasterName: "m", SentinelAddrs: nowhere, RouteRandomly: true, DialTimeout: short}),
		" RouteByLatency": redis.NewUniversalClient(&redis.UniversalOptions{
			Addrs: nowhere, IsClusterMode: true, RouteByLatency: true}),
	} {
		for opener, open := range openers {
			err := open(client, "key")
			require.Error(t, err, "%s, %s", name, opener)
			assert.Contains(t, err.Error()+" ", name, opener)
			assert.Contains(t, err.Error(), "replicas", opener)
		}
		require.NoError(t, client.Close())
	}
}

// TestServersThatAreReplicas: a server says that it is a replica. With each protocol it is refused,
// also as a shard of a ring.
func TestServersThatAreReplicas(t *testing.T) {
	master := startServer(t)
	host, port, err := net.SplitHostPort(master.addr)
	require.NoError(t, err)
	standby := startServer(t, "--replicaof", host+" "+port)
	for _, open := range []string{"Open", "OpenSharded", "OpenWindow"} {
		require.NoError(t, openers[open](master.client(), "key"))
	}
	soon(t, func() bool { return standby.client().Exists(ctx, "key", "{key-s:1}").Val() == 2 })
	for _, protocol := range []int{2, 3} {
		replica := redis.NewClient(&redis.Options{Addr: standby.addr, Protocol: protocol})
		ring := redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"a": master.addr, "b": standby.addr}, Protocol: protocol})
		same := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": master.addr},
			Protocol: protocol})
		for name, open := range openers {
			for _, client := range []redis.UniversalClient{replica, ring} {
				err := open(client, "key")
				require.Error(t, err, "%s, protocol %d", name, protocol)
				assert.Contains(t, err.Error(), "ReplicaOnly", name)
			}
			require.NoError(t, open(same, "key"), name)
			require.NoError(t, open(redis.NewClient(&redis.Options{Addr: master.addr,
				Protocol: protocol}), "key"), name)
		}
	}
	require.NoError(t, standby.client().Do(ctx, "REPLICAOF", "NO", "ONE").Err())
	f := bloom.Must(OpenExisting(ctx, standby.client(), "key"))
	require.NoError(t, firstError(f.AddString(ctx, "a")))
}
