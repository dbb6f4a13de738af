//go:build !purego && !race && !msan && !asan

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
	"github.com/seed79a3ff49/bloom/internal/form"
)

// TestAssemblyIndexes compares the bits that assembly sets with division, in filters of
// all sizes up to the largest.
func TestAssemblyIndexes(t *testing.T) {
	region := filtertest.Mapping(t, form.MaxWords*8)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&region[0])), form.MaxWords)

	r := rand.New(rand.NewPCG(7, 8))
	sizes := []uint64{
		1, 2, 3, 5, 127, 128, 129, 255, 256, 257, 1 << 20, 1<<30 - 1, 1 << 30, 1<<30 + 1,
		form.MaxWords / 4 * 3, form.MaxWords - 2, form.MaxWords - 1, form.MaxWords,
	}
	for range 50 {
		sizes = append(sizes, max(1, r.Uint64()%form.MaxWords>>r.UintN(24)))
	}
	for _, w := range sizes {
		m := w * 64
		rounds := 2000
		if w > 1<<16 { // each bit takes a page
			rounds = 100
		}
		if testing.Short() {
			rounds /= 5
		}
		for range rounds {
			k := 1 + r.IntN(9)
			switch r.IntN(64) {
			case 0:
				k = 1 + r.IntN(form.MaxK)
			case 1:
				k = 64 + r.IntN(2) // the most that syncAddFours can do, and one more
			}
			f, s := bloom.Over(words[:w], k)
			hs := make([]bloom.Hash, 1+r.IntN(14))
			for i := range hs {
				h1, h2 := r.Uint64(), r.Uint64()
				switch r.IntN(8) { // make one bit's number a multiple of m, or a little less
				case 0:
					h1 = h1/m*m - r.Uint64N(2)
				case 1:
					h1 = h1/m*m - h2*r.Uint64N(8) - r.Uint64N(2)
				case 2:
					h1 = math.MaxInt64 - h1%1000
				case 3:
					h1 = math.MaxUint64/m*m - r.Uint64N(2)
				}
				hs[i] = bloom.NewHash(h1, h2)
			}
			index := func(h bloom.Hash, i uint64) uint64 {
				h1, h2 := h.Words()
				return (h1 + i*h2) & math.MaxInt64 % m
			}
			set, want := map[uint64]bool{}, []bool(nil)
			for _, h := range hs {
				before := len(set)
				for i := range k {
					set[index(h, uint64(i))] = true
				}
				want = append(want, len(set) > before)
			}
			var got []bool
			ones := uint64(len(set))
			switch {
			case r.IntN(3) == 0:
				got = filtertest.Added(s, hs) // does not update the count of ones
			case len(hs) == 1:
				got, ones = []bool{f.AddHash(hs[0])}, f.OnesCount()
			default:
				got, ones = filtertest.Added(f, hs), f.OnesCount()
			}
			if !slices.Equal(got, want) || ones != uint64(len(set)) {
				t.Fatalf("%d words, k = %d: adding %#x sets %d bits, says %t, want %d, %t",
					w, k, hs, ones, got, len(set), want)
			}
			for i, found := range filtertest.Found(f, hs) {
				if !found || !f.ContainsHash(hs[i]) {
					t.Fatalf("%d words, k = %d: %#x is not found", w, k, hs[i])
				}
			}
			// Clear a bit of one key. Other keys may have this bit, too.
			h := hs[r.IntN(len(hs))]
			taken := index(h, r.Uint64N(uint64(k)))
			words[taken/64] ^= 1 << (taken % 64)
			for i, found := range filtertest.Found(f, hs) {
				if want := bloom.ContainsInGo(f, hs[i]); found != want || f.ContainsHash(hs[i]) != want {
					t.Fatalf("%d words, k = %d: %#x, want %t", w, k, hs[i], want)
				}
			}
			words[taken/64] ^= 1 << (taken % 64)
			for at := range set {
				words[at/64] &^= 1 << (at % 64)
			}
			if w <= 257 && slices.ContainsFunc(words[:w], func(word uint64) bool { return word != 0 }) {
				t.Fatalf("%d words, k = %d: %#x set other bits, too", w, k, hs)
			}
		}
		if w > 1<<16 {
			require.NoError(t, syscall.Madvise(region, syscall.MADV_DONTNEED))
		}
	}
}

// TestAssemblyReads puts keys, digests and answers next to pages that may be neither read nor
// written.
func TestAssemblyReads(t *testing.T) {
	size := os.Getpagesize()
	pages := filtertest.Mapping(t, 3*size)
	require.NoError(t, syscall.Mprotect(pages[:size], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(pages[2*size:], syscall.PROT_NONE))
	page := pages[size : 2*size]
	for i := range page {
		page[i] = byte(i * i >> 3)
	}
	f, large := bloom.Must(bloom.NewSize(1<<13, 7)), bloom.Must(bloom.NewSize(64*bloom.FetchWords, 7))
	for n := range 200 {
		for _, key := range [][]byte{page[:n], page[size-n:]} {
			f.Add(key)
			require.True(t, f.Contains(key), "%d bytes", n)
			require.True(t, f.ContainsHash(bloom.Sum(key)), "%d bytes", n)
		}
	}
	r := rand.New(rand.NewPCG(9, 10))
	for most := range 2 * bloom.DirectLen {
		keys, texts, want := make([][]byte, 3*most%20), []string(nil), []bloom.Hash{}
		for i := range keys {
			n := r.IntN(most + 1)
			if most%2 == 0 {
				n = most / 2 // keys of one length have separate code
			}
			if keys[i] = page[size-n:]; r.IntN(2) == 0 {
				keys[i] = page[:n]
			}
			texts, want = append(texts, unsafe.String(unsafe.SliceData(keys[i]), n)),
				append(want, bloom.Sum(keys[i]))
		}
		require.Equal(t, want, sumBatch(bloom.SumBatch, keys), "up to %d bytes", most)
		require.Equal(t, want, sumBatch(bloom.SumStringBatch, texts), "up to %d bytes", most)
	}
	for n := 1; n < 100; n++ {
		for _, atEnd := range []bool{false, true} {
			at := func(bytes int) unsafe.Pointer {
				if atEnd {
					return unsafe.Pointer(&page[size-bytes])
				}
				return unsafe.Pointer(&page[0])
			}
			keys := unsafe.Slice((*uint64)(at(8*n)), n)
			for i := range keys {
				keys[i] = r.Uint64()
			}
			hs := sumBatch(bloom.SumUint64Batch, keys)
			for i, h := range hs {
				require.Equal(t, bloom.SumUint64(keys[i]), h)
			}
			beside := unsafe.Slice((*bloom.Hash)(at(16*n)), n)
			bloom.SumUint64Batch(beside, slices.Clone(keys))
			require.Equal(t, hs, beside)
			for _, f := range []*bloom.Filter{f, large} {
				f.AddBatch(nil, beside)
				answers := unsafe.Slice((*bool)(at(n)), n)
				f.ContainsBatch(answers, hs)
				require.NotContains(t, answers, false, "%d keys", n)
				f.AddBatch(answers, hs)
				require.NotContains(t, answers, true, "%d keys", n)
				copy(beside, hs)
			}
		}
	}
}
