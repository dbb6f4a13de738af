//go:build !unix && !windows

package memory

import (
	"io"
	"os"
)

// Map is described in map_unix.go. There being no maps, it reads.
func Map(file *os.File, size int) ([]byte, error) {
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(file, 0, int64(size)), data)
	return data, err
}

func Unmap([]byte) error { return nil }
