package bank

import (
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/guava"
)

// A segment has a row for each bit of a member, and in each row a bit for each of its
// members: bit i of row r is bit r of member i. The last 4 bytes of a row are for its
// checksum in a file. So a row of the widest segment is one page of 4 KiB with its
// checksum, and whoever reads that page can check it.
const (
	pageBytes      = 4096
	pageWords      = pageBytes / 8
	checkBytes     = 4
	segmentMembers = 8 * (pageBytes - checkBytes)
)

// strideFor returns the number of words in a row with room for the given number of members: the least
// power of two.
func strideFor(members int) int {
	return 1 << bits.Len(uint((members+8*checkBytes-1)/64))
}

// segment is rows in memory, or the bytes of a file in which rows lie.
type segment struct {
	words  []uint64
	data   []byte // little-endian words, if words is nil
	stride int    // of a row, in words
}

// get reports whether bit i of row r is set.
func (s *segment) get(r uint64, i int) bool {
	if s.words != nil {
		return atomic.LoadUint64(&s.words[int(r)*s.stride+i/64])>>(i%64)&1 != 0
	}
	return s.data[int(r)*8*s.stride+i/8]>>(i%8)&1 != 0
}

// load returns word w of row r.
func (s *segment) load(r uint64, w int) uint64 {
	if s.words != nil {
		return atomic.LoadUint64(&s.words[int(r)*s.stride+w])
	}
	return binary.LittleEndian.Uint64(s.data[8*(int(r)*s.stride+w):])
}

// and clears the bits of acc that are clear in one of four rows. It reports whether any
// bit is left.
func (s *segment) and(acc []uint64, rows *[4]uint64) bool {
	if s.words != nil {
		row := func(i int) []uint64 { return s.words[int(rows[i])*s.stride:][:len(acc)] }
		return andWords(acc, row(0), row(1), row(2), row(3))
	}
	row := func(i int) []byte { return s.data[int(rows[i])*8*s.stride:][:8*len(acc)] }
	return andBytes(acc, row(0), row(1), row(2), row(3))
}

// andWords is and. Others may write to the rows at the same time. Four rows at a time are four
// streams from memory. Where few bits are left, few words are read.
func andWords(acc, a, b, c, d []uint64) bool {
	a, b, c, d = a[:len(acc)], b[:len(acc)], c[:len(acc)], d[:len(acc)]
	var left uint64
	for i, x := range acc {
		if x != 0 {
			x &= atomic.LoadUint64(&a[i]) & atomic.LoadUint64(&b[i]) & atomic.LoadUint64(&c[i]) & atomic.LoadUint64(&d[i])
			acc[i] = x
			left |= x
		}
	}
	return left != 0
}

// andBytes is andWords of little-endian words that lie anywhere.
func andBytes(acc []uint64, a, b, c, d []byte) bool {
	le := binary.LittleEndian
	var left uint64
	for i, x := range acc {
		if x != 0 {
			x &= le.Uint64(a[8*i:]) & le.Uint64(b[8*i:]) & le.Uint64(c[8*i:]) & le.Uint64(d[8*i:])
			acc[i] = x
			left |= x
		}
	}
	return left != 0
}

// shape has what all members have in common.
type shape struct {
	size       int    // of a member, in words: a segment has 64 rows for each
	reciprocal uint64 // of size; see guava.Locate
	k          int
}

func shapeOf(size, k int) shape { return shape{size, guava.Reciprocal(size), k} }

// M returns the number of bits of a member, a multiple of 64.
func (s *shape) M() uint64 { return 64 * uint64(s.size) }

// K returns the number of hashes, which is how many bits a key sets in a member.
func (s *shape) K() int { return s.k }

// row returns the row of the bit that x selects.
func (s *shape) row(x uint64) uint64 {
	word, pos := guava.Locate(x, uint64(s.size), s.reciprocal)
	return 64*word + pos
}

