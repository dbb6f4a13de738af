package splitblock

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// at is a bit in the words of a filter.
type at struct {
	word int
	bit  uint64
}

// specified returns the bits of a digest, by the pseudo-code of the Parquet specification for each
// line. For more than 2^30 blocks it uses the fraction that docs/format.md defines.
func specified(h bloom.Hash, lines int, blocks uint64) (all []at) {
	h1, h2 := h.Words()
	values := []uint64{
		h1,
		h2 + 0x9e3779b97f4a7c15,
		h1 + h2 + 0x3c6ef372fe94f82a,
		h1<<32 + h1>>32 + h2 + 0xdaa66d2c7ddf743f,
	}
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

// plain is a filter that sets and tests the bits of specified.
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
	return !slices.ContainsFunc(specified(h, p.lines, uint64(len(p.words)/4)), func(at at) bool {
		return p.words[at.word]&at.bit == 0
	})
}

// edges are digests whose halves are least or greatest. These halves pick blocks and bits.
var edges = []bloom.Hash{
	{}, bloom.NewHash(math.MaxUint64, math.MaxUint64), bloom.NewHash(math.MaxUint32, 0),
	bloom.NewHash(0, math.MaxUint32), bloom.NewHash(math.MaxUint64, 0),
	bloom.NewHash(0, math.MaxUint64),
}

// one returns a function that calls do for each key of a batch.
func one(do func(b *Blocks, h bloom.Hash) bool) func(*Blocks, []bool, []bloom.Hash) {
	return func(b *Blocks, dst []bool, hs []bloom.Hash) {
		for i, h := range hs {
			dst[i] = do(b, h)
		}
	}
}

// batch is a method that does a batch.
type batch func(*Blocks, Others, []bool, []bloom.Hash)

// beside returns a function that calls do.
func (do batch) beside(others Others) func(*Blocks, []bool, []bloom.Hash) {
	return func(b *Blocks, dst []bool, hs []bloom.Hash) { do(b, others, dst, hs) }
}

// portable returns do without assembly.
func (do batch) portable(b *Blocks, others Others, dst []bool, hs []bloom.Hash) {
	c := *b
	c.fast = 0
	do(&c, others, dst, hs)
}

// adds and looks are all ways to add keys and to look them up.
var (
	addBatch, containsBatch = batch((*Blocks).AddBatch), batch((*Blocks).ContainsBatch)

	adds = map[string]func(*Blocks, []bool, []bloom.Hash){
		"Add":               one((*Blocks).Add),
		"AddBesideReaders":  one((*Blocks).AddBesideReaders),
		"AddShared":         one((*Blocks).AddShared),
		"AddBatch":          addBatch.beside(None),
		"AddBatch, Readers": addBatch.beside(Readers),
		"AddBatch, Writers": addBatch.beside(Writers),
		"portable Add": one(func(b *Blocks, h bloom.Hash) bool {
			return b.addInGo(h, None)
		}),
		"portable AddBesideReaders": one(func(b *Blocks, h bloom.Hash) bool {
			return b.addInGo(h, Readers)
		}),
		"portable AddShared": one(func(b *Blocks, h bloom.Hash) bool {
			return b.addInGo(h, Writers)
		}),
		"portable AddBatch":          batch(addBatch.portable).beside(None),
		"portable AddBatch, Readers": batch(addBatch.portable).beside(Readers),
		"portable AddBatch, Writers": batch(addBatch.portable).beside(Writers),
	}
	looks = map[string]func(*Blocks, []bool, []bloom.Hash){
		"Contains":               one((*Blocks).Contains),
		"ContainsShared":         one((*Blocks).ContainsShared),
		"ContainsBatch":          containsBatch.beside(None),
		"ContainsBatch, Writers": containsBatch.beside(Writers),
		"portable Contains": one(func(b *Blocks, h bloom.Hash) bool {
			return b.contains(h, None)
		}),
		"portable ContainsShared": one(func(b *Blocks, h bloom.Hash) bool {
			return b.contains(h, Writers)
		}),
		"portable ContainsBatch":          batch(containsBatch.portable).beside(None),
		"portable ContainsBatch, Writers": batch(containsBatch.portable).beside(Writers),
		"HasLine":                         one(inBytes),
	}
)

// inBytes looks a key up in the binary form.
func inBytes(b *Blocks, h bloom.Hash) bool {
	for l := range b.Lines {
		at := each * Block(h, l, len(b.Words)/each)
		if !HasLine(form.AppendWords(nil, b.Words[at:at+each], form.LittleEndian), h, l) {
			return false
		}
	}
	return true
}

