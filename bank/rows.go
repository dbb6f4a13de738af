package bank

import (
	"encoding/binary"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// The terms of this package:
//
//	member   a Bloom filter in the bank. Members are numbered from 0, and have the same size.
//	segment  up to 32,736 consecutive members. All segments except the last one are full.
//	row      one bit of each member of a segment: bit i of row r is bit r of the segment's
//	         member i. A segment has as many rows as a member has bits.
//	page     up to 64 consecutive rows. In a file, each page has a checksum, and is read and
//	         checked on its own. A page is at most 4 KiB. In a full segment it has one row.
const (
	pageBytes      = 4096
	pageWords      = pageBytes / 8
	checkBytes     = 4
	segmentMembers = 8 * (pageBytes - checkBytes)

	// maxSize is the largest number of words in a member. A segment with up to 64 members needs 512
	// bytes for each of them.
	maxSize = min(form.MaxWords, math.MaxInt/512)
)

type grid struct {
	stride int // number of words in a row
	shift  int // a page has 1<<shift rows
	page   int // number of words in a page
}

// gridFor returns the grid that a segment with the given number of members has in a file. Short
// rows share a page, so that its 4-byte checksum adds little to them.
func gridFor(members int) grid {
	g := grid{stride: (members + 63) / 64}
	for g.shift < 6 && g.stride<<(g.shift+1) < pageWords {
		g.shift++
	}
	g.page = g.stride << g.shift
	if unused := -members & 63; unused < 8*checkBytes { // too few bits for the checksum
		g.page++
	}
	return g
}

func (g *grid) row(r uint64) int {
	return int(r>>g.shift)*g.page + int(r&(1<<g.shift-1))*g.stride
}

// rows must be a multiple of 64.
func (g *grid) pages(rows uint64) int { return int(rows >> g.shift) }

func (g *grid) words(rows uint64) int { return g.pages(rows) * g.page }

type segment struct {
	grid
	words []uint64
	data  []byte // little-endian words; used if words is nil
}

func (s *segment) get(r uint64, i int) bool {
	if s.words != nil {
		return atomic.LoadUint64(&s.words[s.row(r)+i/64])>>(i%64)&1 != 0
	}
	return s.data[8*s.row(r)+i/8]>>(i%8)&1 != 0
}

// setBit reports whether the bit was clear. The caller must hold state.mu.
func (s *segment) setBit(r uint64, i int) bool {
	word := &s.words[s.row(r)+i/64]
	bit := uint64(1) << (i % 64)
	if *word&bit != 0 {
		return false
	}
	bitwords.Store(word, *word|bit)
	return true
}

// The caller of clearBit must hold state.mu.
func (s *segment) clearBit(r uint64, i int) {
	word := &s.words[s.row(r)+i/64]
	bit := uint64(1) << (i % 64)
	if *word&bit != 0 {
		bitwords.Store(word, *word&^bit)
	}
}

func (s *segment) word(r uint64, w int) uint64 {
	if s.words != nil {
		return atomic.LoadUint64(&s.words[s.row(r)+w])
	}
	return binary.LittleEndian.Uint64(s.data[8*(s.row(r)+w):])
}

// segment.and clears the bits of acc that are clear in any of the four rows, and reports whether
// acc has bits left.
func (s *segment) and(acc []uint64, rows *[4]uint64) bool {
	if s.words != nil {
		row := func(i int) []uint64 { return s.words[s.row(rows[i]):][:len(acc)] }
		return andWords(acc, row(0), row(1), row(2), row(3))
	}
	row := func(i int) []byte { return s.data[8*s.row(rows[i]):][:8*len(acc)] }
	return andBytes(acc, row(0), row(1), row(2), row(3))
}

// andWords is like segment.and, for rows of words. Other goroutines may write to the rows at the
// same time. One pass over four rows takes less time than four passes.
func andWords(acc, a, b, c, d []uint64) bool {
	a = a[:len(acc)]
	b = b[:len(acc)]
	c = c[:len(acc)]
	d = d[:len(acc)]
	var left uint64
	for i, x := range acc {
		if x != 0 {
			x &= atomic.LoadUint64(&a[i]) & atomic.LoadUint64(&b[i])
			x &= atomic.LoadUint64(&c[i]) & atomic.LoadUint64(&d[i])
			acc[i] = x
			left |= x
		}
	}
	return left != 0
}

// andBytes is like segment.and, for rows of little-endian words, which need not be aligned.
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

// andRow is like andBytes, for a single row.
func andRow(acc []uint64, row []byte) bool {
	var left uint64
	for i, x := range acc {
		x &= binary.LittleEndian.Uint64(row[8*i:])
		acc[i] = x
		left |= x
	}
	return left != 0
}

// shape has what all members have in common.
type shape struct {
	size       int    // number of words in a member; a segment has 64 rows for each word
	reciprocal uint64 // digest.Reciprocal(size)
	k          int
}

func shapeOf(size, k int) shape { return shape{size, digest.Reciprocal(size), k} }

// bits returns the number of bits in a member, which is also the number of rows in a segment.
func (s *shape) bits() uint64 { return 64 * uint64(s.size) }

func (s *shape) row(x uint64) uint64 {
	word, pos := digest.Locate(x, uint64(s.size), s.reciprocal)
	return 64*word + pos
}

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

// candidates has a bit for each member of a segment. The bit is set until the member is ruled out.
type candidates [pageWords]uint64

// setAll sets the bits of the given number of members, and returns the words that contain them.
func (c *candidates) setAll(members int) []uint64 {
	acc := c[:(members+63)/64]
	for i := range acc {
		acc[i] = ^uint64(0)
	}
	acc[len(acc)-1] >>= -members & 63
	return acc
}

// whichAll implements WhichAll for the first n members.
func (s *shape) whichAll(dst []int, segments func(int) segment, n int, hs []bloom.Hash) []int {
	for first := 0; first < n; first += segmentMembers {
		seg := segments(first / segmentMembers)
		dst = s.which(dst, &seg, first, min(n-first, segmentMembers), hs)
	}
	return dst
}

// which is like whichAll, for a single segment. first is the number of its first member.
func (s *shape) which(dst []int, seg *segment, first, members int, hs []bloom.Hash) []int {
	var c candidates
	acc := c.setAll(members)
	for _, h := range hs {
		x, step := h.Words()
		for k := s.k; k > 0; k -= 4 {
			var rows [4]uint64
			for i := range rows {
				rows[i] = s.row(x)
				if i < k-1 { // if fewer than four rows are left, repeat the last one
					x += step
				}
			}
			if !seg.and(acc, &rows) {
				return dst
			}
		}
	}
	return appendBits(dst, first, acc)
}

// appendBits appends the numbers of the bits that are set in acc. first is the number of bit 0.
func appendBits(dst []int, first int, acc []uint64) []int {
	n := 0
	for _, w := range acc {
		n += bits.OnesCount64(w) // speed
	}
	dst = slices.Grow(dst, n) // speed
	for _, w := range acc {
		for ; w != 0; w &= w - 1 {
			dst = append(dst, first+bits.TrailingZeros64(w))
		}
		first += 64
	}
	return dst
}

func (s *shape) filter(seg *segment, i int, info form.Info) *bloom.Filter {
	words := bitwords.Make(s.size)
	for r := range s.bits() {
		if seg.get(r, i) {
			words[r/64] |= 1 << (r % 64)
		}
	}
	h := form.Header{Strategy: uint8(bloom.Mitz64), K: s.k, Words: s.size}
	return door.Filter[bloom.Filter](h, words, info)
}

func (s *shape) stats(segments func(int) segment, n int, size int64) bloom.Stats {
	st := bloom.Stats{M: s.bits(), K: s.k, SizeBytes: size}
	membersWith := map[uint64]int{} // how many members have a given number of bits set
	counts := make([]uint64, segmentMembers)
	for first := 0; first < n; first += segmentMembers {
		seg := segments(first / segmentMembers)
		counts := counts[:min(n-first, segmentMembers)]
		clear(counts)
		for r := range s.bits() {
			for i := 0; i < len(counts); i += 64 {
				w := seg.word(r, i/64)
				if rest := len(counts) - i; rest < 64 {
					w &= 1<<rest - 1
				}
				for ; w != 0; w &= w - 1 {
					counts[i+bits.TrailingZeros64(w)]++
				}
			}
		}
		for _, ones := range counts {
			membersWith[ones]++
		}
	}
	// The order is fixed, because a sum of floats depends on the order of its terms.
	for _, ones := range slices.Sorted(maps.Keys(membersWith)) {
		members := membersWith[ones]
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
