//go:build unix

package files

import (
	"os"
	"syscall"
)

// Map returns the first size bytes of file, at least one, read-only and
// read on demand where the system can do that. They stay after file is closed,
// until Unmap.
func Map(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

func Unmap(data []byte) error { return syscall.Munmap(data) }
