package form

import (
	"bytes"
	"io"
	"slices"
)

// AppendBinary appends what from's WriteTo writes, which is size bytes, to dst.
func AppendBinary(dst []byte, size int64, from io.WriterTo) ([]byte, error) {
	a := appender(slices.Grow(dst, int(size)))
	_, err := from.WriteTo(&a)
	return a, err
}

// Unmarshal sets f to what read, for package pkg, reads of data, to the last byte.
func Unmarshal[F any](pkg string, data []byte, f *F, read func(io.Reader) (F, int64, error)) error {
	r := bytes.NewReader(data)
	g, _, err := read(r)
	if err == nil && r.Len() > 0 {
		err = Errorf(pkg, "%d bytes too many", r.Len())
	}
	if err == nil {
		*f = g
	}
	return Refused(pkg, data, err)
}

// ReadFrom sets f to what read reads of r, unless that is an error.
func ReadFrom[F any](r io.Reader, f *F, read func(io.Reader) (F, int64, error)) (int64, error) {
	g, n, err := read(r)
	if err == nil {
		*f = g
	}
	return n, err
}

// FileReader reads a file, and knows how many bytes of it are left.
type FileReader struct {
	File io.Reader
	Left int64
}

func (r *FileReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	r.Left -= int64(n)
	return n, err
}
