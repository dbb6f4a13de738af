package storage

import (
	"fmt"
	"math"

	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
)

// Bytes holds the bytes in which a View looks keys up: a user's slice or a mapped file. In a View
// that is closed or zero, it is zero.
type Bytes struct {
	Data   []byte
	mapped bool // Close releases Data
}

// OpenView maps the file at path into memory with files.Map, and returns the View that open makes
// from the map. Errors begin with pkg; errors of opening and decoding mention path. The words of a
// frame are aligned, because the map is, and the head's length is a multiple of 8 bytes.
func OpenView[V any](pkg, path string, open func(Bytes) (V, error)) (none V, err error) {
	file, info, err := files.OpenRegular(path)
	if err != nil {
		return none, fmt.Errorf("%s: opening: %w", pkg, err)
	}
	defer file.Close() // a map outlives the descriptor
	size := info.Size()
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

// Check panics if b is zero, since any answer would be wrong. The message begins with pkg.
func (b *Bytes) Check(pkg string) {
	if b.Data == nil {
		panicZero(pkg)
	}
}

func panicZero(pkg string) { panic(pkg + ": use of a View that is closed or zero") }

// Random advises the kernel to read only the pages that look-ups need.
func (b *Bytes) Random() {
	if b.mapped { // speed
		files.AdviseRandom(b.Data) // speed
	}
}

// Sequential advises the kernel that all bytes are read in order until stop is called.
func (b *Bytes) Sequential() (stop func()) { return files.AdviseSequential(b.Data, b.mapped) }

// Close unmaps the file if b holds one. The View must not use b afterwards. Errors begin with pkg.
func (b Bytes) Close(pkg string) error {
	if !b.mapped {
		return nil
	}
	if err := files.Unmap(b.Data); err != nil {
		return fmt.Errorf("%s: unmapping: %w", pkg, err)
	}
	return nil
}
