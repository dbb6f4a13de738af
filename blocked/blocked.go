// Package blocked provides a Bloom filter that keeps the bits of a key in one to four
// cache lines.
//
// An added key is always found. A key that was not added is reported as present with
// the probability that New was given. The caller supplies the number of keys, this
// probability, and keys or their digests.
//
// A classic filter, [bloom.Filter], touches up to 7 cache lines for a key at a rate
// of 1 %, and up to 20 at 1e-6. A blocked filter touches one at 1 % and two at
// 1e-6. In filters larger than the processor's cache that is usually 1.5 to 2 times as fast at
// 1 %, and more at lower rates.
// Batches are usually two to three times as fast again, and more in such filters; see
// benchmarks/RESULTS.md. The price is memory. New takes this much more than a classic filter
// of the same rate:
//
//	rate     1e-2  1e-3  1e-4  1e-5  1e-6  1e-7  1e-8  1e-9
//	lines       1     1     2     2     2     3     3     3
//	memory  +10 % +18 % +10 % +12 % +18 % +11 % +14 % +18 %
//
// Take [bloom.Filter] if Java has to read the bytes, if memory matters more than
// time, or for a rate below 1e-12.
//
// A filter of one line is the split-block Bloom filter of the Parquet format (Parquet
// format specification, BloomFilter.md; Putze, Sanders and Singler, Cache-, Hash- and
// Space-Efficient Bloom Filters, 2007). See [NewBitset] for files of that format.
package blocked

