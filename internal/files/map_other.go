//go:build !unix && !windows

package files

import (
	"fmt"
	"io"
	"math"
	"os"
)

// maxRead is the size of the largest file that Map reads. WebAssembly has at most 4 GiB of memory.
const maxRead = math.MaxInt32

// Map is documented in map_unix.go. These systems have no memory maps, so it reads the file.
func Map(file *os.File, size int) ([]byte, error) {
	if size > maxRead {
		return nil, fmt.Errorf(
			"%s: %d bytes exceed %d, the limit of systems without memory maps",
			file.Name(), size, maxRead)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(file, 0, int64(size)), data)
	return data, err
}

// Unmap is documented in map_unix.go.
func Unmap([]byte) error { return nil }
