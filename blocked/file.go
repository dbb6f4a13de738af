package blocked

import (
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
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
// closed panic, and so do those of its View. A File must not be copied.
type File struct {
	_ nocopy.Locker
	*View
}

// OpenFile opens a file that [Filter.SaveFile] wrote. It checks the length, the header and
// the Info. So a large file takes as long as a small one. [File.Verify] notices damaged
// bits, OpenFile does not. The caller must Close the File.
func OpenFile(path string) (*File, error) {
	view, data, err := storage.MapFile("blocked", path, NewView)
	if err != nil {
		return nil, err
	}
	files.AdviseRandom(data)
	view.isFile = true
	return &File{View: view}, nil
}

// Close releases the map. No other method may run at the same time. Closing again
// does nothing.
func (f *File) Close() error {
	if f.View == nil || f.closed {
		return nil
	}
	f.closed = true
	return storage.Unmap("blocked", f.data)
}
