package cuckoo

import (
	"fmt"
	"io"
	"slices"

	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

const errNoForm = form.NoForm("cuckoo")

// checkParams is a form.Check. The words of a frame are the buckets, one word for the number of
// keys, and the entries of the list.
func checkParams(params []uint64) (uint64, error) {
	buckets, bits, entries := params[0], params[1], params[2]
	if err := checkSize(buckets, bits); err != nil {
		return 0, err
	}
	if entries > room {
		return 0, fmt.Errorf("a list of %d keys is longer than %d", entries, room)
	}
	return wordsFor(buckets, bits) + 1 + 3*entries, nil
}

// tableOf returns a table without buckets. list has the words of the entries. tableOf returns an
// error unless they are sorted, have different digests, and have counts from 1 to maxTimes.
func tableOf(params, list []uint64) (*table, error) {
	t := &table{list: make([]uint64, listWords)}
	t.shape(params[0], params[1])
	copy(t.list[1:], list)
	t.mark()
	if !slices.Equal(t.flat(), list) {
		return nil, form.Errorf("cuckoo", "the list is out of order, or a key in it has the count 0")
	}
	entries := t.entries()
	for i, e := range entries {
		twice := i > 0 && slices.Equal(e[:times], entries[i-1][:times])
		if twice || e[times] > maxTimes {
			return nil, form.Errorf("cuckoo",
				"the list has a key twice, or with a count above %d", uint64(maxTimes))
		}
	}
	return t, nil
}

// check reads all of t. It returns an error if the number of keys is wrong, or if bits after the
// last bucket are set.
func (t *table) check() error {
	n := t.tags()
	for _, e := range t.entries() {
		n += e[times]
	}
	if n != t.len() {
		return form.Errorf("cuckoo", "the number of keys is given as %d, but is %d", t.len(), n)
	}
	end := t.buckets * t.width
	if end%64 != 0 && t.word(end/64)>>(end%64) != 0 {
		return form.Errorf("cuckoo", "bits after the last bucket are set")
	}
	return nil
}

// SizeBytes returns the length of the binary form in bytes, or 0 for the zero Filter. Each key in
// the list adds 24 bytes; see [Filter.Insert].
func (f *Filter) SizeBytes() int64 { return f.Stats().SizeBytes }

// AppendBinary implements encoding.BinaryAppender; see "Encodings" in package bloom.
func (f filter) AppendBinary(dst []byte) ([]byte, error) {
	return form.AppendBinary(dst, f.Stats().SizeBytes, f)
}

// MarshalBinary implements encoding.BinaryMarshaler.
func (f filter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// WriteTo implements io.WriterTo. In a SyncFilter, insertions and removals wait until WriteTo
// returns. If w is slow, encode the result of [SyncFilter.Snapshot] instead.
func (f filter) WriteTo(w io.Writer) (int64, error) {
	t := f.table
	if t == nil {
		return 0, errNoForm
	}
	t.lock()
	defer t.unlock()
	list := t.flat()
	params := []uint64{t.buckets, t.bits, uint64(len(list) / entryWords)}
	fill := func(dst []byte, first int) {
		end := min(first+len(dst)/8, len(t.words))
		words := t.words[min(first, end):end]
		form.PutWords(dst, words, ^uint64(0), form.LittleEndian)
		dst = dst[8*len(words):]
		rest := list[max(0, first-len(t.words)):][:len(dst)/8]
		form.PutWords(dst, rest, ^uint64(0), form.LittleEndian)
	}
	return form.Cuckoo.WriteFunc(w, params, len(t.words)+len(list), f.info.Get(), fill)
}

// UnmarshalBinary implements encoding.BinaryUnmarshaler; see "Encodings" in package bloom.
func (f *filter) UnmarshalBinary(data []byte) error {
	return form.Unmarshal("cuckoo", data, f, read)
}

// ReadFrom implements io.ReaderFrom.
func (f *filter) ReadFrom(r io.Reader) (int64, error) { return form.ReadFrom(r, f, read) }

func read(r io.Reader) (f filter, n int64, err error) {
	params, array, info, n, err := form.Cuckoo.Read(r, checkParams)
	if err != nil {
		return f, n, err
	}
	end := wordsFor(params[0], params[1]) + 1
	t, err := tableOf(params, array[end:])
	if err != nil {
		return f, n, err
	}
	t.words = array[:end:end]
	return filter{table: t, info: form.Keep(info)}, n, t.check()
}

// MarshalText implements encoding.TextMarshaler.
func (f filter) MarshalText() ([]byte, error) { return form.AppendText(nil, f) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *filter) UnmarshalText(text []byte) error {
	return form.UnmarshalText("cuckoo", text, f, func() { *f = filter{} })
}

// SaveFile saves f to the file at path; see "Files" in package bloom. In a SyncFilter, insertions
// and removals wait while SaveFile writes.
func (f *filter) SaveFile(path string) error {
	return storage.SaveFile(form.Cuckoo, path, f.Stats().SizeBytes, f.info.Get(), f)
}

// LoadFile loads a file that SaveFile wrote; see "Files" in package bloom.
func LoadFile(path string) (*Filter, error) {
	return storage.LoadFile(form.Cuckoo, path, new(Filter))
}

// LoadOrNew loads the file at path, or returns New(n, p) if there is none; see "Files" in package
// bloom. The saved filter must have the same number of buckets, and of bits in a tag, as New(n, p).
func LoadOrNew(path string, n uint64, p float64) (*Filter, error) {
	buckets, bits, err := size(n, p)
	if err != nil {
		return nil, err
	}
	create := func() (*Filter, error) { return New(n, p) }
	return storage.LoadOr(path, LoadFile, create, func(f *Filter) error {
		switch {
		case f.table.buckets != buckets:
			return form.Mismatch("cuckoo", "buckets", f.table.buckets, buckets)
		case f.table.bits != uint64(bits):
			return form.Mismatch("cuckoo", "bits", f.table.bits, bits)
		}
		return nil
	})
}
