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
// BloomFilter.readFrom. After a crash at any moment, path holds what it held
// before, or all of f. Once SaveFile has returned nil, f is on disk, except on
// Windows, Plan 9 and WebAssembly, which cannot sync a directory.
//
// The file holds the binary form, which is all that Java reads. Ten bytes follow:
// "bloom", a 1, and the CRC-32C of everything before it, big-endian. The file does not
// say what it was made for. [Filter.SaveFileInfo] writes one that does.
//
// SaveFile writes and syncs a new file in the same directory, named
// .NAME.bloom-tmp-*, and renames it to path. The directory must be readable, and
// needs room for the old file and the new one. SaveFile removes the new file if it
// fails. If the process is killed, the next SaveFile to path removes it.
//
// A file that replaces another keeps its permissions, and its owner and group where
// the system permits that. It does not keep access-control lists and other
// attributes. It is private until it is whole. A file that replaces none has the
// permissions that os.Create gives. SaveFile replaces a symbolic link itself, not
// the file that it leads to, and refuses to replace anything else that is no
// regular file. If several SaveFiles write to one path at once, the filter of the
// last one stays. Windows does not replace a file that is open, by [OpenFile] for
// one.
func (f *filter) SaveFile(path string) error { return f.SaveFileInfo(path, Info{}) }

// Info is what a file can say about its filter. The bits do not tell what the filter was
// made for, nor how its keys were hashed. Any field may be zero. Look-ups do not depend
// on an Info.
//
// Files of the other packages have no Info. They name the filter's type and its
// parameters. Whatever else there is to say about them belongs in a file beside them.
type Info struct {
	N       uint64  // number of keys that the filter was made for
	P       float64 // rate that it was made for, at N keys
	Hash    string  // how keys become digests, such as "SumString"; up to 255 bytes
	Comment string  // up to 4,096 bytes
}

// SaveFileInfo is [Filter.SaveFile], and the file holds info as well. A SaveFile to the
// same path later leaves no Info there. SaveFileInfo returns an error that names the
// field unless 0 <= P < 1, and Hash and Comment are UTF-8 and no longer than Info
// allows. LoadFile, OpenFile, NewView, UnmarshalBinary and Java read such a file as any
// other.
//
// The file holds the binary form. The Info follows: N and the bits of P in 8 bytes each,
// the lengths of Hash and Comment in 2 bytes each, and both texts, with zeros up to a
// multiple of 8 bytes. Sixteen bytes end the file: the CRC-32C of the binary form's first 6
// bytes and the Info, the number of bytes that follow the binary form in 2 bytes,
// "bloom", a 2, and the CRC-32C of everything before it. Numbers are big-endian.
func (f *filter) SaveFileInfo(path string, info Info) error {
	if f.k == 0 {
		return errNoForm
	}
	if err := guava.Info(info).Check("bloom"); err != nil {
		return err
	}
	err := atomicfile.Write(path, func(w io.Writer) error {
		var sum guava.Sum
		if _, err := f.WriteTo(io.MultiWriter(w, &sum)); err != nil {
			return err
		}
		_, err := words.WriteFull(w, sum.InfoTrailer(f.header(), guava.Info(info)))
		return err
	})
	if err != nil {
		return fmt.Errorf("bloom: saving: %w", err)
	}
	return nil
}

// LoadFile reads a filter from a file. If the file has changed since
// [Filter.SaveFile] wrote it, LoadFile returns an error that wraps [ErrFormat]. A
// changed bit, a missing byte and an added byte are always noticed. The checksum
// misses other damage once in 2^32 times.
//
// LoadFile also reads a file that holds a binary form alone, as Java writes it. It
// then checks only the header and the length. A file that lost exactly what follows
// its binary form looks like Java's. All of the filter is in it.
//
// LoadFile takes as much memory as the file is long. It takes none before the
// file's header and length agree.
func LoadFile(path string) (*Filter, error) {
	f, _, err := LoadFileInfo(path)
	return f, err
}

// LoadFileInfo is [LoadFile], and returns what [Filter.SaveFileInfo] was told. The Info
// is zero if the file has none. [File.Info] tells it without loading the filter.
func LoadFileInfo(path string) (*Filter, Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, Info{}, fmt.Errorf("bloom: loading: %w", err)
	}
	defer file.Close()
	f, info, err := load(file)
	if err != nil {
		return nil, Info{}, format.In(path, err)
	}
	return f, Info(info), nil
}

// LoadOrNew returns the filter in the file at path, or New(n, p) if there is no such
// file. A new filter is empty: its OnesCount is 0. [NewSyncFrom] makes a SyncFilter of
// either. LoadOrNew writes no file.
//
// If the filter in the file has other parameters than New(n, p), LoadOrNew returns an
// error that wraps [ErrMismatch]. Its message has N and P of the file's Info, if there
// is one.
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	m, k, err := optimal(n, p)
	if err != nil {
		return nil, err
	}
	f, info, err := LoadFileInfo(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return New(n, p)
	case err != nil:
		return nil, err
	case f.M() != (m+63)/64*64 || f.k != k || f.strategy != Mitz64:
		made := ""
		if info.N > 0 {
			made = fmt.Sprintf(" made for n = %d, p = %v", info.N, info.P)
		}
		return nil, fmt.Errorf("%w: %s holds %v%s, not what New makes for n = %d, p = %v", ErrMismatch, path, f, made, n, p)
	}
	return f, nil
}