// TestSpecified: every way to add or look up keys uses the bits of the specification and returns
// the right answers, in batches of many lengths. Otherwise other programs would not find the keys
// of a file. Some filters are so large that their blocks are fetched ahead.
func TestSpecified(t *testing.T) {
	lengths := []int{0, 1, 2, 3, 31, 63, 64, 65, 127, 128, 129, 191, 192, 193, 500}
	for _, n := range []uint64{1, 2, 3, 7, 64, 1001, fetchBlocks} {
		for lines := 1; lines <= MaxLines; lines++ {
			// With so many keys, a quarter of all lines have all their bits. So each line of a key
			// decides the answer for some keys.
			keys := append(filtertest.Digests(n, min(int(n)*60/lines, 5000)), edges...)
			keys = append(keys, keys[:min(10, len(keys))]...)
			want := plain{make([]uint64, each*n), lines}
			changed := make([]bool, len(keys))
			for i, h := range keys {
				changed[i] = want.add(h)
			}
			for name, add := range adds {
				t.Run(fmt.Sprintf("blocks=%d/lines=%d/%s", n, lines, name), func(t *testing.T) {
					b, rest, answers := New(n, lines), keys, make([]bool, len(keys)+1)
					for i, got := 0, answers[:len(keys)]; len(rest) > 0; i++ {
						n := min(lengths[i%len(lengths)], len(rest))
						add(&b, got[:n], rest[:n])
						got, rest = got[n:], rest[n:]
					}
					require.Equal(t, append(slices.Clone(changed), false), answers)
					require.True(t, slices.Equal(want.words, b.Words))
				})
			}
			probes := append(slices.Clone(keys), filtertest.Digests(n+1, 1000)...)
			present := make([]bool, len(probes))
			for i, h := range probes {
				present[i] = want.contains(h)
			}
			b := Of(want.words, lines)
			first := b.First()
			for name, look := range looks {
				if n == fetchBlocks && name == "HasLine" {
					continue
				}
				t.Run(fmt.Sprintf("blocks=%d/lines=%d/%s", n, lines, name), func(t *testing.T) {
					rest, answers := probes, make([]bool, len(probes))
					for i, got := 0, answers; len(rest) > 0; i++ {
						n := min(lengths[i%len(lengths)], len(rest))
						look(&b, got[:n], rest[:n])
						got, rest = got[n:], rest[n:]
					}
					require.Equal(t, present, answers)
					look(&first, answers, probes)
					for i, h := range probes {
						filtertest.Equal(t, plain{want.words, 1}.contains(h), answers[i])
					}
				})
			}
		}
	}
}

// TestKeys: a key and its digest have the same bits, for keys of many lengths.
func TestKeys(t *testing.T) {
	for lines := 1; lines <= MaxLines; lines++ {
		b, s := New(1000, lines), New(1000, lines)
		for n := range 300 {
			key := bytes.Repeat([]byte{byte(n)}, n)
			require.False(t, b.ContainsKey(key))
			require.False(t, s.ContainsKeyShared(key))
			require.True(t, b.AddKey(key))
			require.True(t, s.AddKeyShared(key))
			require.False(t, b.AddKey(key))
			require.False(t, s.AddKeyShared(key))
			require.True(t, b.ContainsKey(key))
			require.True(t, s.ContainsKeyShared(key))
			require.True(t, b.Contains(bloom.Sum(key)))
		}
		require.Equal(t, b.Words, s.Words)
	}
}

// TestZero: zero Blocks contain nothing, and adding to them panics.
func TestZero(t *testing.T) {
	var b Blocks
	for name, look := range looks {
		if name != "HasLine" {
			found := []bool{true, true}
			look(&b, found, make([]bloom.Hash, 2))
			require.Equal(t, []bool{false, false}, found, name)
		}
	}
	for name, add := range adds {
		require.Panics(t, func() { add(&b, make([]bool, 1), make([]bloom.Hash, 1)) }, name)
	}
	require.False(t, b.ContainsKey(nil))
	require.False(t, b.ContainsKeyShared(nil))
	require.Panics(t, func() { b.AddKey(nil) })
	require.Panics(t, func() { b.AddKeyShared(nil) })
}

// TestBlock: the number of a line's block is a fraction of the number of blocks, also for sizes
// that no test can allocate.
func TestBlock(t *testing.T) {
	for _, blocks := range []uint64{1, 3, 1<<30 - 1, 1 << 30, 1<<30 + 1, 3 << 30, Max - 1, Max} {
		if blocks > math.MaxInt/Bytes {
			continue
		}
		for _, h := range append(filtertest.Digests(blocks, 1000), edges...) {
			h1, h2 := h.Words()
			for l := range MaxLines {
				numerator := new(big.Int).SetUint64(line(h1, h2, l) >> 32)
				numerator.Lsh(numerator, 32)
				if blocks > 1<<30 {
					numerator.Or(numerator, new(big.Int).SetUint64(line(h1, h2, l^1)>>32))
				}
				numerator.Mul(numerator, new(big.Int).SetUint64(blocks))
				require.EqualValues(t, numerator.Rsh(numerator, 64).Uint64(), Block(h, l, int(blocks)))
			}
		}
	}
}

// TestPortable runs tests without AVX2.
func TestPortable(t *testing.T) {
	filtertest.Without(t, "avx2", "^Test(Specified|Keys|Zero)$")
}

// TestEqualWords: a key is new even if an earlier line in the same block has all bits of its last
// word.
func TestEqualWords(t *testing.T) {
	for lines := 2; lines <= MaxLines; lines++ {
		tried := 0
		for i := uint64(0); tried < 20; i++ {
			h := bloom.SumUint64(i)
			var earlier, last uint64 // bits in the last word
			for i, at := range specified(h, lines, 1) {
				switch {
				case at.word != each-1:
				case i < 8*(lines-1):
					earlier |= at.bit
				default:
					last |= at.bit
				}
			}
			if last&^earlier != 0 {
				continue
			}
			tried++
			for name, add := range adds {
				b := New(1, lines)
				answer := make([]bool, 1)
				add(&b, answer, []bloom.Hash{h})
				require.True(t, answer[0], "%s, %d lines: new", name, lines)
				add(&b, answer, []bloom.Hash{h})
				require.False(t, answer[0], "%s, %d lines: known", name, lines)
			}
		}
	}
}