// contains reports whether member i of a segment has all bits of a key.
func (s *shape) contains(seg *segment, i int, h bloom.Hash) bool {
	x, step := h.Words()
	for range s.k {
		if !seg.get(s.row(x), i) {
			return false
		}
		x += step
	}
	return true
}

// found has a bit for each member of a segment that may hold all keys.
type found [pageWords]uint64

// all sets the bits of the given number of members, and returns their words.
func (f *found) all(members int) []uint64 {
	acc := f[:(members+63)/64]
	for i := range acc {
		acc[i] = ^uint64(0)
	}
	acc[len(acc)-1] >>= -members & 63
	return acc
}

// whichAll appends to dst the numbers of those of n members that have all bits of all keys.
func (s *shape) whichAll(dst []int, segments func(int) segment, n int, hs []bloom.Hash) []int {
	for from := 0; from < n; from += segmentMembers {
		seg := segments(from / segmentMembers)
		dst = s.which(dst, &seg, from, min(n-from, segmentMembers), hs)
	}
	return dst
}

// which is whichAll of a segment. The segment's first member has number from.
func (s *shape) which(dst []int, seg *segment, from, members int, hs []bloom.Hash) []int {
	var f found
	acc := f.all(members)
	for _, h := range hs {
		x, step := h.Words()
		for k := s.k; k > 0; k -= 4 {
			var rows [4]uint64
			for i := range rows {
				rows[i] = s.row(x)
				if i < k-1 { // in the end, the last row counts more than once
					x += step
				}
			}
			if !seg.and(acc, &rows) {
				return dst
			}
		}
	}
	return appendBits(dst, from, acc)
}

// appendBits appends the numbers of the bits that are set. The first bit has number from.
func appendBits(dst []int, from int, acc []uint64) []int {
	n := 0
	for _, w := range acc {
		n += bits.OnesCount64(w)
	}
	dst = slices.Grow(dst, n)
	for _, w := range acc {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, from+bits.TrailingZeros64(w))
		}
		from += 64
	}
	return dst
}

// filter returns member i of a segment.
func (s *shape) filter(seg *segment, i int, info bloom.Info) *bloom.Filter {
	words := make([]uint64, s.size)
	for r := range s.M() {
		if seg.get(r, i) {
			words[r/64] |= 1 << (r % 64)
		}
	}
	f := bloom.Must(bloom.NewWords(words, s.k))
	f.SetInfo(info)
	return f
}

// stats returns the figures of n members in all, which are in segments.
func (s *shape) stats(segments func(int) segment, n int, size int64) bloom.Stats {
	st := bloom.Stats{M: s.M(), K: s.k, SizeBytes: size}
	holding := map[uint64]int{} // members, by their number of bits set
	counts := make([]uint64, segmentMembers)
	for from := 0; from < n; from += segmentMembers {
		seg := segments(from / segmentMembers)
		counts := counts[:min(n-from, segmentMembers)]
		clear(counts)
		for r := range s.M() {
			for i := 0; i < len(counts); i += 64 {
				w := seg.load(r, i/64)
				if rest := len(counts) - i; rest < 64 {
					w &= 1<<rest - 1
				}
				for ; w != 0; w &= w - 1 {
					counts[i+bits.TrailingZeros64(w)]++
				}
			}
		}
		for _, ones := range counts {
			holding[ones]++
		}
	}
	for _, ones := range slices.Sorted(maps.Keys(holding)) { // a sum of floats depends on their order
		members := holding[ones]
		st.OnesCount += ones * uint64(members)
		member := bloom.StatsOf(st.M, s.k, ones)
		st.ApproxCount += member.ApproxCount * uint64(members)
		st.FPR += member.FPR * float64(members) / float64(n)
	}
	if n > 0 {
		st.FillRatio = float64(st.OnesCount) / (float64(st.M) * float64(n))
	}
	return st
}
