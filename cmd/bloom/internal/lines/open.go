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

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/gunzip"
	"github.com/seed79a3ff49/bloom/internal/magic"
)

// Stdin is the file name that means standard input.
const Stdin = "-"

// DefaultWindow is the largest window, in bytes, that the zstd command unpacks by default.
const DefaultWindow = 128 << 20

type opened struct {
	io.Reader          // the bytes, decompressed
	arrived   *Arrived // counts the bytes of the file
	shut      func()   // closes the file
}

func openFile(name string) (io.ReadCloser, error) {
	if name == Stdin {
		return io.NopCloser(os.Stdin), nil
	}
	return os.Open(name)
}

// open opens a file, and decompresses it if it begins like gzip or zstd. Counts.Read counts the
// bytes of the file, before decompression, as they arrive.
func (r *Reader) open(name string) (*opened, error) {
	file, err := r.openFile(name)
	if err != nil {
		return nil, err
	}
	arrived := &Arrived{r: file, all: &r.cfg.Read}
	unpacked, err := Decompress(arrived, r.cfg.Window, r.cfg.Delim)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &opened{unpacked, arrived, func() { unpacked.Close(); file.Close() }}, nil
}

// Decompress returns a reader of r's bytes, decompressed if they begin like gzip or zstd, and
// without a UTF-8 byte order mark. It returns an error if it recognizes an archive, a filter, or
// another compression or encoding. delim is the byte that ends lines; see Begin. A zstd window of
// more than window bytes is an error, too.
func Decompress(r io.Reader, window uint64, delim byte) (io.ReadCloser, error) {
	return decompress(r, window, delim, false)
}

// DecompressFilter is like Decompress with the DefaultWindow, but accepts filters, too.
func DecompressFilter(r io.Reader) (io.ReadCloser, error) {
	return decompress(r, DefaultWindow, '\n', true)
}

func decompress(r io.Reader, window uint64, delim byte, filter bool) (io.ReadCloser, error) {
	r, name, err := begin(r, delim, filter)
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
	inner, twice, err := begin(unpacked, delim, filter)
	if err == nil && twice != "" {
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

const mark = "\xef\xbb\xbf" // the UTF-8 byte order mark

// Begin recognizes the kind of r by its first bytes, and does not wait for more than it needs.
// delim is the byte that ends lines. Begin returns a reader of all bytes of r, without a UTF-8 byte
// order mark, and the name "gzip" or "zstd", or else "". If Begin refuses the kind, the error is a
// KindError.
func Begin(r io.Reader, delim byte) (input io.Reader, name string, err error) {
	return begin(r, delim, false)
}

func begin(r io.Reader, delim byte, filter bool) (input io.Reader, name string, err error) {
	head := make([]byte, 0, magic.HeadSize)
	for len(head) < cap(head) && undecided(head, delim) {
		n, err := r.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, "", err
		}
	}
	kind := magic.Of(head)
	if kind != nil && (!kind.Differs(delim) || filter && kind.Name == magic.Bloom) {
		kind = nil
	}
	switch {
	case kind == nil:
		head = bytes.TrimPrefix(head, []byte(mark))
	case unpacks(kind):
		name = kind.Name
	default:
		return nil, "", KindError{kind}
	}
	return io.MultiReader(bytes.NewReader(head), r), name, nil
}

// undecided reports whether more bytes after head could change what Begin returns.
func undecided(head []byte, delim byte) bool {
	return magic.Undecided(head, delim) || strings.HasPrefix(mark, string(head))
}

// KindError is the error for a kind of input that Begin refuses.
type KindError struct{ kind *magic.Kind }

func (e KindError) Error() string { return e.kind.Refusal }

// zstdReader makes some of zstd's errors clearer.
type zstdReader struct {
	io.ReadCloser
	window uint64
}

func (z *zstdReader) Read(p []byte) (int, error) {
	n, err := z.ReadCloser.Read(p)
	if errors.Is(err, zstd.ErrWindowSizeExceeded) || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		size, unit := z.window>>20, "MiB"
		if size == 0 {
			size, unit = z.window>>10, "KiB"
		}
		err = fmt.Errorf("unpacking it needs more than %d %s of memory: see --long, "+
			"or unpack it first: zstd -dc --long=31", size, unit)
	}
	if errors.Is(err, zstd.ErrMagicMismatch) {
		err = errors.New("the bytes after its zstd data are not zstd")
	}
	return n, err
}

// Arrived is a reader that counts its bytes, for Check.
type Arrived struct {
	r   io.Reader
	n   atomic.Int64
	all *atomic.Int64 // also counts the bytes; may be nil
}

func NewArrived(r io.Reader) *Arrived { return &Arrived{r: r} }

func (a *Arrived) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	a.n.Add(int64(n))
	if a.all != nil {
		a.all.Add(int64(n))
	}
	return n, err
}

// Check returns ErrArrived if n, a number of bytes in memory or on disk, exceeds
// [form.MaxUnzipped] for the number of bytes that arrived.
func (a *Arrived) Check(n int64) error { return CheckArrived(n, a.n.Load()) }

// CheckArrived is like Arrived.Check, for a given number of bytes that arrived.
func CheckArrived(n, arrived int64) error {
	if n > form.MaxUnzipped(arrived) {
		return ErrArrived
	}
	return nil
}

// ErrArrived is the error of Arrived.Check.
var ErrArrived = errors.New("more than 100 times the compressed bytes so far: " +
	"unpack it first, with gunzip or zstd -d")

// Compressed reports whether Decompress unpacks a file that begins with head.
func Compressed(head []byte) bool {
	kind := magic.Of(head)
	return kind != nil && unpacks(kind)
}

func unpacks(kind *magic.Kind) bool { return kind.Name == "gzip" || kind.Name == "zstd" }
