//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepOwner is documented in owner_unix.go.
func keepOwner(_ *os.File, _ string, old fs.FileInfo) (fs.FileMode, error) {
	return old.Mode().Perm(), nil
}

// renames is documented in replace_unix.go. Here it checks nothing, and the rename itself may fail.
func renames(string, fs.FileInfo) error { return nil }

// Nameless is documented in owner_unix.go.
func Nameless(fs.FileInfo) bool { return false }
