package frame

import (
	"fmt"
	"io"
	"os"

	"github.com/seed79a3ff49/bloom/internal/atomicfile"
	"github.com/seed79a3ff49/bloom/internal/format"
)

// SaveFile has a type's WriteTo write the file at path, atomically and durably; see
// atomicfile.Write.
func (k *Kind) SaveFile(path string, from io.WriterTo) error {
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, err := from.WriteTo(w)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: saving: %w", k.Package, err)
	}
	return nil
}

// LoadFile has a type's ReadFrom read the file at path, to the last byte. Memory is
// taken at once, after the file's length and its header agree.
func (k *Kind) LoadFile(path string, into io.ReaderFrom) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: loading: %w", k.Package, err)
	}
	defer file.Close()
	r, err := NewFileReader(file)
	if err != nil {
		return fmt.Errorf("%s: loading: %w", k.Package, err)
	}
	if _, err := into.ReadFrom(r); err != nil {
		return fmt.Errorf("%w (in %s)", err, path)
	}
	if r.Len() > 0 {
		return fmt.Errorf("%w (in %s)", format.Errorf(k.Package, "%d bytes too many", r.Len()), path)
	}
	return nil
}

// FileReader reads a file, and knows how much of it is left; see words.Sized.
type FileReader struct {
	file *os.File
	left int64
}

// NewFileReader returns a reader of file from its start.
func NewFileReader(file *os.File) (*FileReader, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return &FileReader{file, info.Size()}, nil
}

func (r *FileReader) Read(p []byte) (int, error) {
	n, err := r.file.Read(p)
	r.left -= int64(n)
	return n, err
}

// Len returns how many bytes are left.
func (r *FileReader) Len() int { return int(max(0, min(r.left, maxInt))) }

const maxInt = int64(^uint(0) >> 1)
