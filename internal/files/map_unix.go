//go:build unix

package files

import (
	"os"
	"syscall"
)

// Map returns the first size bytes of file. size must be positive. On systems that have memory
// maps, the bytes are read on demand. They must not be written to, and are valid until Unmap, even
// after file is closed.
func Map(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

// Unmap releases data, which must be a result of Map.
func Unmap(data []byte) error { return syscall.Munmap(data) }
