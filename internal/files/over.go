package files

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
)

// Base identifies the file that a program reads at a path and then replaces. The zero Base means
// that there was no file.
type Base struct{ id Identity }

// ErrChanged is what Base.Write returns if another program has written the file.
var ErrChanged = errors.New("another program has written the file")

// BaseOf returns the Base of path. The program must call BaseOf before it reads the file.
func BaseOf(path string) (Base, error) {
	id, err := Identify(path, Identity{})
	if errors.Is(err, fs.ErrNotExist) {
		return Base{}, nil
	}
	return Base{id}, err
}

// Write is like the function Write, but immediately before it renames the new file to path, it
// compares the file at path with b, and returns ErrChanged if their contents differ. If there is no
// file at path, Write creates one. Afterwards b identifies the new file.
func (b *Base) Write(path string, write func(io.Writer) error) error {
	sum := sha256.New()
	err := replace(path, func() error { return b.check(path) }, func(w io.Writer) error {
		return write(io.MultiWriter(w, sum))
	})
	if err != nil {
		return err
	}
	*b = Base{} // without facts, so that check reads the file
	sum.Sum(b.id.sum[:0])
	return nil
}

func (b *Base) check(path string) error {
	id, err := Identify(path, b.id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !id.Same(b.id):
		return ErrChanged
	}
	return nil
}

// afterSync is a hook for tests.
var afterSync = func() {}
