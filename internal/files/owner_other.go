//go:build !unix

package files

import (
	"io/fs"
	"os"
)

// keepOwner is described in owner_unix.go.
func keepOwner(_ *os.File, old fs.FileInfo) fs.FileMode { return old.Mode().Perm() }

// Nameless is described in owner_unix.go.
func Nameless(fs.FileInfo) bool { return false }
