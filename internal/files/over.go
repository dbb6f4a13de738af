package files

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"time"
)

// Base is what a program has read at a path, and will replace: a file, or none. The zero Base is
// none.
type Base struct {
	there bool
	id    Identity
}

// ErrChanged is the error of Base.Write if another program has written the file.
var ErrChanged = errors.New("another program has written the file")

// BaseOf returns the Base of path. It is called before the program reads the file.
func BaseOf(path string) (Base, error) {
	id, err := Identify(path, Identity{})
	if errors.Is(err, fs.ErrNotExist) {
		return Base{}, nil
	}
	return Base{err == nil, id}, err
}

// Write is the function Write for a file that was read as b. Once the new file is on disk, directly
// before it gets the name path, Write compares the file there with b, and returns ErrChanged if it
// is another one: what its program has saved would be lost. If the file was removed, nothing is
// compared. Afterwards b is the new file.
func (b *Base) Write(path string, write func(io.Writer) error) error {
	sum := sha256.New()
	info, err := replace(path, func() error { return b.check(path) }, func(w io.Writer) error {
		return write(io.MultiWriter(w, sum))
	})
	if err != nil {
		return err
	}
	now := time.Now()
	b.there = true
	b.id = Identity{facts: factsOf(info), seen: now, read: now}
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
	case !b.there || !id.Same(b.id):
		return ErrChanged
	}
	return nil
}

// afterSync is what a test does before replace makes its last check.
var afterSync = func() {}
