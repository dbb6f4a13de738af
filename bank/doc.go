// Package bank answers which of many Bloom filters may hold a key. The filters are the members of a
// bank, and all have the same size. There may be millions of them: one for each block, file, shard
// or user.
//
//	files, err := bank.New(1000, 1e-4) // up to 1,000 keys in each member
//	if err != nil {
//		return err
//	}
//	number := files.Append() // a new member
//	files.AddString(number, "word")
//	which := files.Which(nil, bloom.SumString("word")) // the members that may hold the key
//
// A member that contains the key is always reported. Any other is reported with a probability equal
// to its false-positive rate. A look-up in n members with rate p therefore reports n*p members
// falsely on average: 100 of a million at 1e-4. Section "Banks" of docs/sizes.md says how much that
// number varies.
//
// A bank stores its members in rows: row r holds bit r of every member. A look-up computes the AND
// of the key's K rows. Each bit that is still set stands for a member that may contain the key.
// With a million members this is usually more than a hundred times as fast as asking one filter
// after another. The price is that adding a key writes to K rows, which are far apart in memory.
//
// BitFunnel (Goodwin and others, BitFunnel: Revisiting Signatures for Search, 2017) and COBS
// (Bingmann, Bradley, Gauger and Iqbal, COBS: a Compact Bit-Sliced Signature Index, 2019) have the
// same structure.
package bank
