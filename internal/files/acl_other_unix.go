//go:build unix && !linux

package files

import (
	"io/fs"
	"os"
)

// keepList is documented in acl_linux.go. Here it copies no list.
func keepList(_ *os.File, _ string, perm fs.FileMode, ownGroup bool) (fs.FileMode, error) {
	return lessGroup(perm, ownGroup), nil
}
