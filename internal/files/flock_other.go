//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package files

import (
	"os"
	"time"
)

// OpenThere is described in flock_unix.go. This one follows links, which few users of these systems
// are permitted to create.
func OpenThere(path string, flag int, perm os.FileMode) (*os.File, error) {
	return os.OpenFile(path, flag, perm)
}

// claim is described in flock_unix.go. Windows cannot rename an open file, so a file loses its lock
// before it gets its name; other systems have no locks. Therefore removeDead goes by a file's age.
func claim(*os.File) bool { return true }

// removeDead removes a file that was not written to for a day.
func removeDead(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
		os.Remove(path)
	}
}

func ignoreUnsupported(err error) error { return err }
