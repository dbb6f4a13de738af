// Package durable writes files that are still there after a power cut.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// Save replaces the file at path as a whole: after a crash at any moment there is what was
// there before, or all that data writes. One process may save to a path at a time.
func Save(path string, data io.WriterTo) error {
	dir, name := filepath.Split(path)
	temporary := filepath.Join(dir, "."+name[:min(len(name), 200)]+".bloom-tmp-dcso")
	os.Remove(temporary) // that of a process that was killed
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = data.WriteTo(file)
	if old, statErr := os.Stat(path); err == nil && statErr == nil {
		err = file.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		os.Remove(temporary)
		return err
	}
	return SyncDir(path)
}

// SyncDir returns once the name of the file at path is on the disk.
func SyncDir(path string) error {
	if runtime.GOOS == "windows" { // which syncs no directories
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
