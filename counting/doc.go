// Package counting provides a Bloom filter that keys can be removed from.
//
// A [Filter] answers like a [bloom.Filter] of the keys that were added and not removed since. Such
// a key is always found; any other is reported as present with the probability that the caller
// chose. [Filter.Bloom] returns this bloom.Filter, byte for byte. So a writer keeps a counting
// filter, and readers get plain filters, in files, in replicas, in Redis, or in Java with Guava.
//
//	valid, err := counting.New(1_000_000, 0.01)
//	if err != nil {
//		return err
//	}
//	valid.AddString("token")
//	published := valid.Bloom() // a *bloom.Filter with the key
//	valid.RemoveString("token")
//	valid.ContainsString("token") // false
//
// The price is memory. A counter of four bits replaces each bit of a Bloom filter. At 1 %, a Filter
// needs 38 bits for each key, and a bloom.Filter 9.6.
//
// The caller must know what was added, because removing a key that was never added damages other
// keys; see [Filter.Remove]. If keys need only expire, use package window, which needs no removals.
//
// The structure is that of Fan, Cao, Almeida and Broder, Summary Cache, 2000.
package counting
