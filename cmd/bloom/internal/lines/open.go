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

	"github.com/seed79a3ff49/bloom/internal/gunzip"
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

type opened struct {
	io.Reader          // the bytes, decompressed
	arrived   *Arrived // counts the bytes of the file
	shut      func()   // closes the file
}

// open opens a file, or standard input, and decompresses it if it begins like gzip or zstd. The
// bytes of the file, before decompression, are counted in read as they arrive.
func open(name string, window uint64, read *atomic.Int64) (*opened, error) {
	file := os.Stdin
	shut := func() {}
	if name != Stdin {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		shut = func() { file.Close() }
	}
	arrived := &Arrived{r: file, all: read}
	unpacked, err := Decompress(arrived, window)
	if err != nil {
		shut()
		return nil, err
	}
	return &opened{unpacked, arrived, func() { unpacked.Close(); shut() }}, nil
}

// Decompress returns a reader of r's bytes, decompressed if they begin like gzip or zstd, and
// without a byte order mark of UTF-8. It returns an error if they begin like UTF-16 or another
// compression. It reads no more bytes than it needs to decide. Read returns an error if zstd needs
// a window of more than window bytes.
func Decompress(r io.Reader, window uint64) (io.ReadCloser, error) {
	r, name, err := Begin(r)
	if err != nil {
		return nil, err
	}
	unpacked := io.NopCloser(r)
	switch name {
	case "gzip":
		unpacked, err = gunzip.NewReader(bufio.NewReaderSize(r, 1<<20), gzip.NewReader)
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

// Begin looks at the first bytes of r, and reads no more of them than it needs to decide. whole
// yields all bytes of r, without a byte order mark of UTF-8. name is the kind of file that r begins
// like, or "". Begin returns an error for kinds that bloom does not read.
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

// undecided reports whether more bytes could make head begin like one of begins.
func undecided(head string) bool {
	for _, b := range begins {
		if len(head) < len(b.magic) && strings.HasPrefix(b.magic, head) {
			return true
		}
	}
	return false
}

// zstdReader replaces two errors of zstd by texts that say what to do, and where the error is.
type zstdReader struct {
	io.ReadCloser
	window uint64
}

func (z *zstdReader) Read(p []byte) (int, error) {
	n, err := z.ReadCloser.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		err = fmt.Errorf("unpacking it takes more than %d MiB at a time: see --long, "+
			"or unpack it first: zstd -dc --long=31", z.window>>20)
	}
	if errors.Is(err, zstd.ErrMagicMismatch) {
		err = errors.New("the bytes that follow the end of its zstd are not zstd")
	}
	return n, err
}

// Arrived counts the bytes that are read from r. It bounds what they may unpack to, because each
// compressed byte can promise a thousand bytes or more.
type Arrived struct {
	r   io.Reader
	n   atomic.Int64
	all *atomic.Int64 // counts with n; or nil
}

// NewArrived returns an Arrived that reads r.
func NewArrived(r io.Reader) *Arrived { return &Arrived{r: r} }

func (a *Arrived) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	a.n.Add(int64(n))
	if a.all != nil {
		a.all.Add(int64(n))
	}
	return n, err
}

// Check returns an error if n bytes of memory or disk are too many for the bytes that arrived: more
// than 64 MiB, and more than a hundred for each.
func (a *Arrived) Check(n int64) error { return CheckArrived(n, a.n.Load()) }

// CheckArrived is Arrived.Check for a given number of bytes that arrived.
func CheckArrived(n, arrived int64) error {
	if n > max(64<<20, 100*arrived) {
		return ErrArrived
	}
	return nil
}

// ErrArrived is the error of Arrived.Check.
var ErrArrived = errors.New("more than 100 times the bytes that arrived: " +
	"unpack it first, with gunzip or zstd -d")

// Compressed reports whether a file that begins with head is compressed.
func Compressed(head []byte) bool {
	return bytes.HasPrefix(head, []byte("\x1f\x8b")) ||
		bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd"))
}
