package bloom

import (
	"fmt"
	"io"

	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// SaveFile saves f to the file at path; see "Files" in the package comment. Java's
// BloomFilter.readFrom can read the file, but ignores the trailer, which holds the Info and the
// checksum; see docs/format.md.
func (f *filter) SaveFile(path string) error {
	if f.k == 0 {
		return errNoForm
	}
	info := f.info.Get()
	if bad := info.Check(); bad != nil {
		return bad.In("bloom")
	}
	err := files.Write(path, func(w io.Writer) error {
		return guavaForm.WriteFile(w, f.header(), f.bits.words, info)
	})
	if err != nil {
		return fmt.Errorf("bloom: saving: %w", err)
	}
	return nil
}

// LoadFile loads a file that SaveFile wrote; see "Files" in the package comment.
//
// LoadFile also loads a file that holds only the binary form, for example one that Java wrote. It
// then checks only the header and the length. A saved file that has lost exactly its trailer looks
// the same, so it is accepted; the filter still has all keys.
func LoadFile(path string) (*Filter, error) { return storage.Load("bloom", path, load) }

func load(r *form.FileReader) (*Filter, error) {
	h, array, info, err := guavaForm.ReadFile(r)
	if err != nil {
		return nil, err
	}
	return &Filter{filter: filterOf(h, array, info)}, nil
}

// LoadOrNew loads the file at path, or returns New(n, p) if there is none; see "Files" in the
// package comment. The saved filter must have the same M, K and Strategy as New(n, p). It may have
// been made for different n and p. If the parameters differ, the error shows the saved Info's N and
// P, unless N is 0. If the filter is new, its OnesCount is 0. To get a SyncFilter, pass the result
// to [NewSyncFrom].
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

// LoadOrNewSize is like [LoadOrNew], but takes the parameters of [NewSize]. Use it for sizes that
// New does not choose, such as the results of [StrictSize].
func LoadOrNewSize(path string, m uint64, k int) (*Filter, error) {
	if _, bad := form.WordsFor(m, k, form.MaxWords); bad != nil {
		return nil, bad.In("bloom")
	}
	create := func() (*Filter, error) { return NewSize(m, k) }
	return storage.LoadOr(path, LoadFile, create, func(f *Filter) error {
		return f.fits(m, k, fmt.Sprintf("NewSize makes for m = %d, k = %d", m, k))
	})
}

// fits returns an error unless f has these parameters. The error ends with maker, for example "New
// makes for n = 9, p = 0.1".
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

// OpenFile opens a file that [LoadFile] can load. It checks the length, the header and the Info;
// see "Files" in the package comment. The caller must call [View.Close].
func OpenFile(path string) (*View, error) {
	return storage.OpenView("bloom", path, func(b storage.Bytes) (*View, error) {
		return newView(b, false)
	})
}
