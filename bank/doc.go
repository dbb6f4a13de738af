// Package bank answers which of many Bloom filters may hold a key. The filters, a bank's
// members, all have one size. There may be millions of them: one for each block, file,
// shard or user.
//
// A member that holds the key is always reported. A member that does not hold it is reported
// with that member's false-positive rate. The caller supplies the size of the members, and
// keys or their digests. Each member is a [bloom.Filter] with [bloom.Mitz64], bit for bit.
//
// A bank stores its members by rows: row r has bit r of every member, side by side. A look-up
// computes which K rows belong to the key, and ANDs them. The bits that are left are the
// members. This reads K bits of each member, in long runs, where one filter after the other
// reads at least one cache line of each. With a million members it is usually more than a
// hundred times as fast. The price is that adding a key writes to K rows, which are far from
// each other.
//
// Rates are per member, so false members add up: a look-up in n members of rate p reports n*p
// false ones on average. [Bank.Stats] has the mean rate of the members.
//
//	p     1e4 members  1e6 members  1e7 members
//	1e-2          100       10,000      100,000
//	1e-4            1          100        1,000
//	1e-6         0.01            1           10
//
// False members are correlated, because all members keep a key in the same rows: most keys have
// few, and some keys have many. In 100,000 members of 20 keys at 1e-4, half of the keys that no
// member holds had at most 2 false members, one of a hundred had more than 15, and one of 20,000
// had 14,600; the mean was 11. The empty key has many; see [Bank.Which].
//
// Members with few keys need more bits than [New] takes to reach a low rate. Take [NewSize] with
// what [bloom.StrictSize] returns. These are its bits for one member:
//
//	keys  p = 1e-2  p = 1e-4  p = 1e-6
//	3           64       320     2,112
//	50         576     1,408     8,960
//	1000     9,664    19,712    51,456
//
// Memory and files take the members' bits and a thousandth more, in segments of 32,736
// members, in which a row is a page of 4 KiB. The last segment takes at most twice its members'
// bits, and a page a row. A [View] is asked where it lies in a file or in memory, and a [Reader]
// where it lies in an object store.
//
// The structure is that of BitFunnel (Goodwin and others, BitFunnel: Revisiting Signatures for
// Search, 2017) and of COBS (Bingmann, Bradley, Gauger and Iqbal, COBS: a Compact Bit-Sliced
// Signature Index, 2019).
package bank
