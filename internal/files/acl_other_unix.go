//go:build unix && !linux

package files

import (
	"io/fs"
	"os"
)

// keepList is described in acl_linux.go. Here no list is copied.
func keepList(_ *os.File, _ string, perm fs.FileMode, ownGroup bool) (fs.FileMode, error) {
	return lessGroup(perm, ownGroup), nil
}
