package bloom

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"unicode/utf16"

	"github.com/spaolacci/murmur3"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// Hash is the 128-bit digest of a key. A filter uses nothing else of a key, so a key needs to be
// hashed only once to be looked up in any number of filters. The filters of package foreign do not
// use a Hash.
//
// The Sum functions return Murmur3 digests, which are the same as Guava's on every platform and in
// every version of this package. Murmur3 has no secret, so anybody can construct keys with the same
// digest. If an adversary may choose keys, pass digests from module keyed to AddHash and
// ContainsHash.
//
// All 128 bits must be uniformly distributed. To use 64-bit digests as keys, hash them with
// [SumUint64]; for 32-bit digests, use [SumUint32], and for others [Sum].
//
// Hashes can be compared with ==. The text of a Hash is 32 hexadecimal digits.
type Hash struct{ h1, h2 uint64 }

// NewHash returns the Hash that consists of two words, Guava's hash1 and hash2. Both must be
// uniformly distributed. In a [Mitz64] filter, h1 determines the first index of a key, and the
// others depend on both words. If h2 is 0, all K indexes are the same; [Filter.FPR] cannot take
// that into account.
func NewHash(h1, h2 uint64) Hash { return Hash{h1, h2} }

// Words returns the two words of h; see [NewHash].
func (h Hash) Words() (h1, h2 uint64) { return h.h1, h.h2 }

// String returns the digest in hexadecimal: 16 bytes, which are the two words in little-endian
// order. Guava's HashCode.toString returns the same text.
func (h Hash) String() string {
	digest := binary.LittleEndian.AppendUint64(nil, h.h1)
	return hex.EncodeToString(binary.LittleEndian.AppendUint64(digest, h.h2))
}

// MarshalText returns the result of String. It never returns an error.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText sets h from 32 hexadecimal digits. If text is anything else, h is unchanged, and
// the error wraps [ErrFormat].
func (h *Hash) UnmarshalText(text []byte) error {
	var digest [16]byte
	if len(text) != 2*len(digest) {
		return form.Errorf("bloom", "a Hash has %d hexadecimal digits, not %d", 2*len(digest), len(text))
	}
	if _, err := hex.Decode(digest[:], text); err != nil {
		return form.Errorf("bloom", "Hash: %w", err)
	}
	*h = Hash{binary.LittleEndian.Uint64(digest[:]), binary.LittleEndian.Uint64(digest[8:])}
	return nil
}

// Salt returns a different digest for the same key. Two filters have independent false positives if
// their digests are salted with different seeds, or if only one filter's digests are salted. Each
// seed, including 0, changes the digest. Different digests remain different.
//
// The result is the Murmur3 x64 128-bit digest of the two words of h, in little-endian order; both
// words of the initial state are seed. It is the same on every platform and in every version of
// this package.
func (h Hash) Salt(seed uint64) Hash {
	h1, h2 := digest.Mix(seed, seed, h.h1, h.h2)
	return NewHash(digest.Finish(digest.Last(h1, h2, 0, 0, 16)))
}

// Sum uses package murmur3 only for keys longer than directLen bytes.
const directLen = 128

// bigEndian makes Sum hash all keys itself: murmur3 reads blocks in the machine's byte order.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// Sum returns the Murmur3 x64 128-bit digest of key with seed 0, like Guava's
// Funnels.byteArrayFunnel. It does not retain key.
//
// The digest of the empty key is 0, 0, as in Guava. All its K indexes in a [Filter] are 0. So a
// filter that contains its n keys often reports the empty key, however low p is. The same holds for
// packages counting, bank and replica, and for Filter and Sharded in bloomredis; in all other types
// the empty key is like any other. To avoid these false positives, handle the empty key without the
// filter, or salt all digests; see [Hash.Salt].
func Sum(key []byte) Hash {
	if len(key) > directLen && !bigEndian { // speed
		h1, h2 := murmur3.Sum128(bitwords.NoEscape(key))
		return Hash{h1, h2}
	}
	var h1, h2, k1, k2 uint64
	n := uint(len(key))
	switch {
	case n == 8:
		k1 = binary.LittleEndian.Uint64(key)
	case n > 8:
		for rest := key; len(rest) >= 16; rest = rest[16:] {
			first := binary.LittleEndian.Uint64(rest)
			second := binary.LittleEndian.Uint64(rest[8:])
			h1, h2 = digest.Mix(h1, h2, first, second)
		}
		// Read the key's last 8 bytes, and shift out all but the last n%8. Two reads of 4 bytes are
		// faster if the key was just written in pieces: a read across two pieces waits for both.
		end := key[n-8:]
		k1 = uint64(binary.LittleEndian.Uint32(end)) | uint64(binary.LittleEndian.Uint32(end[4:]))<<32
		k1 >>= 64 - 8*(n&7)
		if n&8 != 0 {
			k1, k2 = binary.LittleEndian.Uint64(key[n&^7-8:]), k1
		}
	case n >= 4: // the two reads overlap
		k1 = uint64(binary.LittleEndian.Uint32(key)) |
			uint64(binary.LittleEndian.Uint32(key[n-4:]))<<(8*(n-4)&63)
	case n > 0:
		k1 = uint64(key[0]) | uint64(key[n/2])<<(8*(n/2)&63) | uint64(key[n-1])<<(8*(n-1)&63)
	}
	return NewHash(digest.Finish(digest.Last(h1, h2, k1, k2, uint64(n))))
}

