package blocked

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/param"
)

var errZeroForm = errors.New("blocked: the zero value has no binary form")

const errZero = "blocked: Add to a zero Filter: make it with a constructor, or decode into it"

// Filter is a Bloom filter that keeps all bits of a key in one cache
// line: it answers in one memory access where Filter needs up to k. That takes
// 10 % more memory at p = 1 %, 18 % at 0.1 %, 37 % at 0.01 % and 125 % at 1e-6.
//
// Its layout is the split-block Bloom filter of the Parquet format (Parquet
// format specification, BloomFilter.md; Putze, Sanders and Singler, Cache-,
// Hash- and Space-Efficient Bloom Filters, 2007): blocks of eight 32-bit words,
// in each of which a key sets one bit. Only Hash.H1 is used. With H1 the xxHash64
// of a plain-encoded value, Bitset is the bitset of a Parquet column's filter.
//
// The zero Filter contains nothing and can be decoded into; adding to it
// panics. A Filter may be read by many goroutines at once, but only while
// none writes. It must not be copied after first use; see Clone.
type Filter struct {
	words []uint64 // four to a block: words 2i and 2i+1 of the format, the first in the low half
}

const (
	blockWords = 4
	blockBytes = 32
	blockBits  = 256

	// maxBlocks keeps the product of len(words) and half a hash, of which the
	// assembly takes the high bits, within 64 bits.
	maxBlocks = min(1<<30, math.MaxInt/blockBytes)
)

// salts are the format's.
var salts = [8]uint32{
	0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
	0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
}

