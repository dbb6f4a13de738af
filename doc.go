// Package bloom provides Bloom filters: sets that answer "certainly not" or "probably yes" from a
// few bits per key.
//
// A [Filter] finds every key that was added, through every encoding, merge, fold and file. It
// reports other keys as present at a rate that the caller picks: at 1 % it needs 9.6 bits a key,
// whatever the keys' size, and 4.8 more for each further factor of ten.
//
//	seen, err := bloom.New(1_000_000, 0.01) // a million keys, 1 % of others look seen
//	if err != nil {
//		return err // a parameter is out of range
//	}
//	seen.AddString("ada")           // true: certainly new
//	seen.AddString("ada")           // false: probably seen
//	seen.ContainsString("grace")    // false: certainly not added
//	seen.AddHash(bloom.SumUint64(7)) // an integer as a key
//
// Memory is fixed. A filter that holds more keys than planned still answers, at a higher rate; see
// [Filter.FPR].
//
// A Filter is for one goroutine. If several add to it, keys are lost. A [SyncFilter] is for many:
//
//	seen, err := bloom.NewSync(1_000_000, 0.01)
//
// Save a filter, and continue with it after a restart:
//
//	seen, err := bloom.LoadOrNew("seen.bloom", 1_000_000, 0.01)
//	...
//	err = seen.SaveFile("seen.bloom") // atomic, durable, checked
//	...
//	many := bloom.NewSyncFrom(seen) // a copy for many goroutines
//
// If several programs change one file, each holds its lock from before the load until after the
// save; see package file.
//
// Batches hash first, and then add or ask; see [SumBatch] and [Filter.AddBatch]:
//
//	hashes := make([]bloom.Hash, len(keys))
//	found := make([]bool, len(keys))
//	bloom.SumStringBatch(hashes, keys)
//	seen.ContainsBatch(found, hashes)
//
// More calls:
//
//   - to ask a file without loading it: [OpenFile]; bytes in memory: [NewView]; a file elsewhere,
//     by ranges: [NewReader]
//   - to exchange filters with Java: [Filter.WriteTo], [Filter.ReadFrom] and docs/java.md
//   - to combine filters: [Filter.Merge]; to shrink one: [Filter.Fold]
//   - for metrics and logs: [Filter.Stats]
//
// # Guava
//
// Filter is the classic filter (Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors,
// 1970), bit for bit the one that Google Guava's com.google.common.hash.BloomFilter makes in Java.
// The two read each other's bytes. Guava's arithmetic has an exception, the empty key: a filter
// that holds its n keys reports it in about half of all cases. Packages counting, bank and replica
// have the same bits and the same exception. See [Sum].
//
// Every key goes the same way: key -> [Hash] -> indexes -> bits. A Hash is computed once and serves
// every filter of this module. It is a Murmur3 digest, which has no secret. Module keyed has a hash
// for keys that an adversary chooses.
//
// # Other packages
//
//   - blocked is faster, also at low rates; growing has room for any number of keys
//   - counting and cuckoo remove keys
//   - window remembers keys for a span of time; flower remembers recent keys best
//   - guard stands in front of a store, and learns of its new keys
//   - bank asks many filters together; sieve has a queue without repeats
//   - replica copies one filter to many machines; module contrib/bloomredis shares one in Redis
//   - foreign reads and writes the filters of other libraries; file locks and replaces files
//
// Use a map if the keys must be listed, or if every answer must be right.
package bloom
