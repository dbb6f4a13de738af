//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives file the owner and the group of old, as far as the system permits. It returns the
// permissions that file must get.
func keepOwner(file *os.File, old fs.FileInfo) fs.FileMode {
	perm := old.Mode().Perm()
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return perm
	}
	if file.Chown(int(was.Uid), int(was.Gid)) == nil || file.Chown(-1, int(was.Gid)) == nil {
		return perm
	}
	// The new group gets no more than others have.
	return perm&^0o070 | perm&0o007<<3
}

// Nameless reports whether the file of info has lost its last name, so that it is gone once it is
// closed everywhere. It returns false on systems that do not count names.
func Nameless(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
