package dcso

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// save replaces the file at path as a whole: after a crash at any moment there is what was
// there before, or all that write writes. One process may save to a path at a time.
func save(path string, write func(io.Writer) error) (err error) {
	dir, name := filepath.Split(path)
	temporary := filepath.Join(dir, "."+name[:min(len(name), 200)]+".bloom-tmp-dcso")
	os.Remove(temporary) // that of a process that was killed
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(temporary)
		}
	}()
	out := bufio.NewWriterSize(file, 64<<10)
	if err := write(out); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if old, err := os.Stat(path); err == nil {
		if err := file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // which syncs no directories
		return nil
	}
	parent, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	return parent.Sync()
}
