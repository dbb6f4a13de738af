package blocked

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// File looks keys up in a file. Unix and Windows map the file into memory: a look-up
// reads the pages that it needs, and processes share them. So the file may be larger
// than memory. Elsewhere a File is a copy in memory.
//
// On Linux, OpenFile advises the kernel to read the pages that look-ups need, and not
// the pages around them. That is one page for nearly every absent key, and one for each
// line of a present key. If memory has room for the file, and many keys follow, call
// [File.Verify] first: it reads the whole file in order.
//
// Nobody may write to the file or cut it while it is open. Look-ups would be wrong,
// or the process would die of SIGBUS. On Unix [Filter.SaveFile] may replace the
// file, and the file may be removed. The File still shows the old filter then.
//
// Many goroutines may use a File at once. [File.Close] needs it to itself; see the
// example of [bloom.OpenFile]. All methods but Close and String of a File that is zero or
// closed panic. A File must not be copied.
type File struct {
	_    nocopy.Locker
	view *View // nil if the File is zero or closed
}

// OpenFile opens a file that [Filter.SaveFile] wrote. It checks the length, the header and
// the Info. So a large file takes as long as a small one. [File.Verify] notices damaged
// bits, OpenFile does not. The caller must Close the File.
func OpenFile(path string) (*File, error) {
	view, data, err := form.MapFile("blocked", path, NewView)
	if err != nil {
		return nil, err
	}
	files.AdviseRandom(data)
	return &File{view: view}, nil
}

// opened returns the View, which is there until f is closed.
func (f *File) opened() *View {
	if f.view == nil {
		panic("blocked: use of a File that is closed or zero")
	}
	return f.view
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (f *File) Contains(key []byte) bool { return f.opened().Contains(key) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *File) ContainsString(key string) bool { return f.opened().ContainsString(key) }

// ContainsHash is Contains by digest.
func (f *File) ContainsHash(h bloom.Hash) bool { return f.opened().ContainsHash(h) }

// ContainsBatch sets found[i] to ContainsHash of hs[i]. It panics if found is shorter than
// hs.
func (f *File) ContainsBatch(found []bool, hs []bloom.Hash) { f.opened().ContainsBatch(found, hs) }

// M returns the number of bits, a multiple of 256.
func (f *File) M() uint64 { return f.opened().M() }

// Lines returns the number of blocks in which a key has bits; see [Filter.Lines].
func (f *File) Lines() int { return f.opened().Lines() }

// SizeBytes returns the length of the file.
func (f *File) SizeBytes() int64 { return f.opened().SizeBytes() }

// Info returns the filter's Info.
func (f *File) Info() bloom.Info { return f.opened().Info() }

// Stats reads the whole filter; see [Filter.Stats].
func (f *File) Stats() bloom.Stats {
	v := f.opened()
	defer files.AdviseSequential(v.data)()
	return v.Stats()
}

// String describes f by its parameters.
func (f *File) String() string {
	if f.view == nil {
		return "blocked.File(closed)"
	}
	return describe("blocked.File", f.M(), f.Lines())
}

// Verify reads all of the file and returns an error, which wraps [bloom.ErrFormat], if
// its bytes are not the ones that SaveFile wrote.
func (f *File) Verify() error {
	v := f.opened()
	defer files.AdviseSequential(v.data)()
	return v.Verify()
}

// Close releases the map. No other method may run at the same time. Closing again
// does nothing.
func (f *File) Close() error {
	if f.view == nil {
		return nil
	}
	data := f.view.data
	f.view = nil
	return form.Unmap("blocked", data)
}
