//go:build !unix && !windows

package files

import (
	"fmt"
	"io"
	"math"
	"os"
)

// maxRead is the largest file that Map reads. Memory that a system does not grant ends
// the process, and WebAssembly has 4 GiB at most.
const maxRead = math.MaxInt32

// Map is described in map_unix.go. There being no maps, it reads.
func Map(file *os.File, size int) ([]byte, error) {
	if size > maxRead {
		return nil, fmt.Errorf("%s: %d bytes are more than the %d that are read where there are no maps", file.Name(), size, maxRead)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(io.NewSectionReader(file, 0, int64(size)), data)
	return data, err
}

func Unmap([]byte) error { return nil }
