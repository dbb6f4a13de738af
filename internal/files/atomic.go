// Package files replaces a file as a whole: after a crash, the path holds either the old content or
// all of the new content. The package also locks files against other processes, and maps them.
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

// Write writes the output of encode to the file at path, which it replaces or creates. "Files" in
// package bloom documents its promises about crashes, temporary files, permissions, owners and
// links. If the new file cannot have the old file's group, its group and others get only what both
// had. On systems that can sync directories, Write does so, and fails if it is not permitted to open
// the directory.
func Write(path string, encode func(io.Writer) error) error {
	return replace(path, func() error { return nil }, encode)
}

// replace is like Write, but calls check immediately before it renames the new file, and stops if
// check returns an error.
func replace(path string, check func() error, write func(io.Writer) error) (err error) {
	old, err := regular(path)
	if err != nil {
		return err
	}
	if err := renames(path, old); err != nil {
		return err
	}
	var list list
	if old != nil { // read now, because the file may be removed while write runs
		if list, err = listOf(path); err != nil {
			return err
		}
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
		if err := file.Chmod(keepOwner(file, old, list)); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	afterSync()
	// Windows cannot rename an open file. On other systems, closing it now would release a lock that
	// claim took.
	if runtime.GOOS == "windows" {
		if err := file.Close(); err != nil {
			return err
		}
	}
	if err := check(); err != nil {
		return err
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

// A program that writes to a link to a special file, such as /dev/stdout, does not mean to replace
// the link.
const special = fs.ModeDevice | fs.ModeCharDevice | fs.ModeNamedPipe | fs.ModeSocket |
	fs.ModeIrregular

// Replaceable returns an error if it can tell, without trying, that Write would fail to replace or
// create the file at path. Callers use it before long work that ends in Write.
func Replaceable(path string) error {
	old, err := regular(path)
	if err != nil {
		return err
	}
	return renames(path, old)
}

// regular returns the FileInfo of the regular file to which path leads, or nil if there is none. It
// returns an error if Write must not replace what is at path.
func regular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case path == "":
		return nil, err // filepath.Dir("") is the current directory
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		info, err = os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil: // for example, links that lead to each other
			return nil, err
		case info.Mode()&special != 0:
			err := fmt.Errorf("it leads to a file that is not regular, with the mode %v", info.Mode())
			return nil, &fs.PathError{Op: "replace", Path: path, Err: err}
		case !info.Mode().IsRegular():
			return nil, nil
		}
	case !info.Mode().IsRegular():
		err := fmt.Errorf("not a regular file, but of mode %v", info.Mode())
		return nil, &fs.PathError{Op: "replace", Path: path, Err: err}
	}
	return info, nil
}

// prefix returns the path of a temporary file, without its number.
func prefix(path string) string { return beside(path, "bloom-tmp-") }

// create creates and claims a temporary file to replace old, which may be nil. The old file may be
// private, so only the owner may read its replacement at first.
func create(prefix string, old fs.FileInfo) (*os.File, error) {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600
	}
	for i := 0; ; i++ {
		file, err := os.OpenFile(temporary(prefix, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue // another Write may be using this file
		}
		if err != nil || claim(file) {
			return file, err
		}
		file.Close() // another Write took the file for an abandoned one, and removed it
	}
}

// temporary returns a numbered path, so that clean finds abandoned files without listing the
// directory, which may be large.
func temporary(prefix string, i int) string { return fmt.Sprintf("%s%d", prefix, i) }

// cleaned is the number of temporary files that clean looks for.
const cleaned = 16

type directory struct{ file *os.File } // nil on systems that cannot sync directories

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

// SyncDir syncs the directory of path, so that the file's name survives a crash. It does nothing on
// systems that cannot sync directories.
func SyncDir(path string) error {
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.close()
	return dir.sync()
}

// sync makes a rename in the directory durable.
func (d directory) sync() error {
	if d.file == nil {
		return nil
	}
	return ignoreUnsupported(d.file.Sync())
}

// clean removes abandoned temporary files.
func clean(prefix string) {
	for i := range cleaned {
		path := temporary(prefix, i)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			removeDead(path)
		}
	}
}
