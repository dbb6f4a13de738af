package storage

import (
	"fmt"
	"math"

	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// Bytes are what a View looks keys up in: bytes that its user has, or the map of a file. A View
// that is zero or closed has the zero Bytes.
type Bytes struct {
	Data   []byte
	mapped bool // Close releases Data
}

// OpenView maps the file at path for package pkg; see files.Map. It returns the View that open
// makes of the map. The map is aligned for words, and a frame's head is a multiple of 8 bytes. An
// error of open is returned with the path.
func OpenView[V any](pkg, path string, open func(Bytes) (V, error)) (none V, err error) {
	file, size, err := OpenRegular(path)
	if err != nil {
		return none, fmt.Errorf("%s: opening: %w", pkg, err)
	}
	defer file.Close() // a map outlives the descriptor
	if size == 0 {
		return none, form.In(path, form.ReadError(pkg, form.ErrEmpty))
	}
	if size > math.MaxInt {
		return none, fmt.Errorf("%s: file of %d bytes is larger than the address space", pkg, size)
	}
	data, err := files.Map(file, int(size))
	if err != nil {
		return none, fmt.Errorf("%s: mapping: %w", pkg, err)
	}
	view, err := open(Bytes{data, true})
	if err != nil {
		_ = files.Unmap(data)
		return none, form.In(path, err)
	}
	return view, nil
}

// Check panics, for package pkg, if b is zero: nothing can be said about any key then.
func (b *Bytes) Check(pkg string) {
	if b.Data == nil {
		panicZero(pkg)
	}
}

func panicZero(pkg string) { panic(pkg + ": use of a View that is closed or zero") }

// Random advises the kernel that only the pages which look-ups need are read.
func (b *Bytes) Random() {
	if b.mapped {
		files.AdviseRandom(b.Data)
	}
}

// Sequential advises the kernel that all bytes are read in order, until the function that it
// returns is called.
func (b *Bytes) Sequential() (done func()) { return files.AdviseSequential(b.Data, b.mapped) }

// Close releases the map, if there is one, for package pkg. The View must no longer use b.
func (b Bytes) Close(pkg string) error {
	if !b.mapped {
		return nil
	}
	if err := files.Unmap(b.Data); err != nil {
		return fmt.Errorf("%s: unmapping: %w", pkg, err)
	}
	return nil
}
