//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives file the owner, group and access-control list of the old file at path, as far as
// the system permits. It returns the permissions to set for file.
func keepOwner(file *os.File, path string, old fs.FileInfo) (fs.FileMode, error) {
	perm := old.Mode().Perm()
	stat, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return perm, nil
	}
	uid, gid := int(stat.Uid), int(stat.Gid)
	ownGroup := file.Chown(uid, gid) == nil || file.Chown(-1, gid) == nil
	return keepList(file, path, perm, ownGroup)
}

// Nameless reports whether the file no longer has any name, and so ceases to exist once no process
// has it open. It returns false on systems that do not count names.
func Nameless(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
