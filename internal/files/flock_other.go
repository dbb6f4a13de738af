//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"os"
	"time"
)

// OpenThere is documented in flock_unix.go. Here it follows links; on Windows few users may create
// them.
func OpenThere(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}

// claim is documented in flock_unix.go. Here it does nothing: on Windows, Write closes the file,
// and so would unlock it, before the rename; the other systems have no locks. So removeDead decides
// by age.
func claim(*os.File) bool { return true }

func removeDead(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		os.Remove(path)
	}
}

func ignoreUnsupported(err error) error { return err }