import (
	"fmt"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Filter is a blocked Bloom filter. It consists of blocks of 32 bytes, eight words of
// 32 bits. Each of a key's lines picks a block, and sets one bit in each of its words.
//
// The first line comes from the Hash's first word alone. The others also use the second: a
// digest whose second word is 0 raises the false-positive rate a lot. See
// [bloom.SumUint64] for digests of 64 bits.
//
// The zero Filter contains nothing and can be decoded into. Adding to it
// panics. Many goroutines may read a Filter at once while none writes. A
// [SyncFilter] needs no such care. A Filter must not be copied; see [Filter.Clone].
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter is what a Filter is. The methods that encode it have it by value: packages json
// and gob find them where a Filter is held by value.
type filter struct {
	words []uint64 // four to a block: words 2i and 2i+1 of the format, the first in the low half
	lines int      // of a key; 0 if the filter is zero or was taken over
	fast  int      // lines, if assembly looks keys up, or 0
	info  bloom.Info
	taken string // by what the filter was taken over
}

// use panics if f was taken over. Its bits are another's then.
func (f *filter) use() {
	if f.taken != "" {
		panic("blocked: use of a Filter that was taken over by " + f.taken)
	}
}

// zero returns false, the answer of a look-up in the zero filter.
func (f *filter) zero() bool {
	f.use()
	return false
}

// take returns what f is, and leaves f taken over.
func (f *filter) take(by string) filter {
	f.use()
	g := *f
	*f = filter{taken: by}
	return g
}

const (
	blockWords = 4
	blockBytes = 32
	blockBits  = 256

	// narrowBlocks is the largest number of blocks for which half of a digest picks
	// evenly enough.
	narrowBlocks = 1 << 30
)

// salts are the format's.
var salts = [8]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
	0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

// New returns an empty filter sized for n distinct keys. Holding n keys, it reports a key that
// was not added as present with probability p. It uses the fewest lines that take at
// most 10 % more memory than the best number of lines would.
//
// It returns an error unless 1e-12 <= p < 1 and the filter has at most 2^35 blocks (1
// TiB). Below 1e-12 four lines need much more memory than [bloom.New]. n = 0 counts as
// 1. There is no error for a lack of memory: Go ends the process then. The filter's Info has
// n and p.
func New(n uint64, p float64) (*Filter, error) {
	blocks, lines, err := size(max(n, 1), p)
	if err != nil {
		return nil, err
	}
	f := newFilter(blocks, lines)
	f.info = bloom.Info{N: n, P: p}
	return f, nil
}

// NewSize returns an empty filter of m bits, rounded up to a multiple of 256, with
// 1 to 4 lines a key. It returns an error unless m rounds up to 1 to 2^35 blocks.
//
// NewSize(m, 1) makes the filter of a Parquet column. Parquet readers that follow the
// format's text take any size. Arrow's C++ reader wants a power of two, from 32
// bytes on: round m up to one, 1<<bits.Len64(m-1).
func NewSize(m uint64, lines int) (*Filter, error) {
	if lines < 1 || lines > maxLines {
		return nil, fmt.Errorf("blocked: lines = %d is outside [1, %d]", lines, maxLines)
	}
	blocks := m/blockBits + min(m%blockBits, 1)
	if blocks < 1 || blocks > maxBlocks {
		return nil, fmt.Errorf("blocked: m = %d is outside [1, %d]", m, uint64(maxBlocks)*blockBits)
	}
	return newFilter(blocks, lines), nil
}

// NewBitset returns a filter of one line with the bits that Bitset returned, or that
// the bloom filter of a Parquet column holds. For the latter, H1 of a [bloom.Hash] is
// the xxHash64 of the plain-encoded value. NewBitset returns an error, which wraps
// [bloom.ErrFormat], unless bitset is 1 to 2^30 blocks of 32 bytes. It does not retain
// bitset.
func NewBitset(bitset []byte) (*Filter, error) {
	if len(bitset) == 0 || len(bitset)%blockBytes != 0 || len(bitset)/blockBytes > narrowBlocks {
		return nil, form.Errorf("blocked", "a bitset of %d bytes is not 1 to %d blocks of %d", len(bitset), narrowBlocks, blockBytes)
	}
	f := newFilter(uint64(len(bitset)/blockBytes), 1)
	form.GetWords(f.words, bitset, form.LittleEndian)
	return f, nil
}

// Bitset returns a copy of the bits as a Parquet file holds them: 32-bit words,
// little-endian, eight to a block. It panics if f has more than one line, or more than
// 2^30 blocks: Parquet has no such filters. Make f with [NewSize].
func (f *Filter) Bitset() []byte {
	f.use()
	if f.lines > 1 || len(f.words)/blockWords > narrowBlocks {
		panic(fmt.Sprintf("blocked: Bitset of %v", f))
	}
	return form.AppendWords(nil, f.words, form.LittleEndian)
}

func newFilter(blocks uint64, lines int) *Filter {
	f := new(Filter)
	f.set(memory.Words(int(blocks)*blockWords), lines)
	return f
}

// set makes f the filter that has these words.
func (f *filter) set(words []uint64, lines int) {
	f.words, f.lines, f.fast = words, lines, 0
	if useAVX2 && len(words)/blockWords <= narrowBlocks {
		f.fast = lines
	}
}

// Add adds key and reports whether the filter changed: true means that key was
// certainly new, false that it was probably added before. It does not retain
// key.
func (f *Filter) Add(key []byte) bool { return filterAdd(&f.filter, key) }

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(key string) bool { return f.Add(memory.BytesOf(key)) }

// AddHash is Add by digest. With one line, H1 alone matters.
func (f *Filter) AddHash(h bloom.Hash) bool { return filterAddHash(&f.filter, h) }

// Contains reports whether key may have been added: false is certain, true is
// wrong with probability [Filter.FPR] for a key that was not.
func (f *Filter) Contains(key []byte) bool { return filterContains(&f.filter, key) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(key string) bool { return f.Contains(memory.BytesOf(key)) }

// ContainsHash is Contains by digest. With one line, H1 alone matters.
func (f *Filter) ContainsHash(h bloom.Hash) bool { return filterContainsHash(&f.filter, h) }

// spread returns the values of a key's lines. A filter uses the first ones.
// The high half of a value picks the line's block, the low half its bits.
func spread(h bloom.Hash) [maxLines]uint64 {
	h1, h2 := h.Words()
	return [maxLines]uint64{h1, h2, h1 + h2, bits.RotateLeft64(h1, 32) + h2}
}

// block returns where in the words of a filter line i of a key begins. The high half of
// its value, as a fraction of 2^32, picks the block by multiplication. For more than
// 2^30 blocks half a value is too coarse. There the half of a neighbour's value
// follows it, and the fraction is one of 2^64.
func block(values *[maxLines]uint64, i int, words int) uint64 {
	fraction := values[i] &^ (1<<32 - 1)
	if words/blockWords > narrowBlocks {
		fraction |= values[i^1] >> 32
	}
	high, _ := bits.Mul64(fraction, uint64(words)/blockWords)
	return high * blockWords
}

// mask returns the bits of a line in word i of its block: the low half of its value
// times a salt picks, by the product's top five bits, the bit in each 32-bit word.
func mask(value uint64, i int) uint64 {
	x := uint32(value)
	return 1<<(x*salts[2*i]>>27) | 1<<(32|x*salts[2*i+1]>>27)
}

const errZero = "blocked: Add to a zero Filter: make it with a constructor, or decode into it"

// add is AddHash in Go.
func (f *filter) add(h bloom.Hash) bool {
	if f.lines == 0 {
		f.use()
		panic(errZero)
	}
	values := spread(h)
	var clear uint64
	for l, value := range values[:f.lines] {
		block := (*[blockWords]uint64)(f.words[block(&values, l, len(f.words)):])
		for i := range block {
			bits := mask(value, i)
			clear |= bits &^ block[i]
			block[i] |= bits
		}
	}
	return clear != 0
}

// contains is ContainsHash in Go. Few absent keys have even one line.
func (f *filter) contains(h bloom.Hash) bool {
	values := spread(h)
	for l, value := range values[:f.lines] {
		var clear uint64
		for i, w := range (*[blockWords]uint64)(f.words[block(&values, l, len(f.words)):]) {
			clear |= mask(value, i) &^ w
		}
		if clear != 0 {
			return false
		}
	}
	return f.lines != 0 || f.zero()
}
