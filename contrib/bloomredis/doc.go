// Package bloomredis keeps Bloom filters in Redis, one for many processes.
//
// A [Filter] is one Redis string, and the string is the binary form of Google
// Guava: what GET of its key returns, Java's BloomFilter.readFrom reads. A
// [Sharded] is a filter in several strings, for more keys than one has room for.
// A [Window] forgets each key after a span of time.
//
// A key that one process added is found by all, for as long as the server keeps
// it. Otherwise the answers are those of a [bloom.Filter] with the same keys. An error is no
// certainty: with every error Contains returns true and Add returns false. So a key is never
// reported as absent because the server cannot be reached, or because the filter was deleted,
// cut or created anew since it was opened; see [ErrLost]. [Filter.Add] and [Filter.AddOnce]
// say what an error of an Add means, and how to repeat one.
//
// The caller supplies a client of go-redis and Redis 6.0 or later: a server, a
// cluster, or servers behind Sentinel. A filter is as durable as its server. The
// [README] lists what each of Redis's settings can lose and the commands that each
// user needs. Give filters no expiry, and let maxmemory-policy spare keys without
// one. For windows it must be noeviction. The client must not read from replicas of
// the server, which lag (ReadOnly, RouteByLatency and RouteRandomly of a cluster
// client).
//
// The price is a round trip a call, or two for the first Add after a server started.
// A batch of thousands of keys is one call, and Redis serves others in between; see
// [Filter.AddBatch]. The client's ReadTimeout must leave time for all of it.
// Processes that look up far more than they add keep a copy in memory that follows
// within milliseconds; see [Filter.Source] and package replica. Beside its string a
// Filter has a stream of the last keys added, about one in fifty of its capacity, as
// digests. The stream takes up to half as much memory as the string.
//
// No filter of this package grows: choose n as the largest number of keys you expect, or
// a Window. A filter that is too small is replaced by another under another key,
// without an error for those who look keys up; see the example Rebuild.
//
// For a single process take a [bloom.SyncFilter]. Where a false positive must not
// happen, take a key of Redis for each of yours (SET NX).
//
// Guava's bit i is Redis's bit 48 + (i XOR 63). The keys beside a filter "seen"
// are "adds:{seen}" and "id:{seen}". They are in the same hash slot.
//
// [README]: https://pkg.go.dev/github.com/seed79a3ff49/bloom/contrib/bloomredis#section-readme
package bloomredis
