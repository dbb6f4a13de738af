package bitwords

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func random(n int) []uint64 {
	rnd := rand.New(rand.NewPCG(uint64(n), 1))
	words := make([]uint64, n)
	for i := range words {
		words[i] = rnd.Uint64() & rnd.Uint64()
	}
	return words
}

func TestMake(t *testing.T) {
	for _, n := range []int{
		0, 1, 2, 100, hugeBytes/8 - 1, hugeBytes / 8, hugeBytes/8 + 1, 3*hugeBytes/8 + 5,
	} {
		words := Make(n)
		require.Len(t, words, n)
		require.Zero(t, OnesCount(words))
	}
}

// TestEachWord: every operation changes every word, including the first and the last.
func TestEachWord(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		a, b := random(n), random(n + 1)[:n]
		ones := 0
		or, and := make([]uint64, n), make([]uint64, n)
		for i := range n {
			ones += bits.OnesCount64(a[i])
			or[i], and[i] = a[i]|b[i], a[i]&b[i]
		}
		require.EqualValues(t, ones, OnesCount(a))
		c := Clone(a)
		require.True(t, slices.Equal(a, c))
		Or(c, b)
		require.True(t, slices.Equal(or, c))
		c = Clone(a)
		OrAtomic(c, b)
		require.True(t, slices.Equal(or, c))
		And(c, b)
		require.True(t, slices.Equal(b, c))
		c = Clone(a)
		And(c, b)
		require.True(t, slices.Equal(and, c))
		ClearAtomic(c)
		require.Zero(t, OnesCount(c))
		for i := range c {
			Store(&c[i], a[i])
		}
		require.True(t, slices.Equal(a, c))
	}
}

func TestClear(t *testing.T) {
	for _, n := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
		words := make([]uint64, n+2)
		for i := range words {
			words[i] = ^uint64(0)
		}
		Clear(words[1 : n+1])
		require.EqualValues(t, 128, OnesCount(words), "%d words", n)
		require.Equal(t, []uint64{^uint64(0), ^uint64(0)}, []uint64{words[0], words[n+1]})
	}
}

func TestBytes(t *testing.T) {
	for _, key := range []string{"", "k", "a longer key"} {
		require.Equal(t, key, string(BytesOf(key)))
		hidden := NoEscape([]byte(key))
		require.Equal(t, key, string(hidden))
		require.Equal(t, len(key), len(hidden))
	}
	require.Zero(t, testing.AllocsPerRun(10, func() {
		key := [64]byte{1}
		keep(NoEscape(key[:]))
	}))
}

//go:noinline
func keep(key []byte) { kept = key[0] }

var kept byte

func TestWordsOf(t *testing.T) {
	words := random(8)
	data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 64)
	for from := range 8 {
		for n := 1; from+n <= 8; n++ {
			require.Equal(t, words[from:from+n], WordsOf(data, 8*from, n), fmt.Sprint(from, n))
		}
	}
	require.Equal(t, 3, cap(WordsOf(data, 8, 3)))
	require.Panics(t, func() { WordsOf(data, 8, 8) })
	little := runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "wasm"
	if little {
		require.True(t, Aligned(data))
	}
	if bits.UintSize == 32 || runtime.GOARCH == "s390x" {
		require.False(t, Aligned(data))
	}
	for i := 1; i < 8; i++ {
		require.False(t, Aligned(data[i:]))
	}
}
