//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package files

import (
	"errors"
	"os"
	"syscall"
)

// claim locks file for as long as it is open, and reports whether it is still
// there: removeDead of another process may have come first. Where files cannot
// be locked it reports true.
func claim(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX) != nil || isAt(file, file.Name())
}

// isAt reports whether file is the one at path.
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

// ignoreUnsupported returns err unless it says that a directory cannot be synced:
// some network file systems do that by themselves.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
