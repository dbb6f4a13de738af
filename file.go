package bloom

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/seed79a3ff49/bloom/internal/atomicfile"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/words"
)

// SaveFile writes f to a file at path, for [LoadFile], [OpenFile] and Java's
// BloomFilter.readFrom. Whatever happens meanwhile, a crash included, path
// holds what it held before or all of f. Once SaveFile has returned nil, f is on
// disk, except on Windows, Plan 9 and WebAssembly, which cannot sync a directory.
//
// The file holds the binary form, which is all that Java reads, and ten bytes
// more: "bloom", a 1, and the CRC-32C of all before, big-endian.
//
// SaveFile writes and syncs a new file in the same directory, named
// .NAME.bloom-tmp-*, and renames it to path. The directory needs room for both,
// and must be readable. SaveFile removes that file if it fails; if the process is
// killed, the next SaveFile to path does. The file keeps the permissions of the
// one that it replaces, and its owner and group where the system permits that; it
// does not keep access-control lists and other attributes. Until it is whole, it
// is private if it replaces another. A new file has the permissions that
// os.Create gives. A symbolic link is replaced itself. A path to anything else
// that is no regular file is refused. Of several SaveFiles to one path at once,
// the last one's filter stays. Windows does not replace a file that is open, by
// OpenFile for one.
func (f *filter) SaveFile(path string) error {
	if f.k == 0 {
		return errNoForm
	}
	err := atomicfile.Write(path, func(w io.Writer) error {
		var sum guava.Sum
		if _, err := f.WriteTo(io.MultiWriter(w, &sum)); err != nil {
			return err
		}
		_, err := words.WriteFull(w, sum.Trailer())
		return err
	})
	if err != nil {
		return fmt.Errorf("bloom: saving: %w", err)
	}
	return nil
}

// LoadFile reads a filter from a file. Of a file that SaveFile wrote it returns
// an error, which wraps ErrFormat, if a single bit has changed, or a byte is
// missing or too many; larger damage escapes the checksum once in 2^32 times.
//
// It also reads a file that holds a binary form and no more, as Java writes it:
// there only the header and the length can be checked. That is also what a file
// cut exactly before its trailer, of 10 bytes, looks like; then all of the
// filter is there.
//
// It takes as much memory as the file is long, and none before the file's
// header and length agree.
func LoadFile(path string) (*Filter, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bloom: loading: %w", err)
	}
	defer file.Close()
	f, err := load(file)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return f, nil
}

// LoadOrNew returns the filter in the file at path, or New(n, p) if there is no such
// file; it writes none. If the file holds a filter of other parameters than
// New(n, p) has, the error wraps [ErrMismatch].
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	m, k, err := optimal(n, p)
	if err != nil {
		return nil, err
	}
	f, err := LoadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return New(n, p)
	case err != nil:
		return nil, err
	case f.M() != (m+63)/64*64 || f.k != k || f.strategy != Mitz64:
		return nil, fmt.Errorf("%w: %s holds %v, not what New makes for n = %d, p = %v", ErrMismatch, path, f, n, p)
	}
	return f, nil
}

func load(file *os.File) (*Filter, error) {
	var sum guava.Sum
	h, trailer, err := fileHeader(io.TeeReader(file, &sum), file)
	if err != nil {
		return nil, err
	}
	r := &sizedReader{file, 8 * h.Words}
	array, _, err := words.Read(r, &sum, h.Words, words.BigEndian)
	if err != nil {
		return nil, format.ReadError("bloom", err)
	}
	if trailer {
		got := make([]byte, guava.TrailerSize)
		if _, err := io.ReadFull(file, got); err != nil {
			return nil, format.ReadError("bloom", err)
		}
		if err := sum.CheckTrailer("bloom", got); err != nil {
			return nil, err
		}
	}
	return &Filter{filter: filterOf(h, array)}, nil
}

// sizedReader is a file that is known to have so many bytes more.
type sizedReader struct {
	*os.File
	left int
}

