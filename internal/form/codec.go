package form

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// AppendBinary appends to dst what src.WriteTo writes, which must be size bytes.
func AppendBinary(dst []byte, size int64, src io.WriterTo) ([]byte, error) {
	a := appender(slices.Grow(dst, int(size)))
	_, err := src.WriteTo(&a)
	return a, err
}

// Unmarshal sets f to the result of decode, which must consume all of data. On error, f is
// unchanged, and the error begins with pkg.
func Unmarshal[F any](
	pkg string, data []byte, f *F, decode func(io.Reader) (F, int64, error),
) error {
	r := bytes.NewReader(data)
	g, _, err := decode(r)
	if err == nil && r.Len() > 0 {
		err = Errorf(pkg, "%d bytes too many", r.Len())
	}
	if err == nil {
		*f = g
	}
	return Refused(pkg, data, err)
}

// ReadFrom sets f to the result of decode. On error, f is unchanged.
func ReadFrom[F any](r io.Reader, f *F, decode func(io.Reader) (F, int64, error)) (int64, error) {
	g, n, err := decode(r)
	if err == nil {
		*f = g
	}
	return n, err
}

// FileReader reads a file, and counts the bytes that are left in it.
type FileReader struct {
	File io.Reader
	Left int64
}

func (r *FileReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	r.Left -= int64(n)
	return n, err
}

// MaxUnzipped returns the largest number of bytes that a reader unpacks from n compressed bytes:
// 100 for each, but at least 1 MiB. Without a limit, a short gzip stream could fill memory or disk.
func MaxUnzipped(n int64) int64 { return max(1<<20, 100*n) }

// ErrUnzipped is the error for a form that exceeds MaxUnzipped.
var ErrUnzipped = errors.New("it unpacks to more than a hundred times as many bytes")
