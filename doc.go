// Package bloom provides Bloom filters: sets that answer "certainly not" or
// "probably yes" from a few bits per key.
//
// A key that was added is always found, through every encoding, merge and
// snapshot. A key that was not is reported as present with a probability the
// caller picks: 1 % takes 9.6 bits a key whatever the keys' size, and each
// further factor of ten takes 4.8 more. A map of the keys answers exactly, for
// some hundred bits a key.
//
// [Filter] is the classic filter, bit for bit the one that Google Guava
// (com.google.common.hash.BloomFilter) makes in Java, so the two read each
// other's files. Data flows one way:
//
//	key -> Hash -> indexes -> bits
//
// A [Hash] is computed once and serves every filter. The caller supplies the
// number of keys n and the false-positive rate p; memory is fixed from then on,
// and a filter past n keys still answers, at a rate that [Filter.FPR] tells.
// Keys cannot be listed or removed.
package bloom
