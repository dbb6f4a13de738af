package bloomredis

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// readsMasters returns an error if it can tell that the client reads from replicas, which may lack
// a key that was just added.
//
// Only the options of a cluster client show this. For other clients, readsMasters asks the server
// for its role with HELLO, which needs no permission. It accepts a server that refuses HELLO, and a
// client that has no Options method.
func (c caller) readsMasters(ctx context.Context) error {
	if _, err := c.beside("id"); err != nil {
		return err // report a bad key even if no server answers
	}
	switch client := c.client.(type) {
	case interface{ Options() *redis.ClusterOptions }:
		switch o := client.Options(); {
		case o.RouteByLatency:
			return c.readsReplicas("RouteByLatency")
		case o.RouteRandomly:
			return c.readsReplicas("RouteRandomly")
		case o.ReadOnly:
			return c.readsReplicas("ReadOnly (ReplicaOnly of a failover client)")
		}
	case interface{ Options() *redis.RingOptions }:
		ring, ok := client.(interface {
			ForEachShard(context.Context, func(context.Context, *redis.Client) error) error
		})
		if ok {
			return ring.ForEachShard(ctx, func(ctx context.Context, shard *redis.Client) error {
				return caller{shard, c.key}.asksMaster(ctx)
			})
		}
	case interface{ Options() *redis.Options }:
		return c.asksMaster(ctx)
	}
	return nil
}

func (c caller) readsReplicas(why string) error {
	return c.errorf("the client reads from replicas, which lag: its options set %s", why)
}

func (c caller) asksMaster(ctx context.Context) error {
	hello := redis.NewCmd(ctx, "HELLO")
	err := c.retry(ctx, func() error { return c.client.Process(ctx, hello) })
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		return err
	}
	if err == nil && role(hello.Val()) == "replica" {
		return c.errorf("the client reads from replicas, which lag: its server is a replica; " +
			"see its address, or ReplicaOnly in FailoverOptions")
	}
	return nil
}

// role returns the role in a reply to HELLO, which is a map or, with protocol 2, a list. It returns
// "" for any other reply.
func role(reply any) string {
	switch reply := reply.(type) {
	case map[any]any:
		return fmt.Sprint(reply["role"])
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			if reply[i] == "role" {
				return fmt.Sprint(reply[i+1])
			}
		}
	}
	return ""
}
