package cuckoo

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in a filter's binary form where it lies: in a cache's value, a part of a larger
// file, a file embedded in the program. It copies nothing but the list of keys that found no place. It
// answers exactly as the [Filter] decoded from the same bytes does. It is as fast if the bytes begin at
// a multiple of 8 in memory, on a little-endian machine of 64 bits, and otherwise somewhat slower.
//
// The bytes must stay unchanged for as long as the View is used. A View may be used by many goroutines
// at once. The zero View contains nothing. A View must not be copied.
type View struct {
	_      nocopy.Locker
	f      lookups
	data   []byte // the binary form
	isFile bool
	closed bool // with its File
}

// NewView returns a View of data, which it retains. data is a binary form, which is also the content of a
// file, and no byte more. NewView checks the header, the list and the Info, and takes constant time.
// [View.Verify] checks the rest. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) {
	params, body, info, err := form.Cuckoo.Parse(data, checkParams)
	if err != nil {
		return nil, err
	}
	end := int(wordsFor(params[0], params[1])) + 1
	list := make([]uint64, 3*params[2])
	form.GetWords(list, body[8*end:], form.LittleEndian)
	t, err := tableOf(params, list)
	if err != nil {
		return nil, err
	}
	if bitwords.Aligned(body) {
		t.words = bitwords.WordsOf(body, 0, end)
	} else {
		t.bytes = body
	}
	return &View{f: lookups{t, bloom.Info(info)}, data: data}, nil
}

// use returns what v looks keys up in. v is nil in a zero File.
func (v *View) use() *lookups {
	if v == nil || v.closed {
		panic("cuckoo: use of a File that is closed or zero")
	}
	return &v.f
}

// Contains reports whether key may be in; see [Filter.Contains].
func (v *View) Contains(key []byte) bool { return v.use().Contains(key) }

// ContainsString is Contains of key's bytes, without copying them.
func (v *View) ContainsString(key string) bool { return v.use().ContainsString(key) }

// ContainsHash is Contains by digest.
func (v *View) ContainsHash(h bloom.Hash) bool { return v.use().ContainsHash(h) }

// ContainsBatch is [Filter.ContainsBatch].
func (v *View) ContainsBatch(found []bool, hs []bloom.Hash) { v.use().ContainsBatch(found, hs) }

// Len returns the number of keys that are in; see [Filter.Len].
func (v *View) Len() uint64 { return v.use().Len() }

// Cap returns the number of places for tags.
func (v *View) Cap() uint64 { return v.use().Cap() }

// FPR returns the rate of false positives; see [Filter.FPR].
func (v *View) FPR() float64 { return v.use().FPR() }

// Stats returns the figures of the filter; see [Filter.Stats].
func (v *View) Stats() bloom.Stats { return v.use().Stats() }

// Info returns the filter's Info.
func (v *View) Info() bloom.Info { return v.use().Info() }

// SizeBytes returns the length of the binary form in bytes.
func (v *View) SizeBytes() int64 {
	v.use()
	return int64(len(v.data))
}

// Verify reads all of the bytes and returns an error, which wraps [bloom.ErrFormat], if they are not the
// ones that a filter wrote.
func (v *View) Verify() error {
	if v.use().table == nil {
		return nil
	}
	defer files.AdviseSequential(v.data, v.isFile)()
	if err := form.Cuckoo.Verify(v.data); err != nil {
		return err
	}
	return v.f.check()
}

// String describes v by its parameters.
func (v *View) String() string {
	if v == nil || v.closed {
		return "cuckoo.File(closed)"
	}
	return v.f.describe(storage.ViewName("cuckoo", v.isFile))
}

// File looks keys up in a file. Unix and Windows map the file into memory: a look-up reads the one or two
// pages that it needs, and processes share them. So the file may be larger than memory. Elsewhere a
// File is a copy in memory. If memory has room for the file, and many keys follow, call
// [File.Verify] first: it reads the whole file in order.
//
// Nobody may write to the file or cut it while it is open. Look-ups would be wrong, or the process would
// die of SIGBUS. On Unix [Filter.SaveFile] may replace the file, and the file may be removed. The File
// still shows the old filter then.
//
// Many goroutines may use a File at once. [File.Close] needs it to itself; see the example of
// [bloom.OpenFile]. All methods but Close and String of a File that is zero or closed panic, and so do
// those of its View. A File must not be copied.
type File struct {
	_ nocopy.Locker
	*View
}

// OpenFile opens a file that [Filter.SaveFile] wrote. It checks the length, the header, the list and the
// Info. So a large file takes as long as a small one. [File.Verify] notices damaged bits, OpenFile does
// not. The caller must Close the File.
func OpenFile(path string) (*File, error) {
	view, data, err := storage.MapFile("cuckoo", path, NewView)
	if err != nil {
		return nil, err
	}
	files.AdviseRandom(data)
	view.isFile = true
	return &File{View: view}, nil
}

// Close releases the map. No other method may run at the same time. Closing again does nothing.
func (f *File) Close() error {
	if f.View == nil || f.closed {
		return nil
	}
	f.closed = true
	return storage.Unmap("cuckoo", f.data)
}
