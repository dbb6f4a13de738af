//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks file until it is closed. If another open file has the lock, flock waits for it if
// wait is true, and otherwise returns errBusy. On a file system without locks, its error wraps
// errors.ErrUnsupported.
func flock(file *os.File, wait bool) error {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(file.Fd()), how)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EWOULDBLOCK:
			return errBusy
		case err == unix.ENOLCK:
			err := os.NewSyscallError("flock", err)
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		return os.NewSyscallError("flock", err)
	}
}

// OpenThere is os.OpenFile, but does not follow a link at path, and does not wait for the other end
// of a pipe: where another user may write, the file that was looked at may be another one by now.
func OpenThere(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
}

// claim locks file until file is closed, and reports whether file is still at its path, where
// removeDead of another process may have removed it. If files cannot be locked, claim returns true.
func claim(file *os.File) bool {
	return flock(file, true) != nil || isAt(file, file.Name())
}

// removeDead removes a file that no process has claimed.
func removeDead(path string) {
	file, err := OpenThere(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	// Another process may have removed the dead file and created its own since. Only the lock's
	// holder removes the file.
	if flock(file, false) == nil && isAt(file, path) {
		os.Remove(path)
	}
}

// ignoreUnsupported returns err, or nil if err says that a directory cannot be synced, as on
// network file systems that sync directories by themselves.
func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
