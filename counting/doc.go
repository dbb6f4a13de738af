// Package counting provides a Bloom filter from which keys can be removed.
//
// A key that was added is always found until it is removed. When the filter contains n keys, any
// other key is reported as present with a probability of about p; n and p are the arguments of New.
// [Filter.Bloom] returns a [bloom.Filter] with the same keys. So a writer can keep a counting
// filter and give plain filters to readers: in files, in replicas, in Redis, or in Java with Guava.
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
// The price is memory: a 4-bit counter replaces each bit of a Bloom filter. At a rate of 1 %, a
// Filter needs 38 bits for each key, and a bloom.Filter 9.6.
//
// The caller must know which keys were added: removing any other key may make those absent; see
// [Filter.Remove]. If keys only have to expire, use package window, which needs no removals.
//
// The structure was introduced by Fan, Cao, Almeida and Broder (Summary Cache, 2000).
package counting
