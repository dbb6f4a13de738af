//go:build !purego && !race && !msan && !asan

package blocked

import (
	"encoding/binary"
	"os"
	"syscall"
	"testing"
	"unsafe" // a mapping's bytes as digests

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLargest: in filters of up to a tebibyte, a key has the bits that the specification
// says, and no others.
func TestLargest(t *testing.T) {
	region := testkit.Mapping(t, maxBlocks*blockBytes)
	for _, blocks := range []int{1, 1 << 20, 1<<30 - 1, 1 << 30, 1<<30 + 1, 3 << 30, maxBlocks - 1, maxBlocks} {
		for lines := 1; lines <= maxLines; lines++ {
			var f Filter
			f.set(memory.WordsOf(region, 0, blocks*blockWords), lines)
			s := SyncFilter{}
			s.set(f.words, lines)
			hs := append(testkit.Digests[bloom.Hash](uint64(blocks), 200), edges...)
			for i, h := range hs {
				switch i % 4 {
				case 0:
					require.True(t, f.AddHash(h))
				case 1:
					require.Equal(t, []bool{true}, testkit.Added(&f, hs[i:i+1]))
				case 2:
					require.True(t, s.AddHash(h))
				default:
					require.Equal(t, []bool{true}, testkit.Added(&s, hs[i:i+1]))
				}
				require.True(t, f.ContainsHash(h) && s.ContainsHash(h))
				require.True(t, testkit.Found(&f, hs[i:i+1])[0] && testkit.Found(&s, hs[i:i+1])[0])
				bits := specified(h, lines, uint64(blocks))
				for _, at := range bits {
					require.NotZero(t, f.words[at.word]&at.bit)
				}
				for _, at := range bits {
					f.words[at.word] &^= at.bit
				}
				for _, at := range bits { // no other was set beside them
					require.Zero(t, f.words[at.word])
				}
			}
		}
		require.NoError(t, syscall.Madvise(region, syscall.MADV_DONTNEED))
	}
}

// TestReads lays keys and digests beside pages that may not be read.
func TestReads(t *testing.T) {
	size := os.Getpagesize()
	pages := testkit.Mapping(t, 3*size)
	require.NoError(t, syscall.Mprotect(pages[:size], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(pages[2*size:], syscall.PROT_NONE))
	page := pages[size : 2*size]
	for lines := 1; lines <= maxLines; lines++ {
		f := bloom.Must(NewSize(fetchWords*64, lines))
		for n := range 200 {
			for _, key := range [][]byte{page[:n], page[size-n:]} {
				f.Add(key)
				require.True(t, f.Contains(key) && f.ContainsHash(bloom.Sum(key)), "%d bytes", n)
			}
		}
		all := unsafe.Slice((*bloom.Hash)(unsafe.Pointer(&page[0])), size/16)
		copy(all, testkit.Digests[bloom.Hash](1, len(all)))
		for n := range all {
			for _, hs := range [][]bloom.Hash{all[:n], all[len(all)-n:]} {
				f.AddBatch(nil, hs)
				require.NotContains(t, testkit.Found(f, hs), false)
			}
		}
	}
}

// TestStops stops all goroutines while a batch, a loop of single calls or Reset is at work.
// The loops are written out: a Go function in between would ask whether to stop.
func TestStops(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 150 MB")
	}
	f := bloom.Must(NewSize(1<<30, 2))
	sync := NewSyncFrom(f.Clone())
	keys, hs := make([][]byte, 1<<20), make([]bloom.Hash, 1<<20)
	for i := range hs {
		keys[i] = binary.LittleEndian.AppendUint64(nil, uint64(i))
		hs[i] = bloom.Sum(keys[i])
	}
	dst := make([]bool, len(hs))
	end := len(hs) - 1
	added := func(set bloom.Set) func() bool {
		return func() bool { return set.ContainsHash(hs[0]) && !set.ContainsHash(hs[end]) }
	}
	answered := func() bool { return dst[0] && !dst[end] }
	fill := func() { f.AddBatch(nil, hs); sync.AddBatch(nil, hs); clear(dst) }
	for _, test := range []struct {
		name          string
		prepare, call func()
		half          func() bool
	}{
		{"AddBatch", f.Reset, func() { f.AddBatch(nil, hs) }, added(f)},
		{"ContainsBatch", fill, func() { f.ContainsBatch(dst, hs) }, answered},
		{"Add", f.Reset, func() {
			for i, key := range keys {
				dst[i] = f.Add(key)
			}
		}, added(f)},
		{"AddHash", f.Reset, func() {
			for i, h := range hs {
				dst[i] = f.AddHash(h)
			}
		}, added(f)},
		{"Contains", fill, func() {
			for i, key := range keys {
				dst[i] = f.Contains(key)
			}
		}, answered},
		{"ContainsHash", fill, func() {
			for i, h := range hs {
				dst[i] = f.ContainsHash(h)
			}
		}, answered},
		{"SyncFilter.Add", sync.Reset, func() {
			for i, key := range keys {
				dst[i] = sync.Add(key)
			}
		}, added(sync)},
		{"SyncFilter.AddHash", sync.Reset, func() {
			for i, h := range hs {
				dst[i] = sync.AddHash(h)
			}
		}, added(sync)},
		{"SyncFilter.Contains", fill, func() {
			for i, key := range keys {
				dst[i] = sync.Contains(key)
			}
		}, answered},
		{"SyncFilter.ContainsHash", fill, func() {
			for i, h := range hs {
				dst[i] = sync.ContainsHash(h)
			}
		}, answered},
		{"Reset", func() { f.words[0], f.words[len(f.words)-1] = 1, 1 }, f.Reset,
			func() bool { return f.words[0] == 0 && f.words[len(f.words)-1] == 1 }},
	} {
		t.Run(test.name, func(t *testing.T) { testkit.Stops(t, test.prepare, test.call, test.half) })
	}
}
