//go:build unix

package files

import (
	"os"
	"syscall"
)

// Map returns the first size bytes of file; size is positive. The bytes must not be written to.
// They stay valid until Unmap, even if file is closed. If the system has maps, it reads them on
// demand.
func Map(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

// Unmap releases data, which Map returned.
func Unmap(data []byte) error { return syscall.Munmap(data) }
