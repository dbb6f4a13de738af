package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Stdin is the name of standard input among the names of files.
const Stdin = "-"

// begins lists the first bytes of the kinds of files that bloom recognizes. refused is the error
// for kinds that it does not read.
var begins = []struct{ magic, name, refused string }{
	{"\x1f\x8b", "gzip", ""},
	{"\x28\xb5\x2f\xfd", "zstd", ""},
	{"\xef\xbb\xbf", "UTF-8", ""},
	{"\xfd7zXZ\x00", "xz", compressedBy("xz", "xz -dc")},
	{"BZh91AY&SY", "bzip2", compressedBy("bzip2", "bzip2 -dc")},
	{"PK\x03\x04", "zip", compressedBy("zip", "unzip -p")},
	{"7z\xbc\xaf\x27\x1c", "7z", compressedBy("7z", "7z x -so")},
	{"\xff\xfe", "UTF-16", errUTF16},
	{"\xfe\xff", "UTF-16", errUTF16},
}

const errUTF16 = "it is UTF-16, which bloom does not read: " +
	"make it UTF-8 first: iconv -f UTF-16 -t UTF-8"

func compressedBy(name, unpack string) string {
	return fmt.Sprintf(
		"it is compressed by %s, which bloom does not read: unpack it first: %s", name, unpack)
}

// DefaultWindow is the largest window, in bytes, that the zstd command unpacks by default.
const DefaultWindow = 128 << 20

// open opens a file, or standard input, and decompresses it if it begins like gzip or zstd. It adds
// the bytes that it reads, before decompression, to read.
func open(name string, window uint64, read *atomic.Int64) (in io.Reader, shut func(), err error) {
	if name == Stdin {
		in, err := Decompress(&counter{os.Stdin, read}, window)
		return in, func() {}, err
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	unpacked, err := Decompress(&counter{file, read}, window)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return unpacked, func() { unpacked.Close(); file.Close() }, nil
}

// Decompress returns a reader of r's bytes. It decompresses them if they begin like gzip or zstd.
// It drops a byte order mark of UTF-8. It returns an error if the bytes begin like UTF-16 or
// another compression. It waits for the first bytes, but for no more of them than it needs to
// decide. Read returns an error if zstd needs a window of more than window bytes.
func Decompress(r io.Reader, window uint64) (io.ReadCloser, error) {
	r, name, err := Begin(r)
	if err != nil {
		return nil, err
	}
	unpacked := io.NopCloser(r)
	switch name {
	case "gzip":
		unpacked, err = gzip.NewReader(bufio.NewReaderSize(r, 1<<20))
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderMaxWindow(window))
		unpacked = &zstdReader{z.IOReadCloser(), window}
	default:
		return unpacked, nil
	}
	if err != nil {
		return nil, err
	}
	inner, twice, err := Begin(unpacked)
	if err == nil && (twice == "gzip" || twice == "zstd") {
		err = errors.New("it is compressed twice")
	}
	if err != nil {
		unpacked.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{inner, unpacked}, nil
}

// Begin looks at the first bytes of r. whole reads all bytes of r, without a byte order mark of
// UTF-8. name is the kind of file that r begins like, or "". Begin returns an error for kinds that
// bloom does not read. It waits for no more bytes than it needs to decide.
func Begin(r io.Reader) (whole io.Reader, name string, err error) {
	var buf [10]byte
	n := 0
	for n < len(buf) && undecided(string(buf[:n])) {
		more, err := r.Read(buf[n:])
		n += more
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, "", err
		}
	}
	head := buf[:n]
	for _, b := range begins {
		if !strings.HasPrefix(string(head), b.magic) {
			continue
		}
		if b.refused != "" {
			return nil, b.name, errors.New(b.refused)
		}
		if name = b.name; name == "UTF-8" {
			head = head[len(b.magic):]
		}
	}
	return io.MultiReader(bytes.NewReader(head), r), name, nil
}

// undecided reports whether head, with more bytes, may be one of begins.
func undecided(head string) bool {
	for _, b := range begins {
		if len(head) < len(b.magic) && strings.HasPrefix(b.magic, head) {
			return true
		}
	}
	return false
}

// zstdReader replaces the error for a window that is too large. The new error says what to do.
type zstdReader struct {
	io.ReadCloser
	window uint64
}

func (z *zstdReader) Read(p []byte) (int, error) {
	n, err := z.ReadCloser.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("unpacking it takes more than %d MiB at a time: see -long, "+
			"or unpack it first: zstd -dc --long=31", z.window>>20)
	}
	return n, err
}

// counter adds the number of bytes read from r to n.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Compressed reports whether a file that begins with head is compressed.
func Compressed(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x1f\x8b")) ||
		bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd"))
}
