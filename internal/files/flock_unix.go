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

// OpenThere is like os.OpenFile, but does not follow a link at path, and does not wait for the
// other end of a pipe. Where other users may write, they may have replaced the file since it was
// examined.
func OpenThere(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
}

// claim locks file until it is closed, and reports whether it is still at its path; another
// process's removeDead may have removed it. If files cannot be locked, claim returns true.
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
	// Another process may have removed the abandoned file and created its own. Only the holder of
	// the lock removes a file.
	if flock(file, false) == nil && isAt(file, path) {
		os.Remove(path)
	}
}

// ignoreUnsupported returns err, or nil if err says that the file system cannot sync directories.
// Some network file systems sync them without being asked.
func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
