package bitwords

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestHugePages: hugePages returns all pages that lie wholly within the words, and no others.
func TestHugePages(t *testing.T) {
	const size = 2 << 20
	words := make([]uint64, 4*hugeBytes/8)
	for _, from := range []int{0, 1, 7, 511, size/8 - 1, size / 8} {
		for _, n := range []int{hugeBytes / 8, hugeBytes/8 + 1, 2*hugeBytes/8 - 1, 2 * hugeBytes / 8} {
			part := words[from : from+n]
			start := uintptr(unsafe.Pointer(&part[0]))
			pages := hugePages(part)
			first := uintptr(unsafe.Pointer(&pages[0]))
			require.Zero(t, first%size)
			require.Zero(t, len(pages)%size)
			require.Less(t, first-start, uintptr(size))
			end := start + uintptr(8*n)
			require.LessOrEqual(t, first+uintptr(len(pages)), end)
			require.Less(t, end-first-uintptr(len(pages)), uintptr(size))
		}
	}
}
