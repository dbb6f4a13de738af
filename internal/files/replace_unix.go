//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// renames returns an error if it can tell that Write could not create a file in the directory of
// path, rename it to path, or open the directory to sync it. old is the result of regular(path).
func renames(path string, old fs.FileInfo) error {
	dir := filepath.Dir(path)
	info, err := os.Stat(dir)
	if err != nil {
		return refusal(path, err, "it needs the directory %s", dir)
	}
	if err := writable(dir); err != nil {
		return refusal(path, err, "it is replaced by a new file, "+
			"but this user may not create files in the directory %s: permit that", dir)
	}
	if err := attributes(path, dir); err != nil {
		return err
	}
	opened, err := openDir(dir)
	if err != nil {
		return refusal(path, err, "the directory %s must be synced, "+
			"but this user may not read it: permit that", dir)
	}
	opened.close()
	if old == nil {
		return nil
	}
	us := os.Geteuid()
	if info.Mode()&fs.ModeSticky != 0 && us != 0 && owner(info) != us && owner(old) != us {
		return refusal(path, syscall.EPERM, "it belongs to another user, "+
			"and only its owner may replace a file in the sticky directory %s", dir)
	}
	return nil
}

func owner(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

func refusal(path string, cause error, text string, args ...any) error {
	if pathErr := (*fs.PathError)(nil); errors.As(cause, &pathErr) {
		cause = pathErr.Err
	}
	err := fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), cause)
	return &fs.PathError{Op: "replace", Path: path, Err: err}
}

// lessGroup returns perm if the file has kept its group. If not, members of the new group were
// others before, and members of the old group become others, so lessGroup removes the permissions
// that only one of the two has.
func lessGroup(perm fs.FileMode, ownGroup bool) fs.FileMode {
	if ownGroup {
		return perm
	}
	both := perm >> 3 & perm & 0o007
	return perm&0o700 | both<<3 | both
}

var errMounted = errors.New("it is a mount point, as after docker run -v FILE:FILE: " +
	"mount its directory")
