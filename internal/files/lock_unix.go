//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"syscall"
)

// claim locks file until file is closed, and reports whether file is still at its path. removeDead
// of another process may have removed it before. If files cannot be locked, claim returns true.
func claim(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) != nil || isAt(file, file.Name())
}

// isAt reports whether file is at path.
func isAt(file *os.File, path string) bool {
	there, err := os.Lstat(path)
	if err != nil {
		return false
	}
	mine, err := file.Stat()
	return err == nil && os.SameFile(mine, there)
}

// removeDead removes a file that no process has claimed.
func removeDead(path string) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer file.Close()
	// Another process may have removed the dead file and created its own since.
	// Only the lock's holder removes the file.
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil && isAt(file, path) {
		os.Remove(path)
	}
}

// ignoreUnsupported returns err, or nil if err says that a directory cannot be synced. Some network
// file systems sync directories by themselves.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
