// Package bloomredis keeps Bloom filters in Redis, where many processes share them.
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	seen, err := bloomredis.Open(ctx, client, "seen", 1_000_000, 0.01)
//	if err != nil {
//		return err
//	}
//	isNew, err := seen.AddString(ctx, "ada")
//	found, err := seen.ContainsString(ctx, "grace")
//
// Once a process has added a key, every process finds it, until the filter is reset or lost. A
// [Filter] answers like a [bloom.Filter] with the same keys. On an error, Contains returns true and
// Add returns false. If the server cannot be reached, or the filter was deleted, truncated or
// replaced since it was opened, calls return an error; no key is reported as absent. See [ErrLost].
//
// The caller supplies a go-redis client that does not read from replicas (see [Open]), and Redis
// 6.0 or later, or Valkey: a server, a cluster, or servers behind Sentinel. A filter is as durable
// as its server. The README lists which keys a crash can lose, and which commands the server must
// permit.
//
// Each Add or Contains costs at least one round trip; a replica in memory answers without one (see
// [Filter.Source]). Filters do not grow: choose n as the largest number of keys you expect, or use
// a [Window], which forgets. The example Rebuild replaces a filter with a larger one. For a single
// process use a [bloom.SyncFilter]. If you cannot accept false positives, use a Redis key for each
// of your keys (SET NX).
package bloomredis
