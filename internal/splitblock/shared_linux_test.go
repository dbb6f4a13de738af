//go:build !race && !msan && !asan

package splitblock

import (
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestFinalWordIsLast: beside writers, single calls and batches read all words of a key before they
// set a bit, and change the last word that lacked one after all others. A page that may not be
// read, or not be written, shows where a call stops.
func TestFinalWordIsLast(t *testing.T) {
	page := os.Getpagesize()
	region := filtertest.Mapping(t, 4*page)
	words := bitwords.WordsOf(region, 0, len(region)/8)
	r := rand.New(rand.NewPCG(3, 5))
	for lines := 1; lines <= MaxLines; lines++ {
		b := Of(words, lines)
		for _, h := range filtertest.Digests(uint64(lines), 300) {
			clear(words)
			// Some bits are set before. The last word that lacks one is the final one.
			var missing []at
			for _, at := range specified(h, lines, uint64(len(words)/each)) {
				if r.IntN(3) == 0 {
					words[at.word] |= at.bit
				}
			}
			for _, at := range specified(h, lines, uint64(len(words)/each)) {
				if words[at.word]&at.bit == 0 {
					missing = append(missing, at)
				}
			}
			if len(missing) == 0 {
				continue
			}
			final := missing[len(missing)-1].word
			pageOf := func(word int) []byte { return region[8*word/page*page:][:page] }
			closed := pageOf(final)
			isClosed := func(word int) bool { return &pageOf(word)[0] == &closed[0] }
			before := slices.Clone(words)
			for name, add := range map[string]func(){
				"AddShared": func() { b.AddShared(h) },
				"AddBatch":  func() { b.AddBatch(Writers, make([]bool, 2), []bloom.Hash{h, h}) },
				"portable AddBatch": func() {
					addBatch.portable(&b, Writers, make([]bool, 2), []bloom.Hash{h, h})
				},
			} {
				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_NONE))
				require.True(t, filtertest.Faults(add), "%s reads", name)
				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_READ|syscall.PROT_WRITE))
				require.Equal(t, before, words, "%s sets bits before it reads all", name)

				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_READ))
				require.True(t, filtertest.Faults(add), "%s writes", name)
				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_READ|syscall.PROT_WRITE))
				alone := !slices.ContainsFunc(missing, func(at at) bool {
					return at.word != final && isClosed(at.word)
				})
				for _, at := range missing {
					isSet := words[at.word]&at.bit != 0
					if isClosed(at.word) {
						require.False(t, isSet)
					} else if alone {
						require.True(t, isSet, "%s, %d lines: the final word is last", name, lines)
					}
				}
				copy(words, before)
				for _, at := range missing { // a page of another word, not of the final one
					if isClosed(at.word) {
						continue
					}
					other := pageOf(at.word)
					require.NoError(t, syscall.Mprotect(other, syscall.PROT_READ))
					require.True(t, filtertest.Faults(add), "%s writes", name)
					require.NoError(t, syscall.Mprotect(other, syscall.PROT_READ|syscall.PROT_WRITE))
					require.Equal(t, before[final], words[final], "%s: the final word is last", name)
					copy(words, before)
				}
			}
		}
	}
}
