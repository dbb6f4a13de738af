package blocked

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// at is a bit in the words of a filter.
type at struct {
	word int
	bit  uint64
}

// specified returns the bits of a digest by the Parquet specification's pseudo-code, for each
// line. For more than 2^30 blocks, docs/format.md has another fraction.
func specified(h bloom.Hash, lines int, blocks uint64) (all []at) {
	h1, h2 := h.Words()
	values := []uint64{h1, h2, h1 + h2, h1<<32 + h1>>32 + h2}
	for l := range lines {
		fraction := values[l] >> 32 << 32
		if blocks > 1<<30 {
			fraction += values[l^1] >> 32
		}
		block, _ := bits.Mul64(fraction, blocks)
		for w, salt := range []uint32{
			0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31,
		} {
			all = append(all, at{4*int(block) + w/2, 1 << (uint32(values[l])*salt>>27 + 32*uint32(w%2))})
		}
	}
	return all
}

// plain is a filter with these bits.
type plain struct {
	words []uint64
	lines int
}

func (p plain) add(h bloom.Hash) (changed bool) {
	for _, at := range specified(h, p.lines, uint64(len(p.words)/4)) {
		changed = changed || p.words[at.word]&at.bit == 0
		p.words[at.word] |= at.bit
	}
	return changed
}

func (p plain) contains(h bloom.Hash) bool {
	return !slices.ContainsFunc(specified(h, p.lines, uint64(len(p.words)/4)), func(at at) bool { return p.words[at.word]&at.bit == 0 })
}

// edges are digests at the ends of what picks a block.
var edges = []bloom.Hash{
	{}, bloom.NewHash(math.MaxUint64, math.MaxUint64), bloom.NewHash(math.MaxUint32, 0), bloom.NewHash(0, math.MaxUint32), bloom.NewHash(math.MaxUint64, 0), bloom.NewHash(0, math.MaxUint64),
}

// TestPlain: every way to add and look up, assembly and portable, sets and asks the bits
// that the specification says. Other programs would not find the keys in a file otherwise.
func TestPlain(t *testing.T) {
	for _, blocks := range []uint64{1, 2, 3, 7, 64, 1001} {
		for lines := 1; lines <= maxLines; lines++ {
			t.Run(fmt.Sprintf("blocks=%d/lines=%d", blocks, lines), func(t *testing.T) {
				f := bloom.Must(NewSize(blocks*256, lines))
				portable, batch := f.Clone(), f.Clone()
				want := plain{make([]uint64, 4*blocks), lines}

				added := 0
				// So many that a quarter of all lines have their bits: then each line of a
				// key decides for some.
				keys := append(testkit.Digests[bloom.Hash](blocks, int(blocks)*60/lines), edges...)
				for _, h := range keys {
					changed := want.add(h)
					if f.AddHash(h) != changed || portable.add(h) != changed {
						t.Fatalf("%#x: new is %v", h, changed)
					}
					if changed {
						added++
					}
				}
				require.Equal(t, added, testkit.Count(testkit.Added(batch, keys)))
				require.Equal(t, form.AppendWords(nil, want.words, form.LittleEndian), bytesOf(f))
				require.True(t, f.Equal(portable))
				require.True(t, f.Equal(batch))

				probes := append(keys[:len(keys):len(keys)], testkit.Digests[bloom.Hash](blocks+1, 1000)...)
				got := testkit.Found(f, probes)
				for i, h := range probes {
					present := want.contains(h)
					if f.ContainsHash(h) != present || f.contains(h) != present || got[i] != present {
						t.Fatalf("%#x: present is %v", h, present)
					}
				}
			})
		}
	}
}

// bytesOf returns the bits of f as Bitset does, for any number of lines.
func bytesOf(f *Filter) []byte {
	data := bloom.Must(f.MarshalBinary())
	return data[32 : len(data)-form.MinTrailer]
}

// TestBlock: the block of a line is the one at a fraction of the number of blocks, for
// sizes that no test can allocate too.
func TestBlock(t *testing.T) {
	for _, blocks := range []uint64{1, 3, 1<<30 - 1, 1 << 30, 1<<30 + 1, 3 << 30, maxBlocks - 1, maxBlocks} {
		if blocks > math.MaxInt/blockBytes {
			continue
		}
		for _, h := range append(testkit.Digests[bloom.Hash](blocks, 1000), edges...) {
			values := spread(h)
			for l := range maxLines {
				numerator := new(big.Int).SetUint64(values[l] >> 32)
				numerator.Lsh(numerator, 32)
				if blocks > 1<<30 {
					numerator.Or(numerator, new(big.Int).SetUint64(values[l^1]>>32))
				}
				numerator.Mul(numerator, new(big.Int).SetUint64(blocks))
				require.Equal(t, 4*numerator.Rsh(numerator, 64).Uint64(), block(&values, l, int(4*blocks)))
			}
		}
	}
}

func TestBitset(t *testing.T) {
	f := bloom.Must(NewSize(300*256, 1))
	f.AddBatch(nil, testkit.Digests[bloom.Hash](1, 1000))
	require.Equal(t, bytesOf(f), f.Bitset())
	g, err := NewBitset(f.Bitset())
	require.NoError(t, err)
	require.True(t, f.Equal(g))
	for _, size := range []int{0, 1, 31, 33, 100} {
		_, err := NewBitset(make([]byte, size))
		require.ErrorIs(t, err, bloom.ErrFormat)
	}
	require.Panics(t, func() { bloom.Must(NewSize(256, 2)).Bitset() })
	require.Empty(t, new(Filter).Bitset())
}

// TestPortable does without assembly.
func TestPortable(t *testing.T) {
	testkit.Without(t, "avx2", "^Test(Promises|Indivisible|Plain|Block|Batches|Sync|Operations|Views)$")
}
