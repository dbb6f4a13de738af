// Package storage saves, loads and maps files of binary forms, and reads the few bytes that a
// look-up needs from an io.ReaderAt.
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

// SaveFile writes the file at path with src.WriteTo, atomically and durably; see files.Write. src
// is of kind k, and its binary form has size bytes: 0 for a zero value, which cannot be saved. Nor can
// an info that is out of range.
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

// LoadFile reads the whole file at path by calling f.ReadFrom, and returns f, which must be new.
// ReadFrom allocates all memory after it has compared the header with the file's length.
func LoadFile[F io.ReaderFrom](k *form.Kind, path string, f F) (F, error) {
	return Load(k.Package, path, func(r *form.FileReader) (F, error) {
		_, err := f.ReadFrom(r)
		if err == nil && r.Left > 0 {
			err = form.Errorf(k.Package, "%d bytes too many", r.Left)
		}
		return f, err
	})
}

// Load returns the result of read for the file at path. Errors begin with pkg and mention path.
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

// Missing reports whether there is no file at path, and SaveFile can write one later. err is the
// error of loading path. An empty path, a missing directory, and a link to nothing are mistakes,
// for which Missing returns false.
func Missing(path string, err error) bool {
	if path == "" || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, link := os.Lstat(path)
	dir, err := os.Stat(filepath.Dir(path))
	return errors.Is(link, fs.ErrNotExist) && err == nil && dir.IsDir()
}

// LoadOr returns the result of load for path, or of create if the file is Missing. If fits returns
// an error for what was loaded, LoadOr returns that error.
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
