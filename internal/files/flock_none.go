//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package files

import (
	"errors"
	"os"
)

// flock is documented in flock_unix.go. These systems have no such locks.
func flock(*os.File, bool) error { return errors.ErrUnsupported }
