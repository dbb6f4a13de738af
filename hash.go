package bloom

import (
	"encoding/binary"
	"io"
	"math/bits"
	"unicode/utf16"

	"github.com/spaolacci/murmur3"
)

// Hash is the 128-bit digest of a key, and all that a filter ever sees of it.
//
// The Sum functions make Murmur3 digests, which are the same on every platform
// and in every version of this package, and the ones that Guava computes. A key
// hashed once can be looked up in any number of filters of any type.
//
// Murmur3 has no secret: who knows it can construct keys that collide. Where
// an adversary chooses the keys, fill a Hash from a keyed 128-bit hash instead
// and pass it to AddHash and ContainsHash.
type Hash struct{ H1, H2 uint64 }

// directLen is the longest key, in bytes, that Sum hashes itself. Longer ones
// repay the set-up of the murmur3 package.
const directLen = 128

// bigEndian reports a machine on which the murmur3 package, which reads blocks
// in the machine's own byte order, would compute other digests.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Sum returns the Murmur3 x64 128-bit digest of key with seed 0, which is what
// Guava's Funnels.byteArrayFunnel feeds its filters. It does not retain key.
func Sum(key []byte) Hash {
	if len(key) > directLen && !bigEndian {
		h1, h2 := murmur3.Sum128(key)
		return Hash{h1, h2}
	}
	var d digest
	rest := d.blocks(key)
	k1, k2 := lastBlock(rest)
	return d.finish(k1, k2, uint64(len(key)))
}

// SumString returns Sum of key's bytes without copying them. It agrees with
// Guava's Funnels.stringFunnel(UTF_8) where key is valid UTF-8.
func SumString(key string) Hash { return Sum(bytesOf(key)) }

// SumUint64 returns the digest of key as 8 little-endian bytes, as Guava's
// Funnels.longFunnel does.
func SumUint64(key uint64) Hash {
	var d digest
	return d.finish(key, 0, 8)
}

// SumUint32 returns the digest of key as 4 little-endian bytes, as Guava's
// Funnels.integerFunnel does.
func SumUint32(key uint32) Hash {
	var d digest
	return d.finish(uint64(key), 0, 4)
}

// SumUTF16 returns the digest of key's UTF-16 code units, little-endian, as
// Guava's Funnels.unencodedCharsFunnel does. Bytes of key that are not UTF-8
// count as U+FFFD each. It does not allocate.
func SumUTF16(key string) Hash {
	var d digest
	var block [2]uint64
	var n uint64 // bytes so far
	for _, r := range key {
		units, size := uint64(r), uint64(2)
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			units, size = uint64(high)|uint64(low)<<16, 4
		}
		for ; size > 0; size -= 2 {
			block[n>>3&1] |= (units & 0xffff) << (n & 7 * 8)
			units >>= 16
			if n += 2; n&15 == 0 {
				d.mix(block[0], block[1])
				block = [2]uint64{}
			}
		}
	}
	return d.finish(block[0], block[1], n)
}

// SumReader returns Sum of everything r yields until io.EOF, reading through a
// buffer of 32 KiB. Any other error of r's is returned as it is.
func SumReader(r io.Reader) (Hash, error) {
	var d digest
	var n uint64
	buf := make([]byte, 32<<10) // a multiple of the block size: only the last read leaves a rest
	for {
		m, err := io.ReadFull(r, buf)
		n += uint64(m)
		rest := d.blocks(buf[:m])
		switch err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			k1, k2 := lastBlock(rest)
			return d.finish(k1, k2, n), nil
		default:
			return Hash{}, err
		}
	}
}

// digest is the state of MurmurHash3_x64_128 (Appleby, smhasher) between two
// 16-byte blocks, for seed 0.
type digest struct{ h1, h2 uint64 }

const (
	c1 = 0x87c37b91114253d5
	c2 = 0x4cf5ad432745937f
)

func (d *digest) mix(k1, k2 uint64) {
	d.h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
	d.h1 = (bits.RotateLeft64(d.h1, 27)+d.h2)*5 + 0x52dce729
	d.h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
	d.h2 = (bits.RotateLeft64(d.h2, 31)+d.h1)*5 + 0x38495ab5
}

// blocks mixes in the whole blocks of p and returns what is left of it.
func (d *digest) blocks(p []byte) (rest []byte) {
	e := *d // in registers
	for len(p) >= 16 {
		e.mix(binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:]))
		p = p[16:]
	}
	*d = e
	return p
}

// lastBlock returns fewer than 16 bytes as a little-endian block padded with
// zeros. Reads overlap rather than loop.
func lastBlock(p []byte) (k1, k2 uint64) {
	n := uint(len(p))
	switch {
	case n >= 8:
		k1 = binary.LittleEndian.Uint64(p)
		k2 = binary.LittleEndian.Uint64(p[n-8:]) >> (8 * (16 - n))
	case n >= 4:
		k1 = uint64(binary.LittleEndian.Uint32(p)) |
			uint64(binary.LittleEndian.Uint32(p[n-4:]))<<(8*(n-4))
	case n > 0:
		k1 = uint64(p[0]) | uint64(p[n/2])<<(8*(n/2)) | uint64(p[n-1])<<(8*(n-1))
	}
	return k1, k2
}

// finish mixes in the zero-padded last block of a key of n bytes; an empty one
// changes nothing.
func (d *digest) finish(k1, k2, n uint64) Hash {
	h1 := d.h1 ^ bits.RotateLeft64(k1*c1, 31)*c2 ^ n
	h2 := d.h2 ^ bits.RotateLeft64(k2*c2, 33)*c1 ^ n
	h1 += h2
	h2 += h1
	h1 = fmix(h1)
	h2 = fmix(h2)
	h1 += h2
	h2 += h1
	return Hash{h1, h2}
}

func fmix(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	k ^= k >> 33
	return k
}

// Bit indexes are made as Kirsch and Mitzenmacher, Less Hashing, Same
// Performance (2006), propose, the i-th being H1 + i*H2 mod m. Guava has two
// renderings of that. Mitz64 is plain 64-bit arithmetic from i = 0 and takes the
// remainder of the low 63 bits; its loops are written out where they run.
// mitz32 is the other one.
type mitz32 struct{ sum, step uint32 }

func newMitz32(h Hash) mitz32 { return mitz32{uint32(h.H1), uint32(h.H1 >> 32)} }

// next returns the number whose remainder modulo m is the next index. Guava's
// i starts at 1 here, and a sum that is negative as an int32 has all its bits
// flipped.
func (x *mitz32) next() uint64 {
	x.sum += x.step
	return uint64(x.sum ^ uint32(int32(x.sum)>>31))
}
