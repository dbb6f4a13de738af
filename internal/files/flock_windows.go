package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// flock is documented in flock_unix.go. Here it locks all bytes that the file can ever have.
func flock(file *os.File, wait bool) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	const all = 1<<32 - 1
	err := windows.LockFileEx(windows.Handle(file.Fd()), how, 0, all, all, &windows.Overlapped{})
	switch err {
	case windows.ERROR_LOCK_VIOLATION, windows.ERROR_IO_PENDING:
		return errBusy
	case windows.ERROR_INVALID_FUNCTION, windows.ERROR_NOT_SUPPORTED:
		err := os.NewSyscallError("LockFileEx", err)
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return os.NewSyscallError("LockFileEx", err)
}
