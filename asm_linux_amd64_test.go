//go:build !purego && !race && !msan && !asan

package bloom

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe" // a mapping's bytes as words

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/mxcsr"
	"github.com/seed79a3ff49/bloom/internal/testkit"

	"github.com/seed79a3ff49/bloom/internal/guava"
)

// mapping returns so many bytes of address space, which take memory as they are
// written to.
func mapping(t *testing.T, bytes int) []byte {
	t.Helper()
	m, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Skipf("cannot map %d bytes: %v", bytes, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	return m
}

// TestAssemblyIndexes holds the bits that assembly sets to division, in filters of
// all sizes up to the largest.
func TestAssemblyIndexes(t *testing.T) {
	region := mapping(t, guava.MaxWords*8)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&region[0])), guava.MaxWords)

	r := rand.New(rand.NewPCG(7, 8))
	sizes := []uint64{
		1, 2, 3, 5, 127, 128, 129, 255, 256, 257, 1 << 20, 1<<30 - 1, 1 << 30, 1<<30 + 1,
		guava.MaxWords / 4 * 3, guava.MaxWords - 2, guava.MaxWords - 1, guava.MaxWords,
	}
	for range 100 {
		sizes = append(sizes, max(1, r.Uint64()%guava.MaxWords>>r.UintN(24)))
	}
	for _, w := range sizes {
		m := w * 64
		rounds := 100_000
		if w > 1<<16 { // where each bit takes a page
			rounds = 1000
		}
		f := &Filter{filter: filter{bits: bitsetOf(words[:w]), strategy: Mitz64}}
		for range rounds {
			f.k = 1 + r.IntN(9)
			f.ones = 0
			h := Hash{r.Uint64(), r.Uint64()}
			switch r.IntN(8) { // make one bit's number a multiple of m, or a little less
			case 0:
				h.H1 = h.H1/m*m - r.Uint64N(2)
			case 1:
				h.H1 = h.H1/m*m - h.H2*r.Uint64N(8) - r.Uint64N(2)
			case 2:
				h.H1 = math.MaxInt64 - h.H1%1000
			case 3:
				h.H1 = math.MaxUint64/m*m - r.Uint64N(2)
			}
			f.AddHash(h)
			if !f.ContainsHash(h) {
				t.Fatalf("%d words, k = %d: %#x is not found", w, f.k, h)
			}
			set := uint64(0)
			for i := range f.k {
				index := (h.H1 + uint64(i)*h.H2) & math.MaxInt64 % m
				if word := &words[index/64]; *word>>(index%64)&1 == 1 {
					*word &^= 1 << (index % 64)
					set++
				}
			}
			if set != f.ones { // it set others, too, or counted wrong
				t.Fatalf("%d words, k = %d: %#x sets %d bits, of which %d are right", w, f.k, h, f.ones, set)
			}
		}
		if w > 1<<16 {
			require.NoError(t, syscall.Madvise(region, syscall.MADV_DONTNEED))
		}
	}
}

// TestAssemblyRounding holds the bits that assembly sets to the portable ones,
// whatever the thread's floating-point arithmetic does to fractions. A host of Go
// code may have changed that.
func TestAssemblyRounding(t *testing.T) {
	hs := testkit.Digests[Hash](3, 10_000)
	for _, words := range []uint64{1, 2, 130, 9973, 1 << 20} {
		want, got := Must(NewSize(words*64, 7)), Must(NewSize(words*64, 7))
		for _, h := range hs {
			want.add(h)
		}
		for mode := uint32(0); mode <= mxcsr.Rounding; mode += mxcsr.Rounding / 3 {
			got.Reset()
			runtime.LockOSThread()
			register := mxcsr.Swap(0)
			mxcsr.Swap(register&^mxcsr.Rounding | mode)
			for _, h := range hs {
				got.AddHash(h)
			}
			found := !slices.Contains(got.ContainsBatch(nil, hs), false)
			mxcsr.Swap(register)
			runtime.UnlockOSThread()
			require.True(t, got.Equal(want), "%d words, mode %#x", words, mode)
			require.True(t, found, "%d words, mode %#x", words, mode)
		}
	}
}

// TestAssemblyReads lays keys beside pages that may not be read.
func TestAssemblyReads(t *testing.T) {
	size := os.Getpagesize()
	pages := mapping(t, 3*size)
	require.NoError(t, syscall.Mprotect(pages[:size], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(pages[2*size:], syscall.PROT_NONE))
	page := pages[size : 2*size]
	f := Must(NewSize(1<<13, 7))
	for n := range 200 {
		for _, key := range [][]byte{page[:n], page[size-n:]} {
			f.Add(key)
			require.True(t, f.Contains(key) && f.ContainsHash(Sum(key)), "%d bytes", n)
		}
	}
}
