// Package format has the errors that several packages return: bytes are not what they
// should be, or filters do not fit each other.
package format

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// ErrFormat is exported as bloom.ErrFormat.
var ErrFormat = errors.New("bloom: invalid format")

// Errorf returns an error that wraps ErrFormat, and whatever %w in format wraps.
// Its message begins with the name of the decoding package.
func Errorf(pkg, format string, args ...any) error {
	return &formatError{pkg, fmt.Errorf(format, args...)}
}

type formatError struct {
	pkg   string
	cause error
}

func (e *formatError) Error() string { return e.pkg + ": invalid format: " + e.cause.Error() }

func (e *formatError) Unwrap() []error { return []error{ErrFormat, e.cause} }

// ErrMismatch is exported as bloom.ErrMismatch.
var ErrMismatch = errors.New("bloom: filters differ")

// Mismatch returns an error that wraps ErrMismatch. Its message begins with the name of
// the package, and says in what two filters differ.
func Mismatch(pkg, in string, f, g any) error {
	return mismatchError(fmt.Sprintf("%s: filters differ in %s: %v and %v", pkg, in, f, g))
}

// MismatchNil is Mismatch where one filter is nil.
func MismatchNil(pkg string) error { return mismatchError(pkg + ": filters differ: one is nil") }

type mismatchError string

func (e mismatchError) Error() string { return string(e) }

func (e mismatchError) Unwrap() error { return ErrMismatch }

// In returns err with the path of the file that it is about, unless err names it.
func In(path string, err error) error {
	var names *fs.PathError
	if errors.As(err, &names) {
		return err
	}
	return fmt.Errorf("%w (in %s)", err, path)
}

// ReadError returns the error for a reader that failed: one that ended too early
// gave bytes of the wrong format, any other error is the reader's own.
func ReadError(pkg string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return Errorf(pkg, "truncated: %w", err)
	}
	return fmt.Errorf("%s: reading: %w", pkg, err)
}
