package lines

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Stdin is the name of standard input among the names of files.
const Stdin = "-"

// Open opens a file, or standard input, and decompresses it if it begins like gzip or
// zstd. It counts the bytes of the file that were read, before decompression.
func Open(name string, read *atomic.Int64) (io.ReadCloser, error) {
	file := os.Stdin
	if name != Stdin {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
	}
	r, err := Decompress(&counter{file, read})
	if err != nil {
		file.Close()
		return nil, err
	}
	return &input{r, file}, nil
}

// Decompress returns a reader of what r holds, decompressed if it begins like gzip or
// zstd. It waits for r's first bytes, but for no more of them than it takes to know.
func Decompress(r io.Reader) (io.Reader, error) {
	head, n := make([]byte, len(zstdMagic)), 0
	for n < len(head) && maybe(head[:n]) {
		more, err := r.Read(head[n:])
		n += more
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	head = head[:n]
	whole := io.MultiReader(bytes.NewReader(head), r)
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		return gzip.NewReader(bufio.NewReaderSize(whole, 1<<20))
	case bytes.Equal(head, zstdMagic):
		return zstd.NewReader(whole, zstd.WithDecoderMaxWindow(2<<30)) // as zstd --long=31 needs
	}
	return &prefixed{head, r}, nil
}

// maybe reports whether more bytes may make head a magic.
func maybe(head []byte) bool {
	return bytes.HasPrefix(zstdMagic, head) || bytes.HasPrefix(gzipMagic, head)
}

// prefixed reads head and then from r, to which it adds no other cost.
type prefixed struct {
	head []byte
	r    io.Reader
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.r.Read(b)
}

type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// input is what to read, and the file to close.
type input struct {
	io.Reader
	file *os.File
}

func (in *input) Close() error {
	if d, ok := in.Reader.(*zstd.Decoder); ok {
		d.Close()
	}
	if in.file == os.Stdin {
		return nil
	}
	return in.file.Close()
}

// Compressed reports whether a file that begins with head is compressed.
func Compressed(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic)
}
