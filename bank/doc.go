// Package bank answers which of many Bloom filters may hold a key. The filters, a bank's members,
// have one size. There may be millions of them: one for each block, file, shard or user.
//
// A member that holds the key is always reported. A member that does not is reported with a
// probability equal to its false-positive rate. The caller supplies the size of the members, and
// keys or their digests. Each member is a [bloom.Filter] with [bloom.Mitz64], bit for bit.
//
//	files, err := bank.New(1000, 1e-4) // up to 1,000 keys in each member
//	if err != nil {
//		return err
//	}
//	number := files.Append() // a new member
//	files.AddString(number, "word")
//	which := files.Which(nil, bloom.SumString("word")) // the members that may hold the key
//
// A bank stores its members by rows: row r has bit r of every member, side by side. A look-up ANDs
// the key's K rows; a bit that is still set stands for a member that may hold the key. This reads K
// bits of each member, in long runs; asking one filter after the other would read a cache line or
// more of each. With a million members a bank is usually more than a hundred times as fast. The
// price is that adding a key writes to K rows, which are far from each other.
//
// Rates are per member, so false members add up: a look-up in n members of rate p reports n*p
// members falsely on average, for example 100 of a million at 1e-4. Most keys have few false
// members, and some have many; the empty key is one of these, see [Bank.Which]. Members with few
// keys reach a low rate only with more bits than [New] gives them: call [NewSize] with the results
// of [bloom.StrictSize]. docs/sizes.md, "Banks", has figures.
//
// A [View] answers from a file or from memory, without decoding, and a [Reader] from an object
// store.
//
// The structure is that of BitFunnel (Goodwin and others, BitFunnel: Revisiting Signatures for
// Search, 2017) and of COBS (Bingmann, Bradley, Gauger and Iqbal, COBS: a Compact Bit-Sliced
// Signature Index, 2019).
package bank
