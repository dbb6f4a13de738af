package filtertest

import (
	"runtime/debug"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Mapping returns a slice of the given number of zero bytes, which is valid until t ends. Only the
// pages that are written to take memory. Mapping skips t if the system cannot map that many bytes.
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

// Faults reports whether f panics. An access to protected memory also panics, instead of ending the
// process.
func Faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	f()
	return false
}
