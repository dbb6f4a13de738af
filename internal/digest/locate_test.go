package digest_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestLocate: the index is x, without its sign, modulo the number of bits.
func TestLocate(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	sizes := []uint64{1, 2, 3, 5, 7, 63, 64, 65, 1<<30 - 1, 1 << 30, 1<<30 + 1, 1<<31 - 2,
		1<<31 - 1, 1<<37 - 1, 1 << 37}
	for range 300 {
		sizes = append(sizes, 1+rnd.Uint64()>>rnd.UintN(31)>>33)
	}
	for _, words := range sizes {
		if words > math.MaxInt {
			continue
		}
		bits := 64 * words
		xs := []uint64{0, 1, 63, 64, bits - 1, bits, bits + 1, math.MaxInt64, 1 << 63, math.MaxUint64}
		for range 1000 {
			multiple := rnd.Uint64() >> 1 / bits * bits
			xs = append(xs, rnd.Uint64(), multiple, multiple-1, multiple+1, multiple|1<<63)
		}
		for _, x := range xs {
			word, pos := digest.Locate(x, words, digest.Reciprocal(int(words)))
			filtertest.Equal(t, x<<1>>1%bits, 64*word+pos, "%#x modulo 64*%d", x, words)
			filtertest.Equal(t, x%64, pos, "%#x", x)
		}
	}
}
