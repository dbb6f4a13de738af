//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// flock locks file; closing the file unlocks it. If another open file holds the lock, flock waits
// if wait is true, and otherwise returns errBusy. On a file system without locks, the error wraps
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

// OpenThere is like os.OpenFile, but does not follow a symbolic link at path, and does not wait
// until the other end of a pipe is open. In a directory where other users may write, a link or a
// pipe may have replaced the file since the caller examined it.
func OpenThere(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK, perm)
}

// claim locks file until it is closed. It returns false if another Write has removed the file with
// removeDead. If files cannot be locked, claim returns true.
func claim(file *os.File) bool {
	return flock(file, true) != nil || isAt(file, file.Name())
}

// removeDead removes the file at path, unless a process has claimed it or it cannot be locked.
func removeDead(path string) {
	file, err := OpenThere(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	// Another process may have replaced the abandoned file with its own in the meantime. Only the
	// holder of a file's lock may remove the file.
	if flock(file, false) == nil && isAt(file, path) {
		os.Remove(path)
	}
}

// ignoreUnsupported ignores the error of a file system that cannot sync directories. Some network
// file systems always write directories to disk at once.
func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}
