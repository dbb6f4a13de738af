//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepOwner is documented in owner_unix.go.
func keepOwner(_ *os.File, old fs.FileInfo, _ list) fs.FileMode { return old.Mode().Perm() }

// renames is documented in replace_unix.go. Here it checks nothing, and the rename itself may fail.
func renames(string, fs.FileInfo) error { return nil }

// Nameless is documented in owner_unix.go.
func Nameless(fs.FileInfo) bool { return false }
