//go:build linux && (amd64 || arm64) && !purego && !race && !msan && !asan

package splitblock

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe" // a mapping's bytes as digests

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestBitsAsSpecified: in filters of up to a tebibyte, a key sets the bits of the specification and
// no others.
func TestBitsAsSpecified(t *testing.T) {
	if testing.Short() && runtime.GOARCH != "amd64" {
		t.Skip("an emulator takes minutes for a tebibyte")
	}
	region := filtertest.Mapping(t, Max*Bytes)
	for _, n := range []int{1, 1 << 20, 1<<30 - 1, 1 << 30, 1<<30 + 1, 3 << 30, Max - 1, Max} {
		for lines := 1; lines <= MaxLines; lines++ {
			b := Of(bitwords.WordsOf(region, 0, n*each), lines)
			answer := make([]bool, 1)
			for _, h := range append(filtertest.Digests(uint64(n), 40), edges...) {
				hs, bits := []bloom.Hash{h}, specified(h, lines, uint64(n))
				for name, add := range adds {
					add(&b, answer, hs)
					require.True(t, answer[0], "%s is new to %d blocks", name, n)
					for name, look := range looks {
						if look(&b, answer, hs); name != "HasLine" {
							require.True(t, answer[0], "%s finds it in %d blocks", name, n)
						}
					}
					// A batch of one key is a single call.
					found := make([]bool, MaxLines+1)
					b.ContainsBatch(None, found, slices.Repeat(hs, len(found)))
					require.NotContains(t, found, false, "a batch finds it in %d blocks", n)
					for _, at := range bits {
						require.NotZero(t, b.Words[at.word]&at.bit)
					}
					for _, at := range bits {
						b.Words[at.word] &^= at.bit
					}
					for _, at := range bits { // no other bit of these words is set
						require.Zero(t, b.Words[at.word])
					}
				}
			}
		}
		require.NoError(t, syscall.Madvise(region, syscall.MADV_DONTNEED))
	}
}

// TestReadsNothingBeside puts keys, digests, answers and blocks next to pages that may not be
// touched.
func TestReadsNothingBeside(t *testing.T) {
	size := os.Getpagesize()
	guarded := func() []byte {
		pages := filtertest.Mapping(t, 3*size)
		require.NoError(t, syscall.Mprotect(pages[:size], syscall.PROT_NONE))
		require.NoError(t, syscall.Mprotect(pages[2*size:], syscall.PROT_NONE))
		return pages[size : 2*size]
	}
	page, words, answers := guarded(), bitwords.WordsOf(guarded(), 0, size/8), guarded()
	for lines := 1; lines <= MaxLines; lines++ {
		clear(words)
		b := Of(words, lines)
		for n := range 200 {
			for _, key := range [][]byte{page[:n], page[size-n:]} {
				b.AddKey(key)
				require.True(t, b.ContainsKey(key), "%d bytes", n)
				require.True(t, b.Contains(bloom.Sum(key)), "%d bytes", n)
			}
		}
		all := unsafe.Slice((*bloom.Hash)(unsafe.Pointer(&page[0])), size/16)
		copy(all, filtertest.Digests(1, len(all)))
		large := New(fetchBlocks, lines)
		for n := range all {
			for _, hs := range [][]bloom.Hash{all[:n], all[len(all)-n:]} {
				for _, found := range [][]byte{answers[:n], answers[size-n:]} {
					found := unsafe.Slice((*bool)(unsafe.Pointer(unsafe.SliceData(found))), n)
					for _, b := range []*Blocks{&b, &large} {
						b.AddBatch(None, found, hs)
						b.AddBatch(Writers, found, hs)
						b.ContainsBatch(None, found, hs)
						require.NotContains(t, found, false)
					}
				}
			}
		}
	}
}
