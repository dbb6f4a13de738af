// Package files replaces a file as a whole: after a crash at any moment the path holds the old
// content or all of the new content. It also locks files against other processes, and maps them.
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

// Write replaces or creates the file at path with the output of encode. bloom.Filter's SaveFile
// says what that promises: durability, temporary files, permissions, owners and links.
//
// If the new file cannot keep the old one's group, its group gets only the permissions that others
// have. Write fails if it may not open the directory, which it syncs.
func Write(path string, encode func(io.Writer) error) error {
	_, err := replace(path, func() error { return nil }, encode)
	return err
}

// replace is like Write, but calls check immediately before it renames the new file, and stops if
// check returns an error. It returns the FileInfo of the new file.
func replace(path string, check func() error, write func(io.Writer) error) (
	info fs.FileInfo, err error,
) {
	old, err := regular(path)
	if err != nil {
		return nil, err
	}
	if err := renames(path, old); err != nil {
		return nil, err
	}
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.close()
	prefix := prefix(path)
	clean(prefix)

	file, err := create(prefix, old)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if err := write(file); err != nil {
		return nil, err
	}
	if old != nil {
		perm, err := keepOwner(file, path, old)
		if err != nil {
			return nil, err
		}
		if err := file.Chmod(perm); err != nil {
			return nil, err
		}
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	afterSync()
	// Windows does not rename an open file. Elsewhere the file stays open until it has its name,
	// because its lock shows other processes that it is in use.
	if runtime.GOOS == "windows" {
		if err := file.Close(); err != nil {
			return nil, err
		}
	}
	if err := check(); err != nil {
		return nil, err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" {
		info, err = os.Stat(path)
	} else if info, err = file.Stat(); err == nil {
		err = file.Close()
	}
	if err != nil {
		return nil, err
	}
	return info, dir.sync()
}

// special are devices, pipes and sockets: a program that writes to a link to one, such as
// /dev/stdout, does not mean the link.
const special = fs.ModeDevice | fs.ModeCharDevice | fs.ModeNamedPipe | fs.ModeSocket |
	fs.ModeIrregular

// Replaceable returns an error if Write could not replace or create the file at path, as far as that
// can be known without trying. It is for callers with much work before Write.
func Replaceable(path string) error {
	old, err := regular(path)
	if err != nil {
		return err
	}
	return renames(path, old)
}

// regular returns the file at path, which must be a regular file or a symbolic link to one, or nil
// if there is none.
func regular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case path == "":
		return nil, err // filepath.Dir and filepath.Base would make it the current directory
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
			err := fmt.Errorf("it leads to no regular file but %v", info.Mode())
			return nil, &fs.PathError{Op: "replace", Path: path, Err: err}
		case !info.Mode().IsRegular():
			return nil, nil
		}
	case !info.Mode().IsRegular():
		err := fmt.Errorf("not a regular file but %v", info.Mode())
		return nil, &fs.PathError{Op: "replace", Path: path, Err: err}
	}
	return info, nil
}

// prefix returns the common start of the paths of all temporary files for path.
func prefix(path string) string { return beside(path, "bloom-tmp-") }

// create creates and claims a temporary file. old is the file that it is to replace, or nil. If
// there is an old file, which may be private, only the owner may read the new one.
func create(prefix string, old fs.FileInfo) (*os.File, error) {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600
	}
	for i := 0; ; i++ {
		file, err := os.OpenFile(temporary(prefix, i), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue // another Write to path has this file
		}
		if err != nil || claim(file) {
			return file, err
		}
		file.Close() // another process removed the file, which looked abandoned
	}
}

// temporary returns the path of temporary file number i. Numbered names let clean find abandoned
// files without listing the directory, which may be large.
func temporary(prefix string, i int) string { return fmt.Sprintf("%s%d", prefix, i) }

// cleaned is how many temporary files clean looks for. There are more only while more Writes to one
// path run concurrently.
const cleaned = 16

// directory is an open directory. Its file is nil on systems that cannot sync directories.
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

// SyncDir returns once the name of the file at path is on disk, on systems where Write syncs
// directories.
func SyncDir(path string) error {
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.close()
	return dir.sync()
}

// sync makes a rename durable.
func (d directory) sync() error {
	if d.file == nil {
		return nil
	}
	return ignoreUnsupported(d.file.Sync())
}

// clean removes temporary files that dead processes left. Errors do not matter.
func clean(prefix string) {
	for i := range cleaned {
		path := temporary(prefix, i)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			removeDead(path)
		}
	}
}
