// Package bloom provides Bloom filters: sets that answer "certainly not" or
// "probably yes" from a few bits per key.
//
// A [Filter] finds every key that was added, through every encoding, merge, fold and
// file. It reports a key that was not added as present with a probability that the
// caller picks. At 1 % it takes 9.6 bits a key, whatever the keys' size, and each
// further factor of ten takes 4.8 more. A map would hold the keys themselves. The
// caller supplies the number of keys and the rate. Memory is fixed from then on. A
// filter with more keys than that still answers, at a higher rate; see [Filter.FPR].
//
// Filter is the classic filter (Bloom, Space/Time Trade-offs in Hash Coding with
// Allowable Errors, 1970), bit for bit the one that Google Guava's
// com.google.common.hash.BloomFilter makes in Java. The two read each other's bytes.
// [SyncFilter] is the same for many goroutines. [View] looks keys up in bytes and in files
// where they lie.
//
// Keys take one way: key -> [Hash] -> indexes -> bits. A Hash is computed once and
// serves every filter, in this package and in those beside it. It is Murmur3, which
// has no secret. Module keyed has a hash for keys that an adversary chooses.
//
// Other packages do what the classic filter cannot: blocked is faster and keeps low
// rates, growing takes any number of keys, counting and cuckoo remove keys, bank asks many filters
// at once, window and flower forget, sieve queues, replica and bloomredis share a filter
// between machines. Take a map to list keys or to be always right.
package bloom
