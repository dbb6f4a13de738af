// Package bloomredis keeps Bloom filters in Redis, one for many processes.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	seen, err := bloomredis.Open(ctx, client, "seen", 1_000_000, 0.01)
//	if err != nil {
//		return err
//	}
//	isNew, err := seen.AddString(ctx, "ada")
//	found, err := seen.ContainsString(ctx, "grace")
//
// All processes find a key that one of them added, for as long as the server keeps it. Otherwise
// the answers are those of a [bloom.Filter] with the same keys. On an error, Contains returns true,
// and Add false. A key is never reported as absent because the server cannot be reached, or because
// the filter was deleted, truncated or replaced since it was opened; see [ErrLost].
//
// The caller supplies a client of go-redis that does not read from replicas, see [Open], and Redis
// 6.0 or later, or Valkey: a server, a cluster, or servers behind Sentinel. A filter is as durable
// as its server; the README lists which keys a crash can lose, and which commands a user needs.
//
// The price is a round trip for each call or batch; replicas in memory need none, see
// [Filter.Source]. No filter grows: choose n as the largest number of keys you expect, or use a
// [Window], which forgets; the example Rebuild replaces a filter with a larger one. For a single
// process use a [bloom.SyncFilter]. If a false positive must not happen, use a Redis key for each
// of your keys (SET NX).
package bloomredis
