//go:build !unix && !windows

package bloom

import (
	"io"
	"os"
)

// mapFile is described in mmap_unix.go. There being no maps, it reads.
func mapFile(file *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(file, 0, int64(size)), data)
	return data, err
}

func unmapFile([]byte) error { return nil }
