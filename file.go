package bloom

import (
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// SaveFile atomically replaces or creates the file at path, for [LoadFile], [OpenFile] and Java's
// BloomFilter.readFrom: after a crash at any moment, path holds what it held before, or all of f.
// Once SaveFile has returned nil, f is on disk, except on Windows, Plan 9 and WebAssembly, which
// cannot sync a directory. The file holds the binary form, which is all that Java reads, and a
// trailer with the Info and a CRC-32C of everything (see docs/format.md); if the [Info] cannot be
// saved, the error names the field.
//
// SaveFile writes a new file in the same directory, named .NAME.bloom-tmp-*, and renames it to
// path, so the directory must be readable and have room for both files. It removes the new file if
// it fails, and those that killed processes left. Of several concurrent SaveFiles, the last one's
// file stays; on Windows SaveFile fails while the file is open, for example by [OpenFile].
//
// If there is an old file, the new one is private to its owner while it is written, and then gets
// the old permissions, the old owner and group if the system permits that, and on Linux the
// access-control list; if it cannot have the list or the group, nobody gets more access by that.
// Other attributes, such as user.*, and the lists of other systems, are lost. Without an old file,
// it has the permissions of os.Create. A symbolic link at path is itself replaced, by a file with
// the permissions of the link's target, which stays as it is. Anything else that is not a regular
// file is refused, and so is a link to a device, a pipe or a socket.
func (f *filter) SaveFile(path string) error {
	if f.k == 0 {
		return errNoForm
	}
	info := f.info.Get()
	if err := info.Check("bloom"); err != nil {
		return err
	}
	err := files.Write(path, func(w io.Writer) error {
		return guavaForm.WriteFile(w, f.header(), f.bits.words, info)
	})
	if err != nil {
		return fmt.Errorf("bloom: saving: %w", err)
	}
	return nil
}

// LoadFile reads a filter from a file. If the file has changed since [Filter.SaveFile] wrote it,
// the error wraps [ErrFormat]: a changed bit, a missing byte and an added byte are always noticed,
// and other damage goes unnoticed with probability 2^-32. If another program wrote the file, look
// at its Info's Hash before the first look-up; see [View].
//
// LoadFile also reads a file with a binary form alone, as Java writes it, and then checks only the
// header and the length. A file of SaveFile without its whole trailer looks like that and is
// accepted; its filter still has all keys.
//
// LoadFile allocates as much memory as the file is long, and none before the file's header and
// length agree.
func LoadFile(path string) (*Filter, error) { return storage.Load("bloom", path, load) }

func load(r *form.FileReader) (*Filter, error) {
	h, array, info, err := guavaForm.ReadFile(r)
	if err != nil {
		return nil, err
	}
	return &Filter{filter: filterOf(h, array, info)}, nil
}

// LoadOrNew returns the filter in the file at path, or New(n, p) if there is no such file. It
// writes no file. A new filter's OnesCount is 0. To get a SyncFilter, pass the result to
// [NewSyncFrom].
//
// LoadOrNew returns an error if there is a file that cannot be read, if path is empty or a link to
// nothing, or if its directory is missing, so that a wrong path is reported immediately and not by
// a later SaveFile. If the filter in the file has another M, K or Strategy than New(n, p), the
// error wraps [ErrMismatch], and its message has N and P of the file's Info, if there is one. Other
// n and p may have the same parameters. The Info is not compared: if another program may have
// written the file, look at its Hash before the first look-up.
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	m, k, err := Size(n, p)
	if err != nil {
		return nil, err
	}
	create := func() (*Filter, error) { return New(n, p) }
	return storage.LoadOr(path, LoadFile, create, func(f *Filter) error {
		return f.fits(m, k, fmt.Sprintf("New makes for n = %d, p = %v", n, p))
	})
}

// LoadOrNewSize is [LoadOrNew] with the parameters of [NewSize], for filters of other sizes than
// New's, such as those of [StrictSize].
func LoadOrNewSize(path string, m uint64, k int) (*Filter, error) {
	if _, err := form.WordsFor("bloom", m, k, form.MaxWords); err != nil {
		return nil, err
	}
	create := func() (*Filter, error) { return NewSize(m, k) }
	return storage.LoadOr(path, LoadFile, create, func(f *Filter) error {
		return f.fits(m, k, fmt.Sprintf("NewSize makes for m = %d, k = %d", m, k))
	})
}

// fits returns an error unless f has the strategy Mitz64, k hashes, and m bits rounded up to whole
// words. maker says in the error which call makes such a filter.
func (f *Filter) fits(m uint64, k int, maker string) error {
	if f.M() == (m+63)/64*64 && f.k == k && f.strategy == Mitz64 {
		return nil
	}
	made := ""
	if i := f.Info(); i.N > 0 {
		made = fmt.Sprintf(" made for n = %d, p = %v", i.N, i.P)
	}
	return fmt.Errorf("%w: it is %v%s, not what %s", ErrMismatch, f, made, maker)
}

// OpenFile opens a file that [LoadFile] can load, and checks the length, the header, and the
// trailer with the Info. It does not read the bits, so a large file takes no longer than a small
// one, and only [View.Verify] notices damaged bits. The caller must Close the View. Look at its
// Info's Hash before the first look-up; see [View].
func OpenFile(path string) (*View, error) {
	return storage.OpenView("bloom", path, func(b storage.Bytes) (*View, error) {
		return newView(b, false)
	})
}
