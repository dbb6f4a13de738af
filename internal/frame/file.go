package frame

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/seed79a3ff49/bloom/internal/atomicfile"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/memory"
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
		return format.In(path, err)
	}
	if r.Len() > 0 {
		return format.In(path, format.Errorf(k.Package, "%d bytes too many", r.Len()))
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

// MapFile maps the file at path, which holds a frame and no more. It looks at the
// file's length and at the frame's header. The map is aligned for words, and the
// header's size is a multiple of 8. See memory.Map and Verify.
func (k *Kind) MapFile(path string, check Check) (data []byte, params []uint64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: opening: %w", k.Package, err)
	}
	defer file.Close() // a map outlives the descriptor
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: opening: %w", k.Package, err)
	}
	_, params, n, err := k.Header(file, check)
	if err != nil {
		return nil, nil, format.In(path, err)
	}
	size := Size(len(params), n)
	switch {
	case info.Size() < size:
		return nil, nil, format.In(path, format.Errorf(k.Package, "truncated: %d bytes, not %d", info.Size(), size))
	case info.Size() > size:
		return nil, nil, format.In(path, format.Errorf(k.Package, "%d bytes too many", info.Size()-size))
	case size > maxInt:
		return nil, nil, fmt.Errorf("%s: file of %d bytes is larger than the address space", k.Package, size)
	}
	data, err = memory.Map(file, int(size))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: mapping: %w", k.Package, err)
	}
	return data, params, nil
}

// Verify holds the bytes of a frame against its checksum.
func (k *Kind) Verify(data []byte) error {
	body := len(data) - end
	return k.checkSum(crc32.Checksum(data[:body], castagnoli), data[body:])
}
