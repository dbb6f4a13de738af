package bloom

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// A file is a filter's binary form, which is all that Java reads, and a trailer:
//
//	5 bytes  "bloom"
//	1 byte   version, 1
//	4 bytes  CRC-32C of everything before, big-endian
//
// The trailer is no multiple of 8 bytes long, so that no damaged word count can
// make a filter of a trailer: a file's size tells whether it has one.
const (
	trailerMagic = "bloom\x01"
	trailerSize  = len(trailerMagic) + 4
)

func newChecksum() hash.Hash32 { return crc32.New(castagnoli) }

// trailer returns the trailer of a file whose binary form sum has seen.
func trailer(sum hash.Hash32) []byte {
	sum.Write([]byte(trailerMagic))
	return sum.Sum([]byte(trailerMagic)) // appends big-endian
}

// SaveFile writes f to a file at path, for LoadFile, OpenFile and Java's
// BloomFilter.readFrom. Whatever happens meanwhile, a crash included, path
// holds what it held before or all of f, and once SaveFile has returned nil, f
// is on disk.
//
// It writes and syncs a new file named .bloom-tmp-* in the same directory,
// which needs room for both, renames it to path and syncs the directory. It
// removes that file if it fails, but cannot if the process is killed. The new
// file has the permissions of the old one, or those that os.Create gives. If
// path is a symbolic link, the link itself is replaced. Of several SaveFiles to
// one path at once, the last one's filter stays. Windows does not replace a
// file that is open, by OpenFile for one.
func (f *Filter) SaveFile(path string) error {
	if f.k == 0 {
		return errNoForm
	}
	if err := f.saveFile(path); err != nil {
		return fmt.Errorf("bloom: saving: %w", err)
	}
	return nil
}

func (f *Filter) saveFile(path string) (err error) {
	file, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if old, err := os.Lstat(path); err == nil && old.Mode().IsRegular() {
		if err := file.Chmod(old.Mode().Perm()); err != nil {
			return err
		}
	}
	sum := newChecksum()
	if _, err := f.WriteTo(io.MultiWriter(file, sum)); err != nil {
		return err
	}
	if _, err := file.Write(trailer(sum)); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// createBeside creates a new file in path's directory. os.CreateTemp would give
// it other permissions than os.Create.
func createBeside(path string) (*os.File, error) {
	for {
		name := fmt.Sprintf(".bloom-tmp-%016x", rand.Uint64())
		file, err := os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// syncDir makes a rename in dir durable, where a directory can be synced.
func syncDir(dir string) error {
	switch runtime.GOOS {
	case "windows", "plan9", "js", "wasip1":
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return nil // some network file systems sync directories by themselves
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

func load(file *os.File) (*Filter, error) {
	sum := newChecksum()
	r := io.TeeReader(file, sum)
	f, words, tail, err := fileHeader(r, file)
	if err != nil {
		return nil, err
	}
	f.bits = newBitset(words) // at once: there are as many bytes to read
	if _, err := f.bits.readWords(r, words); err != nil {
		return nil, readError(err)
	}
	f.ones = f.bits.onesCount()
	if tail > 0 {
		var got [trailerSize]byte
		if _, err := io.ReadFull(file, got[:]); err != nil {
			return nil, readError(err)
		}
		if !bytes.Equal(got[:], trailer(sum)) {
			return nil, errChecksum
		}
	}
	return &f, nil
}

var errChecksum = fmt.Errorf("%w: checksum mismatch", ErrFormat)

// fileHeader reads file's header from r, and returns a filter without words, how
// many there are, and how many bytes follow them: none, or trailerSize.
func fileHeader(r io.Reader, file *os.File) (f Filter, words, tail int, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return f, 0, 0, readError(err)
	}
	f, words, err = parseHeader(header[:])
	if err != nil {
		return f, 0, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return f, 0, 0, fmt.Errorf("bloom: %w", err)
	}
	switch info.Size() - headerSize - 8*int64(words) {
	case 0:
		return f, words, 0, nil
	case int64(trailerSize):
		return f, words, trailerSize, nil
	}
	return f, 0, 0, fmt.Errorf("%w: %d words in a file of %d bytes", ErrFormat, words, info.Size())
}

// File is a View of a file, where the system has memory maps as Unix and
// Windows do: look-ups read what they need, and processes share what was read.
// Elsewhere it is a View of a copy in memory.
//
// The file must not be written to or cut while it is open: look-ups would go
// wrong, or the process die of SIGBUS. SaveFile to its path is safe on Unix, as
// is removing it; the File then still shows the old filter. A File may be used
// by many goroutines at once, but for Close.
type File struct {
	*View
	data []byte // the whole file
	tail int    // how many of its bytes are the trailer
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
	params, words, tail, err := fileHeader(file, file)
	if err != nil {
		return nil, err
	}
	size := headerSize + 8*int64(words) + int64(tail)
	if size > math.MaxInt {
		return nil, fmt.Errorf("bloom: file of %d bytes is larger than the address space", size)
	}
	data, err := mapFile(file, int(size))
	if err != nil {
		return nil, fmt.Errorf("bloom: mapping: %w", err)
	}
	f := &File{newView(data[headerSize:][:8*words], params), data, tail}
	if tail > 0 && !bytes.HasPrefix(data[headerSize+8*words:], []byte(trailerMagic)) {
		f.Close()
		return nil, fmt.Errorf("%w: no trailer after %d words", ErrFormat, words)
	}
	return f, nil
}

// Verify reads all of the file and returns an error, which wraps ErrFormat, if
// LoadFile would: if its bytes are not the ones that SaveFile wrote. Of a file
// without a trailer, such as Java's, there is nothing to check.
func (f *File) Verify() error {
	if f.tail == 0 {
		return nil
	}
	end := len(f.data) - f.tail
	sum := newChecksum()
	sum.Write(f.data[:end])
	if !bytes.Equal(f.data[end:], trailer(sum)) {
		return errChecksum
	}
	return nil
}

// Close releases the map. f.View is then the zero View, which contains nothing.
// No method may be running meanwhile. Closing again does nothing.
func (f *File) Close() error {
	if f.data == nil {
		return nil
	}
	data := f.data
	f.data, f.tail = nil, 0
	*f.View = View{}
	if err := unmapFile(data); err != nil {
		return fmt.Errorf("bloom: unmapping: %w", err)
	}
	return nil
}
