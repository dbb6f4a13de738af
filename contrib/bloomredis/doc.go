// Package bloomredis keeps Bloom filters in Redis, one for many processes.
//
// A [Filter] is one Redis string in the binary form of Google Guava. Java's BloomFilter.readFrom
// reads the reply to GET of its key. A [Sharded] is a filter in several strings, for more keys than
// one string has room for. A [Window] forgets each key after a span of time.
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
// the answers are those of a [bloom.Filter] with the same keys. With an error Contains returns true,
// and Add false. A key is never reported as absent because the server cannot be reached, or because
// the filter was deleted, cut or replaced since it was opened; see [ErrLost]. [Filter.Add] and
// [Filter.AddOnce] say what an error of an Add means, and how to repeat an Add.
//
// The caller supplies a client of go-redis and Redis 6.0 or later, or Valkey: a server, a cluster,
// or servers behind Sentinel. A filter is as durable as its server. The [README] lists which keys a
// crash can lose with each of Redis's settings, and which commands a user needs. Give filters no
// expiry, and choose a maxmemory-policy that does not evict keys without an expiry; windows need
// noeviction.
//
// The client must not read from replicas of the server: these lag, and a key that was just added
// is absent there. Open and its like refuse a client whose options have ReadOnly, RouteByLatency or
// RouteRandomly, and one whose server is a replica when it is opened, as with ReplicaOnly. They
// cannot see a server that becomes a replica later, a Dialer or a ClusterSlots that leads to
// replicas, or the options in a wrapper that does not have the client's method Options, such as an
// AutoPipeliner.
//
// The price is a round trip for each call, or two for the first Add after a server started. A batch
// of thousands of keys is one call, and Redis serves other clients in between; see
// [Filter.AddBatch]. The client's ReadTimeout must leave time for the whole batch. A process that
// looks up far more keys than it adds can keep a copy in memory, which follows within milliseconds;
// see [Filter.Source] and package replica. For such copies a Filter has a stream with the digests
// of the last keys, about a fiftieth of its capacity. The stream needs up to half as much memory as
// the string.
//
// No filter of this package grows: choose n as the largest number of keys you expect, or use a
// Window. A filter that is too small can be replaced by a larger one under a new key, without an
// error for readers; see the example Rebuild.
//
// For a single process use a [bloom.SyncFilter]. If a false positive must not happen, use a Redis
// key for each of your keys (SET NX).
//
// In a full Filter the empty key is often reported as present; see [bloom.Sum]. In a Window it is
// like any other key.
//
// Guava's bit i is Redis's bit 48 + (i XOR 63). The keys beside a filter "seen" are "adds:{seen}"
// and "id:{seen}", in the same hash slot.
//
// [README]: https://pkg.go.dev/github.com/seed79a3ff49/bloom/contrib/bloomredis#section-readme
package bloomredis
