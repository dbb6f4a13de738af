// Package digest has the arithmetic of Guava's BloomFilter: the steps of MurmurHash3_x64_128
// (Appleby, smhasher), which turn a key's bytes into a digest of two words, and Locate, which turns
// a number computed from the digest into the place of a bit. Package form has Guava's binary form.
//
// The state is also two words, at first the seed: Mix changes it for each block of 16 bytes, Last
// for the rest of the key, and Finish turns it into the digest. The state is two values and not a
// struct, so that it stays in registers.
package digest

import "math/bits"

// C1 and C2 are the factors by which blocks are multiplied.
const (
	C1 = 0x87c37b91114253d5
	C2 = 0x4cf5ad432745937f
)

// Mix returns the state h1, h2 after the block k1, k2, which is two little-endian words.
func Mix(h1, h2, k1, k2 uint64) (uint64, uint64) {
	h1 ^= bits.RotateLeft64(k1*C1, 31) * C2
	h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
	h2 ^= bits.RotateLeft64(k2*C2, 33) * C1
	h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	return h1, h2
}

// Last returns the state after the last block of a key of n bytes. The last block has fewer than 16
// bytes, maybe none, and is padded with zeros.
func Last(h1, h2, k1, k2, n uint64) (uint64, uint64) {
	h1 ^= bits.RotateLeft64(k1*C1, 31)*C2 ^ n
	h2 ^= bits.RotateLeft64(k2*C2, 33)*C1 ^ n
	return h1, h2
}

// Finish returns the digest of a key from the state after Last.
func Finish(h1, h2 uint64) (uint64, uint64) {
	h1 += h2
	h2 = fmix(h2 + h1)
	h1 = fmix(h1) + h2
	return h1, h1 + h2
}

func fmix(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	k ^= k >> 33
	return k
}
