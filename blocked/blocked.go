// Package blocked provides a Bloom filter that keeps each key's bits in one to four cache lines.
//
//	seen, err := blocked.New(1_000_000, 0.01)
//	if err != nil {
//		return err
//	}
//	seen.AddString("ada")        // true: certainly new
//	seen.ContainsString("grace") // false: certainly not added
//
// An added key is always found. While the filter contains at most n keys, a key that was not added
// is reported as present with a probability of about p or less; n and p are the arguments of New.
//
// A classic filter, [bloom.Filter], touches up to 7 cache lines for each key at a rate of 1 %, and
// up to 20 at 1e-6. A blocked filter touches one at 1 %, and usually one or two at 1e-6. So it is
// faster if the filter is larger than the processor's cache, above all at low rates, and batches
// are faster still; see benchmarks/RESULTS.md. The price is memory. With a million keys, a blocked
// filter needs this much more than a classic one:
//
//	rate     1e-2  1e-3  1e-4  1e-5  1e-6  1e-7  1e-8  1e-9
//	lines       1     1     2     2     2     3     3     3
//	memory  +10 % +18 % +10 % +12 % +18 % +11 % +14 % +18 %
//
// Use [bloom.Filter] if Java must read the bytes, if memory matters more than time, or if the rate
// is below 1e-12. For the split-block filters of the Parquet format, see [NewBitset].
package blocked

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// Filter is a blocked Bloom filter. It consists of blocks of eight 32-bit words, and a key has one
// to four lines. Each line selects a block, and sets one bit in each word of that block.
//
// A key's first line depends only on the first word of its [bloom.Hash], unless there are more than
// 2^30 blocks. Every other line depends on the second word. If the second word is always 0, a
// filter with several lines has a much higher false-positive rate. To use 64-bit digests, see
// [bloom.SumUint64].
//
// The zero Filter contains nothing and can be decoded into; adding to it panics. Many goroutines
// may read a Filter while none writes to it; a [SyncFilter] has no such limit. A Filter must not be
// copied; see [Filter.Clone].
//
// A filter with one line and at most 2^30 blocks is the split-block Bloom filter of the Parquet
// format (Parquet format specification, BloomFilter.md; Putze, Sanders and Singler, Cache-, Hash-
// and Space-Efficient Bloom Filters, 2007). See [NewBitset] for files of that format.
type Filter struct {
	_ nocopy.Locker
	filter
}

// filter has the data of a Filter. String and the encoding methods have value receivers, so that
// fmt, json and gob also find them in a Filter value.
type filter struct {
	b    splitblock.Blocks
	info form.Kept
}

// New returns an empty filter for n distinct keys. When it contains n keys, it reports an absent
// key as present with a probability of at most about p. The filter has the fewest lines for which
// the memory is within 10 % of the optimum.
//
// New returns an error unless n > 0, 1e-12 <= p < 1, and the filter needs at most a tebibyte, or
// less than 2 GiB on 32-bit platforms. Below 1e-12, use [bloom.New]. If the machine has too little
// memory, the process ends, as with make. The filter's Info has n and p.
func New(n uint64, p float64) (*Filter, error) {
	m, lines, err := Size(n, p)
	if err != nil {
		return nil, err
	}
	f := newFilter(m/splitblock.Bits, lines)
	f.info = form.Keep(form.Info{N: n, P: p})
	return f, nil
}

// NewSize returns an empty filter of m bits, rounded up to a multiple of 256, with the given number
// of lines. It returns an error unless lines is 1 to 4, m > 0, and the filter needs at most a
// tebibyte, or less than 2 GiB on 32-bit platforms.
//
// NewSize(m, 1) makes the filter of a Parquet column. Parquet readers that follow the specification
// accept any size. Arrow's C++ reader accepts only powers of two of at least 32 bytes; for that,
// round m up to a power of two, 1<<bits.Len64(m-1).
func NewSize(m uint64, lines int) (*Filter, error) {
	if lines < 1 || lines > splitblock.MaxLines {
		bad := form.NewParam("lines", lines, "outside [1, %d]", splitblock.MaxLines)
		return nil, bad.In("blocked")
	}
	n := m/splitblock.Bits + min(m%splitblock.Bits, 1)
	if n < 1 || n > splitblock.Max {
		limit := uint64(splitblock.Max) * splitblock.Bits
		return nil, form.NewParam("m", m, "outside [1, %d]", limit).In("blocked")
	}
	return newFilter(n, lines), nil
}

// NewBitset returns a filter with one line and the bits in bitset, which is a result of
// [Filter.Bitset] or the Bloom filter of a Parquet column. In Parquet, the first word of a value's
// [bloom.Hash] is the xxHash64 of the plain-encoded value; see [bloom.NewHash]. NewBitset returns
// an error that wraps [bloom.ErrFormat] unless bitset has 1 to 2^30 blocks of 32 bytes. It does not
// retain bitset.
func NewBitset(bitset []byte) (*Filter, error) {
	n, rest := len(bitset)/splitblock.Bytes, len(bitset)%splitblock.Bytes
	if n < 1 || n > splitblock.Narrow || rest != 0 {
		return nil, form.Errorf("blocked", "%d bytes are not 1 to %d blocks of %d bytes",
			len(bitset), splitblock.Narrow, splitblock.Bytes)
	}
	f := newFilter(uint64(n), 1)
	form.GetWords(f.b.Words, bitset, form.LittleEndian)
	return f, nil
}

// Bitset returns a copy of the bits in the form of a Parquet file: little-endian 32-bit words,
// eight to a block. It panics if f has more than one line or more than 2^30 blocks, which no
// Parquet filter has. NewSize(m, 1) makes a filter with one line.
func (f *Filter) Bitset() []byte {
	if f.b.Lines > 1 || f.M()/splitblock.Bits > splitblock.Narrow {
		panic(fmt.Sprintf("blocked: Bitset of %v, which must have one line and at most 2^30 blocks", f))
	}
	return form.AppendWords(nil, f.b.Words, form.LittleEndian)
}

func newFilter(n uint64, lines int) *Filter {
	return &Filter{filter: filter{b: splitblock.New(n, lines), info: form.Keep(form.Info{})}}
}

// Add adds key and reports whether the filter changed. True means that key was certainly new, false
// that it was probably added before.
func (f *Filter) Add(key []byte) bool { return f.b.AddKey(key) }

// AddString is like Add.
func (f *Filter) AddString(key string) bool { return f.Add(bitwords.BytesOf(key)) }

// AddHash is like Add. If f has one line and at most 2^30 blocks, only h's first word matters.
func (f *Filter) AddHash(h bloom.Hash) bool { return f.b.Add(h) }

// Contains reports whether key may have been added. False is certain. For a key that was not added,
// it returns true with a probability of about FPR; see [Filter.Stats].
func (f *Filter) Contains(key []byte) bool { return f.b.ContainsKey(key) }

// ContainsString is like Contains.
func (f *Filter) ContainsString(key string) bool { return f.Contains(bitwords.BytesOf(key)) }

// ContainsHash is like Contains. If f has one line and at most 2^30 blocks, only h's first word
// matters.
func (f *Filter) ContainsHash(h bloom.Hash) bool { return f.b.Contains(h) }
