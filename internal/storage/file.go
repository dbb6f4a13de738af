// Package storage saves, loads and maps files of binary forms. It also reads from an io.ReaderAt
// the few bytes that a look-up needs.
package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// SaveFile writes the output of src.WriteTo to the file at path, atomically and durably; see
// files.Write. size is the length of the binary form in bytes. It is 0 for a zero value, which
// cannot be saved. SaveFile returns an error if a field of info is out of range.
func SaveFile(k *form.Kind, path string, size int64, info form.Info, src io.WriterTo) error {
	if size == 0 {
		return form.NoForm(k.Package)
	}
	if bad := info.Check(); bad != nil {
		return bad.In(k.Package)
	}
	err := files.Write(path, func(w io.Writer) error {
		_, err := src.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: saving: %w", k.Package, err)
	}
	return nil
}

// LoadFile calls f.ReadFrom for the whole file at path, and returns f. f must be new. ReadFrom
// compares the header with the file's length before it allocates memory.
func LoadFile[F io.ReaderFrom](k *form.Kind, path string, f F) (F, error) {
	return Load(k.Package, path, func(r *form.FileReader) (F, error) {
		_, err := f.ReadFrom(r)
		if err == nil && r.Left > 0 {
			err = form.Errorf(k.Package, "%d bytes too many", r.Left)
		}
		return f, err
	})
}

// Load opens the file at path, calls read, and returns its result. Errors begin with pkg and
// mention path.
func Load[F any](pkg, path string, read func(*form.FileReader) (F, error)) (none F, err error) {
	file, info, err := files.OpenRegular(path)
	if err != nil {
		return none, fmt.Errorf("%s: loading: %w", pkg, err)
	}
	defer file.Close()
	size := info.Size()
	f, err := read(&form.FileReader{File: file, Left: size})
	if err != nil {
		return none, form.In(path, form.RefusedAt(pkg, file, size, err))
	}
	return f, nil
}

// Missing reports whether err, the error of loading path, means only that there is no such file.
// An empty path, a missing directory and a dangling link are mistakes of the caller, so Missing
// returns false for them.
func Missing(path string, err error) bool {
	if path == "" || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, link := os.Lstat(path)
	dir, err := os.Stat(filepath.Dir(path))
	return errors.Is(link, fs.ErrNotExist) && err == nil && dir.IsDir()
}

// LoadOr returns the result of load, or of create if the file at path is Missing. It returns the
// error of fits if what was loaded does not suit the caller.
func LoadOr[F any](
	path string, load func(path string) (*F, error), create func() (*F, error), fits func(*F) error,
) (*F, error) {
	f, err := load(path)
	if Missing(path, err) {
		return create()
	}
	if err == nil {
		err = form.In(path, fits(f))
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}