// SumString returns the [Sum] of the bytes of key, without copying them. If key is valid UTF-8, the
// digest is that of Guava's Funnels.stringFunnel(UTF_8).
func SumString(key string) Hash { return Sum(bitwords.BytesOf(key)) }

// SumUint64 returns the digest of the 8 little-endian bytes of key, like Guava's
// Funnels.longFunnel.
func SumUint64(key uint64) Hash {
	return NewHash(digest.Finish(digest.Last(0, 0, key, 0, 8)))
}

// SumUint32 returns the digest of the 4 little-endian bytes of key, like Guava's
// Funnels.integerFunnel.
func SumUint32(key uint32) Hash {
	return NewHash(digest.Finish(digest.Last(0, 0, uint64(key), 0, 4)))
}

// SumBatch sets dst[i] to Sum(keys[i]). It panics if dst is shorter than keys. On processors with
// AVX2, it is usually faster than calling Sum in a loop.
func SumBatch(dst []Hash, keys [][]byte) {
	dst = bitwords.Fill("bloom", dst, len(keys))
	for i := sumMany(dst, keys); i < len(keys); i++ {
		dst[i] = Sum(keys[i])
	}
}

// SumStringBatch is like [SumBatch], for strings.
func SumStringBatch(dst []Hash, keys []string) {
	dst = bitwords.Fill("bloom", dst, len(keys))
	for i := sumMany(dst, keys); i < len(keys); i++ {
		dst[i] = SumString(keys[i])
	}
}

// SumUint64Batch sets dst[i] to SumUint64(keys[i]). It panics if dst is shorter than keys.
func SumUint64Batch(dst []Hash, keys []uint64) {
	dst = bitwords.Fill("bloom", dst, len(keys))
	for i := sumMany(dst, keys); i < len(keys); i++ {
		dst[i] = SumUint64(keys[i])
	}
}

// SumUTF16 returns the digest of the UTF-16 code units of key, in little-endian order, like Guava's
// Funnels.unencodedCharsFunnel. Each byte of key that is not valid UTF-8 counts as U+FFFD. SumUTF16
// does not allocate.
func SumUTF16(key string) Hash {
	var h1, h2 uint64
	var block [2]uint64
	var n uint64 // number of bytes so far
	for _, r := range key {
		units, size := uint64(r), uint64(2)
		if r > 0xffff {
			high, low := utf16.EncodeRune(r)
			units, size = uint64(high)|uint64(low)<<16, 4
		}
		for ; size > 0; size -= 2 {
			block[n>>3&1] |= (units & 0xffff) << (n & 7 * 8)
			units >>= 16
			n += 2
			if n&15 == 0 {
				h1, h2 = digest.Mix(h1, h2, block[0], block[1])
				block = [2]uint64{}
			}
		}
	}
	return NewHash(digest.Finish(digest.Last(h1, h2, block[0], block[1], n)))
}

// SumReader returns the Sum of all bytes that r yields until io.EOF. It reads through a buffer of
// 32 KiB. It returns any other error of r unchanged, even io.ErrUnexpectedEOF, and the zero Hash.
func SumReader(r io.Reader) (Hash, error) {
	var h1, h2 uint64
	var n uint64
	buf := make([]byte, 32<<10)
	for had := 0; ; {
		m, err := r.Read(buf[had:])
		n += uint64(m)
		rest := buf[:had+m]
		for ; len(rest) >= 16; rest = rest[16:] {
			k1 := binary.LittleEndian.Uint64(rest)
			k2 := binary.LittleEndian.Uint64(rest[8:])
			h1, h2 = digest.Mix(h1, h2, k1, k2)
		}
		had = copy(buf, rest)
		if err == io.EOF {
			clear(buf[had:16])
			k1 := binary.LittleEndian.Uint64(buf)
			k2 := binary.LittleEndian.Uint64(buf[8:])
			return NewHash(digest.Finish(digest.Last(h1, h2, k1, k2, n))), nil
		}
		if err != nil {
			return Hash{}, err
		}
	}
}

// mitz32 computes the bit indexes of Mitz32. Index i of a key is H1 + i*H2 mod m (Kirsch and
// Mitzenmacher, Less Hashing, Same Performance, 2006). In Guava, Mitz32 computes with 32 bits, from
// i = 1. Mitz64 computes with 64 bits, from i = 0, and drops the highest bit of each sum.
type mitz32 struct{ sum, step uint32 }

func newMitz32(h Hash) mitz32 { return mitz32{uint32(h.h1), uint32(h.h1 >> 32)} }

// nextIndex returns the next index, not yet reduced modulo m. As in Guava, all bits of a sum are
// inverted if it is negative as an int32.
func (x *mitz32) nextIndex() uint64 {
	x.sum += x.step
	return uint64(x.sum ^ uint32(int32(x.sum)>>31))
}

// probe returns the argument of bitset.get for bit i of a key, counted from 0.
func (f *filter) probe(h Hash, i int) uint64 {
	if f.strategy == Mitz64 {
		return h.h1 + uint64(i)*h.h2
	}
	x := newMitz32(h)
	x.sum += uint32(i) * x.step
	return x.nextIndex()
}
