// Package bank answers which of many Bloom filters may hold a key. The filters, a bank's
// members, all have one size. There may be millions of them: one for each block, file,
// shard or user.
//
// A member that holds the key is always reported. A member that does not hold it is reported
// with that member's false-positive rate. The caller supplies the size of the members, and
// keys or their digests. Each member is a [bloom.Filter] with [bloom.Mitz64], bit for bit.
//
// A bank stores its members by rows: row r has bit r of every member, side by side. A look-up
// computes which K rows belong to the key, and ANDs them. A bit that is still set stands for a
// member that may hold the key. This reads K bits of each member, in long runs. Asking one filter
// after the other reads at least one cache line of each. With a million members a bank is usually
// more than a hundred times as fast. The price is that adding a key writes to K rows, which are
// far from each other.
//
// Rates are per member, so false members add up: a look-up in n members of rate p reports n*p
// false ones on average. [Bank.Stats] has the mean rate of the members.
//
//	p     1e4 members  1e6 members  1e7 members
//	1e-2          100       10,000      100,000
//	1e-4            1          100        1,000
//	1e-6         0.01            1           10
//
// All members keep a key in the same rows. So false members are correlated: most keys have few,
// and some keys have many. In 100,000 members of 20 keys at 1e-4, half of the keys that no
// member holds had at most one false member, one of a hundred had more than 18, and one of 20,000
// had 15,600. The mean was 8.8. The empty key has many; see [Bank.Which].
//
// Members with few keys reach a low rate only if they have more bits than [New] gives them. Call
// [NewSize] with the results of [bloom.StrictSize]. These are its bits for one member:
//
//	keys  p = 1e-2  p = 1e-4  p = 1e-6
//	3           64       320     2,304
//	50         512     1,472     9,792
//	1000     9,664    19,712    52,992
//
// The members are divided into segments of 32,736, in which a row is a page of 4 KiB. A full segment
// takes a thousandth more than its members' bits. If the last segment has fewer members, its rows
// are whole words of 64 bits, and several rows share a page and its checksum. So a file of 1,000
// members is 3 % larger than their bits, one of 100 members 29 %, and one of 33 twice as large. In
// memory, Append leaves room for up to a 32nd more members, and 64 members at least. A [View]
// answers from a file or from memory, without decoding, and a [Reader] from an object store.
//
// The structure is that of BitFunnel (Goodwin and others, BitFunnel: Revisiting Signatures for
// Search, 2017) and of COBS (Bingmann, Bradley, Gauger and Iqbal, COBS: a Compact Bit-Sliced
// Signature Index, 2019).
package bank