func (r *sizedReader) Len() int { return r.left }

// fileHeader reads file's header from r. It reports whether a trailer follows
// the words, by file's length.
func fileHeader(r io.Reader, file *os.File) (h guava.Header, trailer bool, err error) {
	h, _, err = guava.ReadHeader("bloom", r)
	if err != nil {
		return h, false, err
	}
	info, err := file.Stat()
	if err != nil {
		return h, false, fmt.Errorf("bloom: %w", err)
	}
	trailer, err = h.CheckSize("bloom", info.Size())
	return h, trailer, err
}

// File looks keys up in a file, where the system has memory maps as Unix and
// Windows do: look-ups read what they need, and processes share what was read.
// Elsewhere it is a copy in memory.
//
// The file must not be written to or cut while it is open: look-ups would go
// wrong, or the process die of SIGBUS. SaveFile to its path is safe on Unix, as
// is removing it; the File then still shows the old filter. A File may be used
// by many goroutines at once, but for Close. A File that is zero or closed panics
// when it is asked for a key.
type File struct {
	view View
	data []byte // the whole file, nil if closed
	body int64  // where the trailer begins
}

// OpenFile opens a file that LoadFile would load. It looks at its length, its
// header and the start of its trailer, so that it takes as long for a large
// file as for a small one; a damaged word goes unnoticed until Verify. The
// caller must Close the File.
func OpenFile(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bloom: opening: %w", err)
	}
	defer file.Close() // a map outlives the descriptor
	f, err := open(file)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return f, nil
}

func open(file *os.File) (*File, error) {
	h, trailer, err := fileHeader(file, file)
	if err != nil {
		return nil, err
	}
	size := h.Size()
	if trailer {
		size += int64(guava.TrailerSize)
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("bloom: file of %d bytes is larger than the address space", size)
	}
	data, err := memory.Map(file, int(size))
	if err != nil {
		return nil, fmt.Errorf("bloom: mapping: %w", err)
	}
	f := &File{*newView(h, data[guava.HeaderSize:h.Size()]), data, h.Size()}
	if trailer {
		if err := guava.CheckMagic("bloom", data[h.Size():]); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

const errClosed = "bloom: use of a File that is closed or zero"

// opened returns the View, which is there until f is closed.
func (f *File) opened() *View {
	if f.data == nil {
		panic(errClosed)
	}
	return &f.view
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (f *File) Contains(key []byte) bool { return f.opened().Contains(key) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *File) ContainsString(key string) bool { return f.opened().ContainsString(key) }

// ContainsHash is Contains by digest.
func (f *File) ContainsHash(h Hash) bool { return f.opened().ContainsHash(h) }

// M returns the number of bits, a multiple of 64.
func (f *File) M() uint64 { return f.view.M() }

// K returns the number of hashes.
func (f *File) K() int { return f.view.K() }

// Strategy returns how indexes are made.
func (f *File) Strategy() Strategy { return f.view.Strategy() }

// Stats counts the bits set, which reads all of them.
func (f *File) Stats() Stats { return f.opened().Stats() }

// SizeBytes returns the length of the file.
func (f *File) SizeBytes() int64 { return int64(len(f.data)) }

// Verify reads all of the file and returns an error, which wraps ErrFormat, if
// LoadFile would: if its bytes are not the ones that SaveFile wrote. Of a file
// without a trailer, such as Java's, there is nothing to check.
func (f *File) Verify() error {
	f.opened()
	if f.body == int64(len(f.data)) {
		return nil
	}
	var sum guava.Sum
	sum.Write(f.data[:f.body])
	return sum.CheckTrailer("bloom", f.data[f.body:])
}

// Close releases the map. No method may be running meanwhile. Closing again does
// nothing.
func (f *File) Close() error {
	if f.data == nil {
		return nil
	}
	data := f.data
	*f = File{}
	if err := memory.Unmap(data); err != nil {
		return fmt.Errorf("bloom: unmapping: %w", err)
	}
	return nil
}
