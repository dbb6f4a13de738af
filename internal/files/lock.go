package files

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Saving replaces a file, so a lock on the file itself would be lost. Lock therefore locks an empty
// file in the same directory, and unlock removes that file:
//
//	create  a new file, or open the existing one
//	lock    it
//	check   that it is still at its path; if not, start again
//	...
//	remove  the file
//	unlock  it (on Windows, before it is removed; see release)
//
// A process that opened the file before it was removed, and locks it afterwards, finds at "check"
// that it is gone. A killed process leaves the file unlocked; the next process locks it, and
// eventually removes it. In a directory where other users may write, the path may become a link at
// any moment. So links are not followed (except on Windows, where few users may create them, and on
// systems without locks), and permissions are changed only through the handle of a file that this
// process created.

// Lock is documented in package file.
func Lock(ctx context.Context, path string) (target string, unlock func() error, err error) {
	if path == "" {
		return "", nil, errors.New("the path is empty")
	}
	target, err = Follow(path)
	if err != nil {
		return "", nil, err
	}
	unlock, err = lock(ctx, target)
	return target, unlock, err
}

// lock is like Lock, but path must not be a symbolic link.
func lock(ctx context.Context, path string) (unlock func() error, err error) {
	name := LockName(path)
	for failed := 0; ; {
		file, err := tryLock(name)
		if file != nil {
			held.Store(file, nil)
			return sync.OnceValue(func() error { return release(file, name) }), nil
		}
		if err == nil {
			failed = 0
		} else if failed++; failed > retries || !mayPass(err, name) {
			return nil, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s is locked by another process: %w", path, ctx.Err())
		}
	}
}

// retries limits how many times in a row Lock tries again after an error that may pass: for about
// five seconds.
var retries = 250

// held keeps the files of all locks reachable, because the garbage collector would close the file
// of a lock that is never released.
var held sync.Map

// LockName returns the path of the file that Lock locks for path, which must not be a symbolic
// link.
func LockName(path string) string { return beside(path, "bloom-lock") }

// beside returns the path of a hidden file in the directory of path. If path's name is long, a
// checksum replaces the end of the name.
func beside(path, suffix string) string {
	const longest = 200
	dir, name := filepath.Split(path)
	if len(name) > longest {
		sum := fnv.New64a()
		sum.Write([]byte(name))
		// Some file systems refuse names that are not valid UTF-8.
		begin := strings.ToValidUTF8(name[:longest-20], "")
		name = fmt.Sprintf("%s-%016x", begin, sum.Sum64())
	}
	return filepath.Join(dir, "."+name+"."+suffix)
}

// Follow returns the path to which the symbolic links at path lead, or path if it is not a link. So
// a file has the same lock at all symbolic links to it. There may be no file at the returned path.
func Follow(path string) (string, error) {
	for range 40 {
		target, err := os.Readlink(path)
		if err != nil { // not a link
			return filepath.Clean(path), nil
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		path = target
		if !filepath.IsAbs(target) {
			path = filepath.Join(dir, target)
		}
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// tryLock returns no file and no error if the lock is held, or if its file has just been removed.
func tryLock(name string) (*os.File, error) {
	file, created, err := openLock(name)
	if file == nil {
		return nil, err
	}
	err = flock(file, false)
	if err == nil && isAt(file, name) {
		return file, nil
	}
	if created && errors.Is(err, errors.ErrUnsupported) {
		os.Remove(name)
	}
	file.Close()
	if errors.Is(err, errBusy) {
		return nil, nil
	}
	return nil, err
}

// openLock opens or creates the file at name. It returns no file and no error if the file has just
// been removed.
func openLock(name string) (file *os.File, created bool, err error) {
	file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		file.Chmod(0o666) // regardless of the umask, so that other users can also lock it
		return file, true, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, false, err
	}
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("not a regular file, but of mode %v", info.Mode())
		err = &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	if err == nil {
		file, err = OpenThere(name, os.O_RDWR, 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return file, false, err
}

// release removes a lock's file before it unlocks the file, except on Windows.
func release(file *os.File, name string) error {
	held.Delete(file)
	if runtime.GOOS == "windows" {
		// On Windows, Remove fails while another process has the file open, so it cannot remove a
		// file that another process has locked.
		err := file.Close()
		os.Remove(name)
		return err
	}
	var err error
	if isAt(file, name) {
		err = os.Remove(name)
	}
	return errors.Join(err, file.Close())
}

// mayPass reports whether another try may succeed despite err. Windows cannot open a file that is
// being removed. On other systems, another user may just have created the file, and not yet set its
// permissions.
func mayPass(err error, name string) bool {
	info, missing := os.Lstat(name)
	if runtime.GOOS == "windows" {
		other := missing == nil && !info.Mode().IsRegular() // a directory or a link
		return !other && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist)
	}
	return errors.Is(err, fs.ErrPermission) && missing == nil
}

// isAt reports whether path names file itself, not a link to it.
func isAt(file *os.File, path string) bool {
	there, _ := os.Lstat(path)
	mine, _ := file.Stat()
	return os.SameFile(mine, there) // false if one of them is nil
}

var errBusy = errors.New("locked by another process")
