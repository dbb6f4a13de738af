// Package counting provides a Bloom filter that keys can be removed from.
//
// A [Filter] answers like a [bloom.Filter] of the keys that were added and not
// removed since: such a key is always found, and any other key is reported with the
// probability that the caller chose. [Filter.Snapshot] returns that bloom.Filter, byte
// for byte. So writers keep a counting filter, and readers get plain filters: files, replicas,
// Redis, and Java with Guava.
//
// The price is memory. Where a Bloom filter has a bit, a Filter has a counter of four
// bits, which says how many keys set the bit: 38 bits a key at 1 %, where a bloom.Filter
// takes 9.6.
//
// The caller must know what was added. Removing a key that was never added damages other
// keys; see [Filter.Remove]. Take package window where keys only have to expire. It needs
// no removals.
//
// The structure is that of Fan, Cao, Almeida and Broder, Summary Cache, 2000.
package counting
