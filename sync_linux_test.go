//go:build !race && !msan && !asan

package bloom_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe" // a mapping's bytes as words

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestFinalBitIsLast: single calls and batches read all bits of a key before they set one, and set
// the last clear bit after all others. A page that may not be read, or not be written, shows where
// a call stops.
func TestFinalBitIsLast(t *testing.T) {
	page := os.Getpagesize()
	region := filtertest.Mapping(t, 4*page)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&region[0])), len(region)/8)
	r := rand.New(rand.NewPCG(3, 5))
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for _, k := range []int{2, 3, 7, 8, 9, 20, 33, 64, 65} {
		_, s := bloom.Over(words, k)
		for round := range rounds {
			h1, h2 := r.Uint64(), r.Uint64()
			if round%3 == 0 {
				h2 = 1 << (63 - r.IntN(7)) // some of the bits are equal
			}
			h := bloom.NewHash(h1, h2)
			bits := make([]uint64, k)
			for i := range bits {
				bits[i] = (h1 + uint64(i)*h2) & math.MaxInt64 % (64 * uint64(len(words)))
			}
			isSet := func(bit uint64) bool { return words[bit/64]>>(bit%64)&1 != 0 }
			clear(words)
			// Some bits are set before. The last of the others is the final one.
			for _, bit := range bits {
				if r.IntN(3) == 0 {
					words[bit/64] |= 1 << (bit % 64)
				}
			}
			var missing []uint64
			for _, bit := range bits {
				if !isSet(bit) {
					missing = append(missing, bit)
				}
			}
			if len(missing) == 0 {
				continue
			}
			final := missing[len(missing)-1]
			pageOf := func(bit uint64) int { return int(bit/8) / page }
			closed := region[pageOf(final)*page:][:page]
			before := slices.Clone(words)
			for name, add := range map[string]func(){
				"AddHash":  func() { s.AddHash(h) },
				"AddBatch": func() { filtertest.Added(s, []bloom.Hash{h, h, h, h}) },
			} {
				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_NONE))
				require.True(t, filtertest.Faults(add), "%s reads", name)
				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_READ|syscall.PROT_WRITE))
				require.Equal(t, before, words, "%s sets bits before it reads all: %d bits", name, k)

				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_READ))
				require.True(t, filtertest.Faults(add), "%s writes", name)
				require.NoError(t, syscall.Mprotect(closed, syscall.PROT_READ|syscall.PROT_WRITE))
				require.False(t, isSet(final), "%s", name)
				if !slices.ContainsFunc(missing, func(bit uint64) bool {
					return bit != final && pageOf(bit) == pageOf(final)
				}) {
					for _, bit := range missing {
						require.Equal(t, bit != final, isSet(bit), "%s, %d bits: the final one is last", name, k)
					}
				}
				copy(words, before)
				for _, bit := range missing { // a page of another bit, not of the final one
					if pageOf(bit) == pageOf(final) {
						continue
					}
					other := region[pageOf(bit)*page:][:page]
					require.NoError(t, syscall.Mprotect(other, syscall.PROT_READ))
					require.True(t, filtertest.Faults(add), "%s writes", name)
					require.NoError(t, syscall.Mprotect(other, syscall.PROT_READ|syscall.PROT_WRITE))
					require.False(t, isSet(final), "%s, %d bits: the final one is last", name, k)
					copy(words, before)
				}
			}
		}
	}
}
