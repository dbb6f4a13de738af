// Package gunzip reads gzip files. After the last member it accepts only zeros.
package gunzip

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// magic begins each member of a gzip file.
const magic = "\x1f\x8b"

// Begins reports whether data begins like a gzip file.
func Begins(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }

// Reader unpacks all members of a gzip file. It accepts zeros after the last member, because tapes
// and block devices pad files with zeros. If the bytes after it are not all zeros, Read returns an
// error with their number.
type Reader struct {
	member member
	src    *bufio.Reader
}

// member is a gzip.Reader, of the standard library or of a faster package.
type member interface {
	io.ReadCloser
	Reset(io.Reader) error
	Multistream(bool)
}

// NewReader returns a Reader that unpacks r, or the error of newMember, which is the function
// NewReader of compress/gzip or of a similar package. The Reader reads r to its end.
func NewReader[M member](r io.Reader, newMember func(io.Reader) (M, error)) (*Reader, error) {
	src := bufio.NewReader(r)
	z, err := newMember(src)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &Reader{z, src}, nil
}

// Close does not close the underlying reader.
func (z *Reader) Close() error { return z.member.Close() }

func (z *Reader) Read(p []byte) (int, error) {
	for {
		n, err := z.member.Read(p)
		if err != io.EOF {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		if err := z.nextMember(); err != nil {
			return 0, err
		}
	}
}

// nextMember begins the next member. It returns io.EOF if nothing or only zeros follow.
func (z *Reader) nextMember() error {
	head, err := z.src.Peek(len(magic))
	switch {
	case Begins(head):
		err = z.member.Reset(z.src)
		z.member.Multistream(false)
		return err
	case err != nil && err != io.EOF:
		return err
	}
	zeros := true
	count := 0
	for {
		c, err := z.src.ReadByte()
		switch {
		case err == io.EOF && zeros:
			return io.EOF
		case err == io.EOF:
			follow := "bytes follow"
			if count == 1 {
				follow = "byte follows"
			}
			return fmt.Errorf("%d %s its gzip data: neither gzip nor zeros", count, follow)
		case err != nil:
			return err
		}
		count++
		zeros = zeros && c == 0
	}
}
