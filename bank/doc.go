// Package bank answers which of many Bloom filters may hold a key. The filters, a bank's members,
// have one size. There may be millions of them: one for each block, file, shard or user.
//
// A member that holds the key is always reported. A member that does not is reported with a
// probability equal to its false-positive rate. The caller supplies the size of the members, and
// keys or their digests. Each member is a [bloom.Filter] with [bloom.Mitz64], bit for bit.
//
// A bank stores its members by rows: row r has bit r of every member, side by side. A look-up ANDs
// the key's K rows; a bit that is still set stands for a member that may hold the key. This reads K
// bits of each member, in long runs; asking one filter after the other would read a cache line or
// more of each. With a million members a bank is usually more than a hundred times as fast. The
// price is that adding a key writes to K rows, which are far from each other.
//
// Rates are per member, so false members add up: a look-up in n members of rate p reports n*p
// members falsely on average, for example 100 of a million at 1e-4. [Bank.Stats] has the mean rate.
//
// Because a key has the same rows in all members, most keys have few false members and some have
// many. In 100,000 members of 20 keys at 1e-4, half of the absent keys had at most one false
// member, one of a hundred had more than 18, and one of 20,000 had 15,600; the mean was 8.8. The
// empty key has many; see [Bank.Which].
//
// Members with few keys reach a low rate only with more bits than [New] gives them. Call [NewSize]
// with the results of [bloom.StrictSize]. It gives a member this many bits:
//
//	keys  p = 1e-2  p = 1e-4  p = 1e-6
//	3           64       320     2,240
//	50         512     1,472     9,536
//	1000     9,664    19,712    53,184
//
// A file has checksums of pages of up to 4 KiB. Apart from the first page, it is 0.1 % larger than
// the members' bits for 32,736 members or a multiple of that, 3 % for 1,000 members, 29 % for 100,
// and twice as large for 33. In memory there is room for further members, up to a 32nd of the
// present ones, or up to 64. A [View] answers from a file or from memory, without decoding, and a
// [Reader] from an object store.
//
// The structure is that of BitFunnel (Goodwin and others, BitFunnel: Revisiting Signatures for
// Search, 2017) and of COBS (Bingmann, Bradley, Gauger and Iqbal, COBS: a Compact Bit-Sliced
// Signature Index, 2019).
package bank
