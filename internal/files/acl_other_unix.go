//go:build unix && !linux

package files

import (
	"io/fs"
	"os"
)

// keepList is documented in acl_linux.go. Here it copies no list.
func keepList(_ *os.File, _ list, perm fs.FileMode, ownGroup bool) fs.FileMode {
	return lessGroup(perm, ownGroup)
}
