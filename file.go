package bloom

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// SaveFile writes f to a file at path, for [LoadFile], [OpenFile] and Java's
// BloomFilter.readFrom. After a crash at any moment, path holds what it held
// before, or all of f. Once SaveFile has returned nil, f is on disk, except on
// Windows, Plan 9 and WebAssembly, which cannot sync a directory.
//
// The file holds the binary form, which is all that Java reads. A trailer follows, with
// the Info and a CRC-32C of everything; docs/format.md describes it. SaveFile returns an
// error that names the field if the Info cannot be saved; see [Info].
//
// SaveFile writes and syncs a new file in the same directory, named .NAME.bloom-tmp-*, and renames
// it to path. The directory must be readable, and needs room for the old file and the new one. If
// SaveFile fails, it removes the new file. If the process is killed, the new file stays until the
// next SaveFile to path removes it.
//
// If there is a file at path, the new file gets its permissions, and also its owner and group if
// the system permits that. It does not get access-control lists and other attributes. Until it is
// complete, only its owner may read it. If there is no file at path, the new file has the
// permissions that os.Create gives. SaveFile replaces a symbolic link itself. The new file then has
// the permissions of the file that the link leads to, and that file stays as it is. SaveFile
// refuses to replace anything else that is not a regular file. If several SaveFiles write to one
// path at once, the file of the last one stays. On Windows SaveFile fails while the file is open,
// for example by [OpenFile].
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

// LoadFile reads a filter from a file. If the file has changed since
// [Filter.SaveFile] wrote it, LoadFile returns an error that wraps [ErrFormat]. A
// changed bit, a missing byte and an added byte are always noticed. The checksum
// misses other damage with probability 2^-32. If another program wrote the file, look at its
// Info's Hash before the first look-up; see [View].
//
// LoadFile also reads a file that holds a binary form alone, as Java writes it. It then checks only
// the header and the length. If a file of SaveFile has lost its whole trailer, it looks like
// Java's, so LoadFile accepts it. Such a filter still has all keys.
//
// LoadFile allocates as much memory as the file is long, and none before the file's header
// and length agree.
func LoadFile(path string) (*Filter, error) { return storage.Load("bloom", path, load) }

// load reads a whole file.
func load(r *form.FileReader) (*Filter, error) {
	h, array, info, err := guavaForm.ReadFile(r)
	if err != nil {
		return nil, err
	}
	return &Filter{filter: filterOf(h, array, info)}, nil
}

// LoadOrNew returns the filter in the file at path, or New(n, p) if there is no such file. A new
// filter is empty: its OnesCount is 0. To get a SyncFilter, pass the result to [NewSyncFrom].
// LoadOrNew writes no file.
//
// LoadOrNew returns an error instead of a new filter if there is a file that cannot be read. It
// also does so if path is empty, if the directory of path is missing, or if path is a link to
// nothing. So a wrong path is reported immediately, and not by a later SaveFile.
//
// If the filter in the file has other parameters than New(n, p), LoadOrNew returns an error that
// wraps [ErrMismatch]. The parameters are M, K and Strategy. Other n and p may have the same ones.
// The message has N and P of the file's Info, if there is one. The Info does not count: if another
// program may have written the file, look at its Hash before the first look-up.
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

// WriteFile replaces the file at path by what w writes, or creates it. Everything that
// [Filter.SaveFile] says about crashes, permissions and links holds for it, too. It is for other
// files that belong to a filter: to save a filter, call its SaveFile, which also writes its Info
// and a checksum. WriteFile returns the error of w, wrapped. It does not buffer w's writes.
func WriteFile(path string, w io.WriterTo) error {
	if w == nil {
		return errors.New("bloom: WriteFile without a WriterTo")
	}
	err := files.Write(path, func(to io.Writer) error {
		_, err := w.WriteTo(to)
		return err
	})
	if err != nil {
		return fmt.Errorf("bloom: writing: %w", err)
	}
	return nil
}

// Lock locks the file at path against other processes and other calls of Lock, until unlock is
// called or the process ends in any way. So a program can load a file, change the filter, and save
// it, while no other program does so. The lock is advisory: it keeps out only those who also call
// Lock, such as the command bloom. SaveFile and LoadFile need no lock to keep a file whole.
//
// If the file is locked, Lock waits until ctx is done, and then returns an error that wraps ctx's.
// It tries at least once, even if ctx is done before. Many calls of unlock are as one.
//
// The lock is a lock of the system on an empty file in the same directory, named .NAME.bloom-lock,
// which Lock creates and unlock removes. If the process is killed, the empty file stays, and the
// next Lock takes it over. There may be no file at path yet. If path is a symbolic link, Lock locks
// the file that it leads to. SaveFile would replace such a link, so pass the file's own path to
// both. Lock does not follow a link at the name of the lock, and refuses anything there that is not
// a regular file.
//
// On NFS the lock holds between machines if the server and the mount support locks. If the file
// system or the operating system has no such locks, the error wraps [errors.ErrUnsupported].
// Linux, macOS, Windows and the BSDs have them.
func Lock(ctx context.Context, path string) (unlock func() error, err error) {
	unlock, err = files.Lock(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("bloom: locking: %w", err)
	}
	return unlock, nil
}

// OpenFile opens a file that [LoadFile] can load. It checks the length, the header, and the trailer
// with the Info. It does not read the bits, so a large file takes as long as a small one.
// [View.Verify] notices damaged bits; OpenFile does not. The caller must Close the View. Look at
// its Info's Hash before the first look-up; see [View].
func OpenFile(path string) (*View, error) {
	return storage.OpenView("bloom", path, func(b storage.Bytes) (*View, error) {
		return newView(b, false)
	})
}
