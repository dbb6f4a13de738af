//go:build unix

package files

import (
	"os"
	"syscall"
)

// Map returns the first size bytes of file; size is positive. The bytes are read on demand if the
// system has maps. They must not be written to, and are valid until Unmap, even if file is closed.
func Map(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

// Unmap releases data, which Map returned.
func Unmap(data []byte) error { return syscall.Munmap(data) }
