// Package bloom provides Bloom filters: sets that answer "certainly not" or
// "probably yes" from a few bits per key.
//
// A key that was added is always found, through every encoding, merge and
// snapshot. A key that was not is reported as present with a probability the
// caller picks: 1 % takes 9.6 bits a key whatever the keys' size, and each
// further factor of ten takes 4.8 more, where a map holds the keys themselves.
// The caller supplies the number of keys and the rate; memory is fixed from
// then on. A filter past its number of keys still answers, at a rate that
// [Filter.FPR] tells. Keys cannot be listed or removed.
//
// [Filter] is the classic filter, bit for bit the one that Google Guava
// (com.google.common.hash.BloomFilter) makes in Java, so the two read each
// other's bytes; [View] and [File] look keys up in them where they lie. A
// [SyncFilter] is a Filter for many goroutines, and a [BlockedFilter] trades
// memory for speed. Two forget: a [Window] by time, a [Flower] by what came
// since. A [Sieve] and [Distinct] drop repeats by any of them. Packages replica
// and bloomredis share a filter between machines.
//
// All take keys in one way: key -> [Hash] -> indexes -> bits. A Hash is computed
// once and serves every filter. It is Murmur3, which resists no adversary;
// [Hash] says what to do where one chooses the keys.
package bloom
