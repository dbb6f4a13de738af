// Package form encodes and decodes two binary forms: Guava's form (guava.go) and frames (frame.go).
// Both have words (words.go) and trailers (trailer.go), and a trailer has an Info (info.go).
// Patches (patch.go) are frames, and can be merged (merge.go). The package also has what the types'
// encoding methods share (codec.go), base64 text (text.go), the errors of decoders (errors.go), and
// errors for parameters (param.go).
package form

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrFormat is exported as bloom.ErrFormat.
var ErrFormat = errors.New("bloom: invalid format")

// Errorf returns an error that wraps ErrFormat and the operands of %w. Its message begins with pkg,
// the name of the package that decodes.
func Errorf(pkg, format string, args ...any) error {
	return &formatError{pkg, fmt.Errorf(format, args...), nil}
}

// ErrVersion is exported as bloom.ErrVersion.
var ErrVersion = errors.New("bloom: written by a newer version")

// newer is like Errorf, but its error also wraps ErrVersion.
func newer(pkg, format string, args ...any) error {
	cause := fmt.Errorf(format+": a newer version may have written it", args...)
	return &formatError{pkg, cause, ErrVersion}
}

type formatError struct {
	pkg     string
	cause   error
	version error // ErrVersion or nil
}

func (e *formatError) Error() string {
	return e.pkg + ": invalid format: " + e.cause.Error()
}

func (e *formatError) Is(err error) bool { return err == ErrFormat || err == e.version }

func (e *formatError) Unwrap() error { return e.cause }

// ErrMismatch is exported as bloom.ErrMismatch.
var ErrMismatch = errors.New("bloom: filters differ")

// Mismatch returns an error that begins with pkg and wraps ErrMismatch. f and g are the values of
// the property in which the two filters differ.
func Mismatch(pkg, property string, f, g any) error {
	return mismatchError(fmt.Sprintf("%s: filters differ in %s: %v and %v", pkg, property, f, g))
}

// MismatchNil is like Mismatch, for a filter that is nil.
func MismatchNil(pkg string) error { return mismatchError(pkg + ": filters differ: one is nil") }

type mismatchError string

func (e mismatchError) Error() string { return string(e) }

func (e mismatchError) Unwrap() error { return ErrMismatch }

// In adds path to the message of err, unless err is nil or wraps an fs.PathError, which already
// names a path.
func In(path string, err error) error {
	var names *fs.PathError
	if err == nil || errors.As(err, &names) {
		return err
	}
	return &FileError{path, err}
}

// FileError is an error about the file at Path.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return e.Err.Error() + " (in " + e.Path + ")" }

func (e *FileError) Unwrap() error { return e.Err }

// NoForm is the error for encoding a zero value. Converted to a string, it is the name of the
// type's package.
type NoForm string

func (pkg NoForm) Error() string { return string(pkg) + ": the zero value has no binary form" }

// ErrTruncated is the error for input that ends too early. It wraps io.ErrUnexpectedEOF. ErrEmpty
// is the error for empty input. It wraps io.EOF.
var (
	ErrTruncated = fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)
	ErrEmpty     = fmt.Errorf("it is empty: %w", io.EOF)
)

// ReadFull fills p from r. If r ends before p is full, the error is ErrTruncated. Any other error
// before p is full is returned unchanged, even io.ErrUnexpectedEOF, which does not prove that the
// form is damaged: it may come from a broken connection.
func ReadFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	switch {
	case n == len(p):
		return n, nil
	case err == io.EOF:
		return n, ErrTruncated
	}
	return n, err
}

// readStart is like ReadFull, but returns ErrEmpty if r has no bytes.
func readStart(r io.Reader, p []byte) (int, error) {
	n, err := ReadFull(r, p)
	if n == 0 && err == ErrTruncated {
		err = ErrEmpty
	}
	return n, err
}

// ReadError returns an error that begins with pkg and wraps err, the error of a read. It also wraps
// ErrFormat if err is ErrTruncated or ErrEmpty.
func ReadError(pkg string, err error) error {
	if err == ErrTruncated || err == ErrEmpty {
		return Errorf(pkg, "%w", err)
	}
	return fmt.Errorf("%s: reading: %w", pkg, err)
}
