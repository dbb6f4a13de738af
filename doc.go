// Package bloom provides Bloom filters: sets that answer "certainly not" or
// "probably yes" from a few bits per key. [New] makes a filter for one goroutine,
// [NewSync] one for many.
//
// A [Filter] finds every key that was added, through every encoding, merge, fold and file. It
// reports a key that was not added as present with a probability that the caller picks. At 1 % it
// takes 9.6 bits a key, whatever the keys' size, and each further factor of ten takes 4.8 more. A
// map would hold the keys themselves. The caller supplies the number of keys and the rate. Memory
// is fixed from then on. A filter with more keys than that still answers, at a higher rate; see
// [Filter.FPR]. While one goroutine adds to a Filter, no other may add or read. If several
// goroutines add at once, keys are lost: make a [SyncFilter] for them.
//
// Which call do I want?
//
//   - for n keys at a rate of p, in one goroutine: [New]
//   - in many goroutines, such as an HTTP server's: [NewSync]
//   - a filter that survives a restart: [LoadOrNew] and [Filter.SaveFile]
//   - to add a key and learn whether it was new: [Filter.AddString] and [Filter.Add]
//   - to ask: [Filter.ContainsString] and [Filter.Contains]
//   - for integers, or one digest for several filters: [SumUint64], [Sum] and [Filter.AddHash]
//   - for many keys at once: [SumStringBatch], [Filter.AddBatch] and [Filter.ContainsBatch]
//   - to ask a file without loading it: [OpenFile]; bytes in memory: [NewView]; a file
//     elsewhere, by ranges: [NewReader]
//   - to exchange filters with Java: [Filter.WriteTo], [Filter.ReadFrom] and docs/java.md
//   - to combine filters: [Filter.Merge]; to shrink one: [Filter.Fold]
//   - for metrics and logs: [Filter.Stats]
//
// Filter is the classic filter (Bloom, Space/Time Trade-offs in Hash Coding with Allowable Errors,
// 1970), bit for bit the one that Google Guava's com.google.common.hash.BloomFilter makes in Java.
// The two read each other's bytes. In Guava's arithmetic the empty key is special: a filter that
// holds its n keys reports it in about half of all cases. Packages counting and bank have the same
// bits, and so do that, too. In all other packages the empty key is a key like any other. See
// [Sum].
//
// Every key goes the same way: key -> [Hash] -> indexes -> bits. A Hash is computed once and serves
// every filter, in this package and in the other packages of this module. A Hash is a Murmur3
// digest, which has no secret. Module keyed has a hash for keys that an adversary chooses.
//
// The other packages do what the classic filter cannot:
//
//   - blocked is faster, and keeps low rates; growing takes any number of keys
//   - counting and cuckoo remove keys
//   - window remembers keys for a span of time; flower remembers recent keys best
//   - guard stands in front of a store, and follows it
//   - bank asks many filters at once; sieve has a queue without repeats
//   - replica copies one filter to many machines; module contrib/bloomredis shares one in Redis
//   - foreign reads and writes the filters of other libraries
//
// Use a map if the keys must be listed, or if every answer must be right.
//
// Later versions may add fields to the structs of this module. Use field names in literals of these
// structs, as go vet asks.
package bloom
