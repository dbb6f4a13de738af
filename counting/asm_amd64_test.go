//go:build !purego && !race && !msan && !asan

package counting

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestManyToBits: the result is right for numbers of words around the size of a chunk.
func TestManyToBits(t *testing.T) {
	if !useAVX2 {
		t.Skip("the processor has no AVX2")
	}
	c := countersOf(make([]uint64, perBits*(2*bitsAtOnce+9)))
	for i, h := range filtertest.Digests(1, len(c.words)) {
		h1, h2 := h.Words()
		c.words[i] = h1 & h2
	}
	for _, n := range []int{
		0, 1, 3, 4, 5, 7, 8, bitsAtOnce - 1, bitsAtOnce, bitsAtOnce + 4, 2*bitsAtOnce + 9,
	} {
		dst := make([]uint64, n)
		require.Equal(t, n&^3, manyToBits(dst, c.words))
		for i, got := range dst[:n&^3] {
			w := c.words[perBits*i:]
			require.Equal(t, toBits(w[0], w[1], w[2], w[3]), got, "word %d of %d", i, n)
		}
	}
}
