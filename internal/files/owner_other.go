//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepOwner is described in owner_unix.go.
func keepOwner(_ *os.File, _ string, old fs.FileInfo) (fs.FileMode, error) {
	return old.Mode().Perm(), nil
}

// renames is described in replace_unix.go. Here the rename finds out.
func renames(string, fs.FileInfo) error { return nil }

// Nameless is described in owner_unix.go.
func Nameless(fs.FileInfo) bool { return false }