// New returns an empty filter for n keys of which, once they are all
// added, it reports a fraction p of all other keys as present. It is the smallest
// of which the theory for blocked filters says so; classic sizing would miss p.
// It returns an error unless 0 < p < 1 and the filter has at most 2^30 blocks
// (32 GiB). n = 0 counts as 1.
func New(n uint64, p float64) (*Filter, error) {
	if err := param.Rate("blocked", "p", p); err != nil {
		return nil, err
	}
	n = max(n, 1)
	if blockedRate(n, maxBlocks) > p {
		return nil, fmt.Errorf("blocked: n = %d, p = %v need more than %d blocks", n, p, uint64(maxBlocks))
	}
	lo, hi := uint64(1), uint64(maxBlocks)
	for lo < hi {
		if mid := (lo + hi) / 2; blockedRate(n, mid) > p {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return newBlocked(lo), nil
}

// NewSize returns an empty filter of m bits, rounded up to a multiple of
// 256. It returns an error unless m rounds up to 1 to 2^30 blocks.
func NewSize(m uint64) (*Filter, error) {
	blocks := m/blockBits + min(m%blockBits, 1)
	if blocks < 1 || blocks > maxBlocks {
		return nil, fmt.Errorf("blocked: m = %d is outside [1, %d]", m, uint64(maxBlocks)*blockBits)
	}
	return newBlocked(blocks), nil
}

// NewBitset returns a filter with the bits that Bitset returned, or that
// a Parquet file holds. It returns an error, which wraps bloom.ErrFormat, unless
// bitset is 1 to 2^30 blocks of 32 bytes. It does not retain bitset.
func NewBitset(bitset []byte) (*Filter, error) {
	if len(bitset) == 0 || len(bitset)%blockBytes != 0 || len(bitset)/blockBytes > maxBlocks {
		return nil, format.Errorf("blocked", "a bitset of %d bytes is not 1 to %d blocks of %d", len(bitset), uint64(maxBlocks), blockBytes)
	}
	b := newBlocked(uint64(len(bitset) / blockBytes))
	for i := range b.words {
		b.words[i] = binary.LittleEndian.Uint64(bitset[8*i:])
	}
	return b, nil
}

func newBlocked(blocks uint64) *Filter {
	return &Filter{memory.Words(int(blocks) * blockWords)}
}

// blockedRate returns the false-positive rate of n keys in so many blocks. A
// block holds a Poisson-distributed number j of keys, with mean n/blocks; a word
// of it then has a given bit set with probability 1-(31/32)^j, and a key is
// reported if its bit is set in all eight (Putze, Sanders and Singler,
// equation 3). On top of that come keys that share both their block and the 32
// bits of hash that choose the bits.
func blockedRate(n, blocks uint64) float64 {
	mean := float64(n) / float64(blocks)
	rate := mean / (1 << 32)
	// Terms further than this from the mean add nothing to a float64.
	spread := 12*math.Sqrt(mean) + 40
	for j := math.Floor(max(0, mean-spread)); j <= mean+spread; j++ {
		lgamma, _ := math.Lgamma(j + 1)
		poisson := math.Exp(j*math.Log(mean) - mean - lgamma)
		word := -math.Expm1(j * math.Log1p(-1.0/32))
		rate += poisson * math.Pow(word, 8)
	}
	return rate
}

// Add adds key and reports whether the filter changed: true means that key was
// certainly new, false that it was probably added before. It does not retain
// key.
func (b *Filter) Add(key []byte) bool { return filterAdd(b, key) }

// AddString is Add of key's bytes, without copying them.
func (b *Filter) AddString(key string) bool { return b.Add(memory.BytesOf(key)) }

// AddHash is Add by digest, of which only H1 matters.
func (b *Filter) AddHash(h bloom.Hash) bool { return filterAddHash(b, h.H1) }

// Contains reports whether key may have been added: false is certain, true is
// wrong with probability FPR for a key that was not.
func (b *Filter) Contains(key []byte) bool { return filterContains(b, key) }

// ContainsString is Contains of key's bytes, without copying them.
func (b *Filter) ContainsString(key string) bool { return b.Contains(memory.BytesOf(key)) }

// ContainsHash is Contains by digest, of which only H1 matters.
func (b *Filter) ContainsHash(h bloom.Hash) bool { return filterContainsHash(b, h.H1) }

// AddBatch adds hs in order and returns how many of them changed the filter.
// Where the filter is larger than the processor's cache, hashing many keys and
// then adding them is more than twice as fast as key by key.
func (b *Filter) AddBatch(hs []bloom.Hash) (added int) {
	if len(b.words) == 0 && len(hs) > 0 {
		panic(errZero)
	}
	for ; len(hs) > 0; hs = hs[min(len(hs), batchChunk):] {
		chunk := hs[:min(len(hs), batchChunk)]
		if useAVX2 {
			added += blocksAdd(b, &chunk[0], len(chunk))
			continue
		}
		b.touch(chunk)
		for i := range chunk {
			if b.add(chunk[i].H1) {
				added++
			}
		}
	}
	return added
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it. It
// pays as AddBatch does, and allocates only if dst lacks room.
func (b *Filter) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	n := len(dst)
	dst = slices.Grow(dst, len(hs))[:n+len(hs)]
	out := dst[n:]
	if len(b.words) == 0 {
		clear(out)
		return dst
	}
	for ; len(hs) > 0; hs = hs[min(len(hs), batchChunk):] {
		chunk := hs[:min(len(hs), batchChunk)]
		if useAVX2 {
			blocksContain(b, &chunk[0], len(chunk), &out[0])
		} else {
			b.touch(chunk)
			for i := range chunk {
				out[i] = b.contains(chunk[i].H1)
			}
		}
		out = out[len(chunk):]
	}
	return dst
}

// block returns the block of a key: the high half of the hash picks it by
// multiply-shift.
func (b *Filter) block(h uint64) *[blockWords]uint64 {
	i := h >> 32 * uint64(len(b.words)/blockWords) >> 32 * blockWords
	return (*[blockWords]uint64)(b.words[i:])
}

// blockMask returns the bits of a key in word i of its block: the low half of
// the hash times a salt picks, by its top five bits, the bit in each 32-bit word.
func blockMask(h uint64, i int) uint64 {
	x := uint32(h)
	return 1<<(x*salts[2*i]>>27) | 1<<(32|x*salts[2*i+1]>>27)
}

// touch reads a word of each hash's block. Nothing waits for these reads, so
// their cache misses overlap, which those of a loop full of arithmetic hardly
// do. It is not inlined because then the reads, whose values nobody uses, would
// go.
//
//go:noinline
func (b *Filter) touch(hs []bloom.Hash) (sum uint64) {
	for i := range hs {
		sum += b.block(hs[i].H1)[0]
	}
	return sum
}

// add is AddHash in Go.
func (b *Filter) add(h uint64) bool {
	if len(b.words) == 0 {
		panic(errZero)
	}
	block := b.block(h)
	var clear uint64
	for i := range block {
		mask := blockMask(h, i)
		clear |= mask &^ block[i]
		block[i] |= mask
	}
	return clear != 0
}

// contains is ContainsHash in Go.
func (b *Filter) contains(h uint64) bool {
	if len(b.words) == 0 {
		return false
	}
	block := b.block(h)
	var clear uint64
	for i := range block {
		clear |= blockMask(h, i) &^ block[i]
	}
	return clear == 0
}

// Merge makes b the union of b and c: it then contains all that either did. It
// returns an error, and leaves b as it was, unless the two agree in m.
func (b *Filter) Merge(c *Filter) error {
	if b.M() != c.M() {
		return fmt.Errorf("blocked: filters differ in m: %d and %d", b.M(), c.M())
	}
	for i, w := range c.words {
		b.words[i] |= w
	}
	return nil
}

// Clone returns an independent copy.
func (b *Filter) Clone() *Filter {
	c := &Filter{memory.Words(len(b.words))}
	copy(c.words, b.words)
	return c
}

// Reset removes all keys. It keeps the memory.
func (b *Filter) Reset() { clear(b.words) }

// Equal reports whether b and c have the same bits.
func (b *Filter) Equal(c *Filter) bool { return slices.Equal(b.words, c.words) }

// M returns the number of bits, a multiple of 256.
func (b *Filter) M() uint64 { return uint64(len(b.words)) * 64 }

// ApproxCount estimates the number of distinct keys added: for each block the
// number that makes its count of ones likeliest, ln(1 - ones/256) / ln(31/32),
// added up. That is 0.1 % too many at the number of keys for p = 1 %, besides
// chance. A block with every bit set counts as if half a bit were clear. It
// reads the whole filter.
func (b *Filter) ApproxCount() uint64 {
	var blocks [blockBits + 1]uint64 // by ones
	for i := 0; i < len(b.words); i += blockWords {
		ones := 0
		for _, w := range b.words[i : i+blockWords] {
			ones += bits.OnesCount64(w)
		}
		blocks[ones]++
	}
	var keys float64
	for ones, n := range blocks {
		fill := min(float64(ones), blockBits-0.5) / blockBits
		keys += float64(n) * math.Log1p(-fill) / math.Log1p(-1.0/32)
	}
	return uint64(math.Round(keys))
}

// FPR returns the probability that a key which was not added is reported as
// present, as things are now: the mean over all blocks of the product of its
// words' fills. It reads the whole filter.
func (b *Filter) FPR() float64 {
	if len(b.words) == 0 {
		return 0
	}
	var sum float64
	for i := 0; i < len(b.words); i += blockWords {
		product := 1.0
		for _, w := range b.words[i : i+blockWords] {
			product *= float64(bits.OnesCount32(uint32(w)) * bits.OnesCount32(uint32(w>>32)))
		}
		sum += product
	}
	return sum / (1 << 40) / float64(len(b.words)/blockWords) // 32^8 = 2^40
}

// Bitset returns a copy of the bits as a Parquet file holds them: 32-bit words,
// little-endian, eight to a block.
func (b *Filter) Bitset() []byte {
	data := make([]byte, len(b.words)*8)
	for i, w := range b.words {
		binary.LittleEndian.PutUint64(data[8*i:], w)
	}
	return data
}

// AppendBinary appends b's binary form, which carries a checksum, to dst. It
// returns an error only for the zero Filter, which has none.
func (b *Filter) AppendBinary(dst []byte) ([]byte, error) {
	if len(b.words) == 0 {
		return dst, errZeroForm
	}
	return frame.Blocked.Append(dst, b.params(), b.words), nil
}

// params are what the frame holds beside the words.
func (b *Filter) params() []uint64 { return []uint64{uint64(len(b.words) / blockWords)} }

// MarshalBinary returns b's binary form; see AppendBinary.
func (b *Filter) MarshalBinary() ([]byte, error) { return b.AppendBinary(nil) }

// WriteTo writes b's binary form to w through a small buffer.
func (b *Filter) WriteTo(w io.Writer) (int64, error) {
	if len(b.words) == 0 {
		return 0, errZeroForm
	}
	return frame.Blocked.Write(w, b.params(), b.words)
}

// UnmarshalBinary makes b the filter whose binary form data is, to the last
// byte. On error, which wraps bloom.ErrFormat, b is unchanged. It does not retain data.
func (b *Filter) UnmarshalBinary(data []byte) error {
	_, words, err := frame.Blocked.Unmarshal(data, checkParams)
	if err != nil {
		return err
	}
	b.words = words
	return nil
}

// ReadFrom makes b the filter whose binary form r yields next, and reads no
// byte more. It allocates as data arrives. On error b is unchanged; the error is
// r's own or, if r ends too early or holds anything else, wraps ErrFormat.
func (b *Filter) ReadFrom(r io.Reader) (int64, error) {
	_, words, n, err := frame.Blocked.Read(r, checkParams)
	if err != nil {
		return n, err
	}
	b.words = words
	return n, nil
}

func checkParams(params []uint64) (uint64, error) {
	if params[0] < 1 || params[0] > maxBlocks {
		return 0, fmt.Errorf("blocked: block count %d is outside [1, %d]", params[0], uint64(maxBlocks))
	}
	return params[0] * blockWords, nil
}

// SaveFile writes b's binary form to a file at path, for LoadFile. Whatever happens
// meanwhile, a crash included, path holds what it held before or all of b. See
// [bloom.Filter.SaveFile] for permissions, links and temporary files.
func (b *Filter) SaveFile(path string) error {
	if len(b.words) == 0 {
		return errZeroForm
	}
	return frame.Blocked.SaveFile(path, b)
}

// LoadFile reads a filter from a file that SaveFile wrote. It returns an error,
// which wraps ErrFormat, if the file has changed since.
func LoadFile(path string) (*Filter, error) {
	b := new(Filter)
	if err := frame.Blocked.LoadFile(path, b); err != nil {
		return nil, err
	}
	return b, nil
}
