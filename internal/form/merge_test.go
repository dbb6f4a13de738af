package form_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/seed79a3ff49/bloom/internal/form"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// patchBetween returns a patch that turns the words from into to. guess is how many bits it takes
// to differ.
func patchBetween(t *testing.T, from, to []uint64, guess uint64) *Patch {
	t.Helper()
	changes := func(yield func(int, uint64) bool) {
		for i := range from {
			if mask := from[i] ^ to[i]; mask != 0 && !yield(i, mask) {
				return
			}
		}
	}
	h := Header{Strategy: 1, K: 3, Words: len(from)}
	data, err := AppendPatch(nil, h, Info{}, WordsSum(from), guess, changes)
	require.NoError(t, err)
	p, err := ParsePatch(data)
	require.NoError(t, err)
	return p
}

// TestMerge: the changes of several patches together are the difference of the first filter and the
// last one, wherever bits change: nowhere, everywhere, in clusters, far apart, and back again.
func TestMerge(t *testing.T) {
	const words = 3000
	rnd := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		now := make([]uint64, words)
		first := append([]uint64(nil), now...)
		var patches []*Patch
		for range 1 + rnd.IntN(6) {
			next := append([]uint64(nil), now...)
			switch rnd.IntN(6) {
			case 0: // back to the first
				copy(next, first)
			case 1: // nearly everywhere
				for i := range next {
					if i%7 < 6 {
						next[i] = rnd.Uint64()
					}
				}
			case 2: // a cluster, and a bit that is far away
				at := rnd.IntN(words - 100)
				for range 1000 {
					next[at+rnd.IntN(20)] ^= 1 << rnd.IntN(64)
				}
				next[words-1] ^= 1 << 63
			case 3: // the ends of windows and words
				for i := 511; i < words; i += 512 {
					next[i] ^= 1<<63 | 1
					next[(i+1)%words] ^= 1<<63 | 1
				}
			case 4: // few
				for range rnd.IntN(5) {
					next[rnd.IntN(words)] ^= 1 << rnd.IntN(64)
				}
			}
			p := patchBetween(t, now, next, rnd.Uint64N(64*words))
			_, err := p.Check(p.Header, now)
			require.NoError(t, err)
			patches = append(patches, p)
			now = next
		}
		got := append([]uint64(nil), first...)
		last := -1
		for m := Merge(patches); ; {
			word, mask, ok := m.Next()
			if !ok {
				break
			}
			require.Greater(t, word, last, "round %d", round)
			require.NotZero(t, mask)
			got[word] ^= mask
			last = word
		}
		require.Equal(t, now, got, "round %d", round)
	}
}

// TestGuess: the guess that AppendPatch gets changes no byte, and no memory to speak of.
func TestGuess(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	from, to := make([]uint64, 1000), make([]uint64, 1000)
	for i := range to {
		to[i] = rnd.Uint64()
	}
	want := patchBetween(t, from, to, 32_000)
	for _, guess := range []uint64{0, 1, 100, 10_000, 64_000, 1 << 60} {
		require.Equal(t, want, patchBetween(t, from, to, guess), "guess %d", guess)
	}
	nothing := func(func(int, uint64) bool) {}
	empty, err := AppendPatch(nil, Header{Strategy: 1, K: 3, Words: 1000}, Info{}, 0, 9, nothing)
	require.NoError(t, err)
	require.Equal(t, make([]byte, 24), empty[32:56], "changed, rice and length")
}

// TestOtherCounts: a dense patch with another number of bits than its stream has is refused.
func TestOtherCounts(t *testing.T) {
	words, masks := make([]uint64, 10), filtertest.Words(10)
	h := Header{Strategy: 1, K: 3, Words: len(words)}
	data, err := AppendPatch(nil, h, Info{}, WordsSum(words), 320, slices.All(masks))
	require.NoError(t, err)
	require.Zero(t, data[40], "rice")
	for _, more := range []uint64{0, 1, math.MaxUint64} {
		bad := bytes.Clone(data)
		changed := binary.LittleEndian.Uint64(bad[32:]) + more
		binary.LittleEndian.PutUint64(bad[32:], changed)
		p, err := ParsePatch(filtertest.Sealed(bad))
		require.NoError(t, err)
		_, err = p.Check(h, words)
		require.Equal(t, more != 0, errors.Is(err, ErrFormat), "%d bits: %v", changed, err)
	}
}

// TestLongCodes: a gap of any length is read as it was written, also where its code has just as
// many bits as a word, or some more.
func TestLongCodes(t *testing.T) {
	const words = 600
	for gap := 0; gap < 64*(words-2); gap += 7 {
		from, to := make([]uint64, words), make([]uint64, words)
		to[0] = ^uint64(0) // a cluster makes codes short
		to[1] = ^uint64(0)
		i := 128 + gap
		to[i/64] = 1 << (i % 64)
		c := patchBetween(t, from, to, 129).Changes()
		got := make([]uint64, words)
		for {
			word, mask, ok := c.Next()
			if !ok {
				break
			}
			got[word] = mask
		}
		require.Equal(t, to, got, "gap %d", gap)
	}
}

// TestPatchBound: the stream of a patch has at most 38 bits for each bit that differs, and at most
// as many bits as the filter.
func TestPatchBound(t *testing.T) {
	const largest = 64 * (1<<31 - 1)
	_, bits := BestRice(largest, 1)
	require.EqualValues(t, 38, bits)
	for m := uint64(64); m <= largest; m = 2*m + 64 {
		for changed := uint64(0); changed <= m; changed = 3*changed + 1 {
			_, bits := BestRice(m, changed)
			require.LessOrEqual(t, bits, min(m, 38*changed), "m = %d, %d changes", m, changed)
		}
	}
}
