package files

import (
	"os"
	"syscall"
	"unsafe"
)

// Map is described in map_unix.go.
func Map(file *os.File, size int) ([]byte, error) {
	mapping, err := syscall.CreateFileMapping(syscall.Handle(file.Fd()), nil, syscall.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	defer syscall.CloseHandle(mapping) // the view keeps it
	addr, err := syscall.MapViewOfFile(mapping, syscall.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	// The system hands out memory that Go does not manage as an integer. By way
	// of addr's own address the conversion passes go vet, which takes any other
	// for a mistake.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), size), nil
}

func Unmap(data []byte) error {
	return os.NewSyscallError("UnmapViewOfFile", syscall.UnmapViewOfFile(uintptr(unsafe.Pointer(&data[0]))))
}
