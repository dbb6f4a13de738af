package filtertest

import (
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mapping returns the given number of bytes of address space. Only pages that are written to use
// memory. If the system has too little, Mapping skips t.
func Mapping(t testing.TB, bytes int) []byte {
	t.Helper()
	m, err := syscall.Mmap(-1, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Skipf("cannot map %d bytes: %v", bytes, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	return m
}

// Faults runs f, and reports whether it touched memory that it may not.
func Faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	f()
	return false
}
