// Package files replaces a file as a whole: after a crash at any moment the path holds the
// old content or all of the new. It also maps files.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces the file at path, or creates it, with what write writes. Once
// it has returned nil the content is on disk, where the system can say so: not on
// Windows, Plan 9 and WebAssembly, whose directories cannot be synced.
//
// The content goes to a new file in the same directory, named
// .NAME.bloom-tmp-*, which is synced and renamed. Write removes that file if it
// fails. A process that is killed leaves it behind, for the next Write to path
// to remove.
//
// A new file has the permissions that os.Create gives. One that replaces another
// has the old one's permissions, which Write reads first; until it is whole,
// only its owner may read it. It has the old one's owner and group where the
// system permits that. Where it does not keep the group, the group may do what
// others may. A symbolic link is replaced itself, by a file that has the permissions and
// the owner of the file that it leads to. Write refuses to replace anything else that is no
// regular file. It also refuses if it may not read the directory, which it must open to sync it.
func Write(path string, write func(io.Writer) error) (err error) {
	old, err := regular(path)
	if err != nil {
		return err
	}
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.close()
	prefix := prefix(path)
	clean(prefix)

	file, err := create(prefix, old)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if old != nil {
		if err := file.Chmod(keepOwner(file, old)); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	// Elsewhere the file's lock shows others that it is in use until it has its
	// name.
	if runtime.GOOS == "windows" {
		if err := file.Close(); err != nil {
			return err
		}
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	if runtime.GOOS != "windows" {
		if err := file.Close(); err != nil {
			return err
		}
	}
	return dir.sync()
}

// regular returns the regular file at path, or the one that a symbolic link there leads to.
// It returns nil if there is none.
func regular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case path == "":
		return nil, err // Dir and Base would make it the current directory
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		if info, err = os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return nil, nil
		}
	case !info.Mode().IsRegular():
		err := fmt.Errorf("not a regular file but %v", info.Mode())
		return nil, &fs.PathError{Op: "replace", Path: path, Err: err}
	}
	return info, nil
}

// prefix returns what the paths of path's temporary files begin with. A long
// name is cut to leave room for the rest.
func prefix(path string) string {
	name := filepath.Base(path)
	return filepath.Join(filepath.Dir(path), "."+name[:min(len(name), 200)]+".bloom-tmp-")
}

// create creates a file for this process alone. The file is private if it is to replace another,
// because the other may be private.
func create(prefix string, old fs.FileInfo) (*os.File, error) {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600
	}
	for i := 0; ; i++ {
		file, err := os.OpenFile(temporary(prefix, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue // another Write to the same path
		}
		if err != nil || claim(file) {
			return file, err
		}
		file.Close() // another process took it for a dead one's, and removed it
	}
}

// temporary returns the path of a temporary file. They are numbered, so that dead ones
// are found without listing the directory, which may be large.
func temporary(prefix string, i int) string { return fmt.Sprintf("%s%d", prefix, i) }

// cleaned is the number of temporary files that clean looks for. There are more only while more
// Writes to one path run at once.
const cleaned = 16

// directory is nil where directories are not opened.
type directory struct{ file *os.File }

func openDir(path string) (directory, error) {
	switch runtime.GOOS {
	case "windows", "plan9", "js", "wasip1":
		return directory{}, nil
	}
	file, err := os.Open(path)
	return directory{file}, err
}

func (d directory) close() {
	if d.file != nil {
		d.file.Close()
	}
}

// sync makes a rename durable.
func (d directory) sync() error {
	if d.file == nil {
		return nil
	}
	return ignoreUnsupported(d.file.Sync())
}

// clean removes what dead processes left of their temporary files. Nothing
// depends on it, so it has no error.
func clean(prefix string) {
	for i := range cleaned {
		path := temporary(prefix, i)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			removeDead(path)
		}
	}
}
