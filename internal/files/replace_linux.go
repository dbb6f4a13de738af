package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// writable returns an error if this process is not permitted to create files in dir.
func writable(dir string) error {
	err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	if err == unix.ENOSYS || err == unix.EINVAL {
		return nil
	}
	return err
}

// attributes returns an error if an attribute of the file at path, or of its directory, prevents
// everybody from replacing the file.
func attributes(path, dir string) error {
	file := statx(path, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case file&unix.STATX_ATTR_MOUNT_ROOT != 0:
		return &os.PathError{Op: "replace", Path: path, Err: errMounted}
	case file&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0:
		return refusal(path, unix.EPERM,
			"it is immutable or append-only (chattr -ia %s undoes that)", path)
	}
	if statx(dir, 0)&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0 {
		return refusal(path, unix.EPERM,
			"its directory is immutable or append-only (chattr -ia %s undoes that)", dir)
	}
	return nil
}

// statx returns 0 if the attributes are unknown.
func statx(path string, flags int) (attributes uint64) {
	var x unix.Statx_t // remains zero if Statx fails
	_ = unix.Statx(unix.AT_FDCWD, path, flags, unix.STATX_BASIC_STATS, &x)
	return x.Attributes & x.Attributes_mask
}
