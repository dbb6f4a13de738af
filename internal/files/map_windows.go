package files

import (
	"os"
	"syscall"
	"unsafe"
)

// Map is documented in map_unix.go.
func Map(file *os.File, size int) ([]byte, error) {
	mapping, err := syscall.CreateFileMapping(
		syscall.Handle(file.Fd()), nil, syscall.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer syscall.CloseHandle(mapping) // the view keeps the mapping open
	addr, err := syscall.MapViewOfFile(mapping, syscall.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	// addr is an integer, the address of memory that Go does not manage. go vet accepts the
	// conversion of addr's own address, but not of addr.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size), nil
}

// Unmap is documented in map_unix.go.
func Unmap(data []byte) error {
	return os.NewSyscallError("UnmapViewOfFile",
		syscall.UnmapViewOfFile(uintptr(unsafe.Pointer(&data[0]))))
}