func load(file *os.File) (*Filter, guava.Info, error) {
	var sum guava.Sum
	var info guava.Info
	h, trailer, err := fileHeader(io.TeeReader(file, &sum), file)
	if err != nil {
		return nil, info, err
	}
	r := &sizedReader{file, 8 * h.Words}
	array, _, err := words.Read(r, &sum, h.Words, words.BigEndian)
	if err != nil {
		return nil, info, format.ReadError("bloom", err)
	}
	if trailer > 0 {
		got := make([]byte, trailer)
		if _, err := io.ReadFull(file, got); err != nil {
			return nil, info, format.ReadError("bloom", err)
		}
		if info, err = sum.CheckTrailer("bloom", h, got); err != nil {
			return nil, info, err
		}
	}
	return &Filter{filter: filterOf(h, array)}, info, nil
}

// sizedReader is a file that is known to have so many bytes more.
type sizedReader struct {
	*os.File
	left int
}

func (r *sizedReader) Len() int { return r.left }

// fileHeader reads file's header from r. It returns how many bytes of trailer follow
// the words, by file's length.
func fileHeader(r io.Reader, file *os.File) (h guava.Header, trailer int, err error) {
	h, _, err = guava.ReadHeader("bloom", r)
	if err != nil {
		return h, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return h, 0, fmt.Errorf("bloom: %w", err)
	}
	trailer, err = h.CheckSize("bloom", info.Size())
	return h, trailer, err
}

// File looks keys up in a file. Unix and Windows map the file into memory: a look-up
// reads the pages that it needs, and processes share them. Elsewhere a File is a
// copy in memory.
//
// Nobody may write to the file or cut it while it is open. Look-ups would be wrong,
// or the process would die of SIGBUS. On Unix [Filter.SaveFile] may replace the
// file, and the file may be removed. The File still shows the old filter then.
//
// Many goroutines may use a File at once. [File.Close] needs it to itself; see the
// example of [OpenFile]. The methods Contains, Stats and Verify of a File that is
// zero or closed panic.
type File struct {
	view   View
	header guava.Header
	data   []byte // the whole file, nil if closed
}

// OpenFile opens a file that [LoadFile] can load. It checks the length, the header,
// the Info if there is one, and that what follows the filter is from
// [Filter.SaveFile]. So a large file takes as long as a small one. [File.Verify] notices
// damaged bits, OpenFile does not. The caller must Close the File.
func OpenFile(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("bloom: opening: %w", err)
	}
	defer file.Close() // a map outlives the descriptor
	f, err := open(file)
	if err != nil {
		return nil, format.In(path, err)
	}
	return f, nil
}

func open(file *os.File) (*File, error) {
	h, trailer, err := fileHeader(file, file)
	if err != nil {
		return nil, err
	}
	size := h.Size() + int64(trailer)
	if size > math.MaxInt {
		return nil, fmt.Errorf("bloom: file of %d bytes is larger than the address space", size)
	}
	data, err := memory.Map(file, int(size))
	if err != nil {
		return nil, fmt.Errorf("bloom: mapping: %w", err)
	}
	var info guava.Info
	if trailer > 0 {
		if info, err = h.ParseTrailer("bloom", data[h.Size():]); err != nil {
			_ = memory.Unmap(data)
			return nil, err
		}
	}
	return &File{*newView(h, data[guava.HeaderSize:h.Size()], info), h, data}, nil
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

// M returns the number of bits, a multiple of 64. It is 0 if f is closed.
func (f *File) M() uint64 { return f.view.M() }

// K returns the number of hashes. It is 0 if f is closed.
func (f *File) K() int { return f.view.K() }

// Strategy returns how indexes are made.
func (f *File) Strategy() Strategy { return f.view.Strategy() }

// String describes f by its parameters, without its keys.
func (f *File) String() string {
	return fmt.Sprintf("bloom.File(m=%d, k=%d, %v)", f.M(), f.K(), f.Strategy())
}

// Info returns what [Filter.SaveFileInfo] was told. It is zero if the file has none, and
// if f is closed.
func (f *File) Info() Info { return f.view.Info() }

// Stats reads the whole filter, to count the bits set.
func (f *File) Stats() Stats { return f.opened().Stats() }

// SizeBytes returns the length of the file. It is 0 if f is closed.
func (f *File) SizeBytes() int64 { return int64(len(f.data)) }

// Verify reads all of the file. It returns an error, which wraps [ErrFormat], if the
// bytes are not the ones that [Filter.SaveFile] wrote. A file from Java has no
// checksum, so Verify returns nil.
func (f *File) Verify() error {
	f.opened()
	body := f.header.Size()
	if body == int64(len(f.data)) {
		return nil
	}
	var sum guava.Sum
	sum.Write(f.data[:body])
	_, err := sum.CheckTrailer("bloom", f.header, f.data[body:])
	return err
}

// Close releases the map. No other method may run at the same time. Closing again
// does nothing.
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
