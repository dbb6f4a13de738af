//go:build unix

package files

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives file the owner, group and access-control list of the old file, as far as the
// system permits. It returns the permissions to set for file.
func keepOwner(file *os.File, old fs.FileInfo, list list) fs.FileMode {
	stat := old.Sys().(*syscall.Stat_t)
	uid, gid := int(stat.Uid), int(stat.Gid)
	ownGroup := file.Chown(uid, gid) == nil || file.Chown(-1, gid) == nil
	return keepList(file, list, old.Mode().Perm(), ownGroup)
}

// Nameless reports whether the file no longer has any name, and so ceases to exist once no process
// has it open. It returns false on systems that do not count names.
func Nameless(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
