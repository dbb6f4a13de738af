package bloom_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"unsafe" // for mincore

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// TestOpenFileLarge: to open a file of a gigabyte and to look a key up reads and allocates little.
func TestOpenFileLarge(t *testing.T) {
	const words = 1 << 27
	path := filepath.Join(t.TempDir(), "f")
	writeFile(t, path, binary.BigEndian.AppendUint32([]byte{1, 7}, words))
	require.NoError(t, os.Truncate(path, form.HeaderSize+8*words))

	var file *bloom.View
	require.Less(t, filtertest.Allocated(func() {
		file = bloom.Must(bloom.OpenFile(path))
	}), uint64(1<<20))
	defer file.Close()
	file.ContainsString("key")

	pages := make([]byte, (len(bloom.DataOf(file))+os.Getpagesize()-1)/os.Getpagesize())
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE,
		uintptr(unsafe.Pointer(&bloom.DataOf(file)[0])), uintptr(len(bloom.DataOf(file))),
		uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		t.Skipf("mincore: %v", errno)
	}
	read := 0
	for _, in := range pages {
		read += int(in & 1)
	}
	t.Logf("%d of %d pages were read", read, len(pages))
	require.Positive(t, read)
	// The system reads ahead around each page, by some hundred KiB.
	require.Less(t, read, len(pages)/20)
}
