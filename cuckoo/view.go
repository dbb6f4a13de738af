package cuckoo

import (
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in a filter's binary form without decoding it. For files, changes to the
// bytes, concurrent use and the zero value, see [bloom.View]. The file may be larger than memory; a
// look-up usually reads one or two pages of it. If the file fits in memory, and many keys will be
// looked up, call [View.Verify] first, which reads the whole file in order.
//
// A View gives the same answers as a [Filter] that was decoded from the same bytes. It can be as
// fast as the Filter if the machine is little-endian and 64-bit, and the bytes are in memory and
// 8-byte aligned; otherwise it is slower. NewView copies the list of keys that have no place; see
// [Filter.Insert]. A View must not be copied.
type View struct {
	_     nocopy.Locker
	bytes storage.Bytes // the binary form
	table *table
	info  form.Info
}

// NewView returns a View of data, and retains data. data must be exactly one binary form, such as
// the content of a file. NewView checks the header, the Info, and the list of keys that have no
// place, in constant time; [View.Verify] checks the rest. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) { return newView(storage.Bytes{Data: data}) }

func newView(b storage.Bytes) (*View, error) {
	params, body, info, err := form.Cuckoo.Parse(b.Data, checkParams)
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
	return &View{bytes: b, table: t, info: info}, nil
}

// OpenFile opens a file that [Filter.SaveFile] wrote. It checks the length, the header, the Info,
// and the list of keys that have no place; see "Files" in package bloom. The caller must call
// [View.Close].
func OpenFile(path string) (*View, error) {
	v, err := storage.OpenView("cuckoo", path, newView)
	if err == nil {
		v.bytes.Random()
	}
	return v, err
}

// Close unmaps the file of [OpenFile]. After Close, the argument of [NewView] may change. No other
// method may run at the same time. Closing again does nothing.
func (v *View) Close() error {
	b := v.bytes
	*v = View{}
	return b.Close("cuckoo")
}

// open panics if v is closed or zero.
func (v *View) open() *table {
	v.bytes.Check("cuckoo")
	return v.table
}

// Contains reports whether key may be present; see [Filter.Contains].
func (v *View) Contains(key []byte) bool { return v.open().contains(bloom.Sum(key)) }

// ContainsString is like Contains.
func (v *View) ContainsString(key string) bool { return v.open().contains(bloom.SumString(key)) }

// ContainsHash is like Contains.
func (v *View) ContainsHash(h bloom.Hash) bool { return v.open().contains(h) }

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (v *View) ContainsBatch(found []bool, hs []bloom.Hash) { v.open().containsBatch(found, hs) }

// Len returns the number of insertions that have not been removed; see [Filter.Len].
func (v *View) Len() uint64 { return v.open().len() }

// Stats returns the statistics of the filter; see [Filter.Stats].
func (v *View) Stats() bloom.Stats { return v.open().stats(v.info) }

// LogValue implements slog.LogValuer. The value is the result of String.
func (v *View) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Info returns the filter's Info.
func (v *View) Info() bloom.Info {
	v.open()
	return bloom.Info(v.info)
}

// Verify reads the whole binary form. If it is not intact, the error wraps [bloom.ErrFormat].
func (v *View) Verify() error {
	t := v.open()
	done := v.bytes.Sequential()
	defer done()
	if err := form.Cuckoo.Verify(v.bytes.Data); err != nil {
		return err
	}
	return t.check()
}

// String returns the name of v's type and the filter's parameters.
func (v *View) String() string {
	if v.table == nil {
		return "cuckoo.View(closed)"
	}
	return v.table.describe("cuckoo.View")
}
