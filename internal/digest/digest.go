// Package digest implements the arithmetic of Guava's BloomFilter. Mix, Last and Finish are the
// steps of MurmurHash3_x64_128 (Appleby, smhasher), which turn a key's bytes into a digest of two
// words. Locate turns a number computed from the digest into the place of a bit. Guava's binary
// form is in package form.
//
// The state of the hash is two words, which begin as the seed. Mix changes the state for each
// 16-byte block, and Last for the rest of the key. Finish turns the state into the digest. The
// functions take and return the state as two values, not a struct, so that it stays in registers.
package digest

import "math/bits"

// C1 and C2 are the multipliers of MurmurHash3.
const (
	C1 = 0x87c37b91114253d5
	C2 = 0x4cf5ad432745937f
)

// Mix returns the state after a block, which consists of the little-endian words k1 and k2.
func Mix(h1, h2, k1, k2 uint64) (uint64, uint64) {
	h1 ^= bits.RotateLeft64(k1*C1, 31) * C2
	h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
	h2 ^= bits.RotateLeft64(k2*C2, 33) * C1
	h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	return h1, h2
}

// Last returns the state after the last block of an n-byte key. That block has 0 to 15 bytes, and
// is padded with zeros.
func Last(h1, h2, k1, k2, n uint64) (uint64, uint64) {
	h1 ^= bits.RotateLeft64(k1*C1, 31)*C2 ^ n
	h2 ^= bits.RotateLeft64(k2*C2, 33)*C1 ^ n
	return h1, h2
}

// Finish returns the digest for the state that Last returned.
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
