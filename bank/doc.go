// Package bank answers which of many Bloom filters may hold a key. The filters, a bank's members,
// have one size. There may be millions of them: one for each block, file, shard or user.
//
//	files, err := bank.New(1000, 1e-4) // up to 1,000 keys in each member
//	if err != nil {
//		return err
//	}
//	number := files.Append() // a new member
//	files.AddString(number, "word")
//	which := files.Which(nil, bloom.SumString("word")) // the members that may hold the key
//
// A member that holds the key is always reported. A member that does not is reported with a
// probability equal to its false-positive rate. These add up: a look-up in n members of rate p
// reports n*p members falsely on average, for example 100 of a million at 1e-4. docs/sizes.md,
// "Banks", says how they are spread. The caller supplies the size of the members, and keys or their
// digests.
//
// A bank stores its members by rows: row r has bit r of every member, side by side. A look-up ANDs
// the key's K rows; a bit that is still set stands for a member that may hold the key. With a
// million members this is usually more than a hundred times as fast as asking one filter after the
// other. The price is that adding a key writes to K rows, which are far from each other.
//
// The structure is that of BitFunnel (Goodwin and others, BitFunnel: Revisiting Signatures for
// Search, 2017) and of COBS (Bingmann, Bradley, Gauger and Iqbal, COBS: a Compact Bit-Sliced
// Signature Index, 2019).
package bank
