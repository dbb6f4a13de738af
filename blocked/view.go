package blocked

import (
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in a filter's binary form without decoding it. For files, changes to the
// bytes, concurrent use and the zero value, see [bloom.View]. The file may be larger than memory.
//
// A View gives the same answers as a [Filter] that was decoded from the same bytes. It can be as
// fast as the Filter if the machine is little-endian and 64-bit, and the bytes are in memory and
// 8-byte aligned; otherwise it is slower. A View must not be copied.
type View struct {
	_     nocopy.Locker
	bytes storage.Bytes // the binary form
	body  []byte        // the bytes of the words
	lines int
	info  form.Info
	// b shares the memory of body. It is zero unless body is aligned; see bitwords.Aligned.
	b splitblock.Blocks
}

// NewView returns a View of data, and retains data. data must be exactly one binary form, such as
// the content of a file. NewView checks the header and the Info, in constant time; [View.Verify]
// checks the rest. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) { return newView(storage.Bytes{Data: data}) }

func newView(b storage.Bytes) (*View, error) {
	params, body, info, err := form.Blocked.Parse(b.Data, splitblock.CheckParams)
	if err != nil {
		return nil, err
	}
	v := &View{bytes: b, body: body, lines: int(params[1]), info: info}
	if bitwords.Aligned(body) { // speed
		v.b = splitblock.Of(bitwords.WordsOf(body, 0, len(body)/8), v.lines) // speed
	}
	return v, nil
}

// OpenFile opens a file that [Filter.SaveFile] wrote. It checks the length, the header and the
// Info; see "Files" in package bloom. The caller must call [View.Close].
//
// On Linux, OpenFile advises the kernel to read only the pages that look-ups need: usually one for
// an absent key, and at most one for each line of a present key. If the file fits in memory, and
// many keys will be looked up, call Verify first, which reads the whole file in order.
func OpenFile(path string) (*View, error) {
	v, err := storage.OpenView("blocked", path, newView)
	if err == nil { // speed
		v.bytes.Random() // speed
	}
	return v, err
}

// Close unmaps the file of [OpenFile]. After Close, the argument of [NewView] may change. No other
// method may run at the same time. Closing again does nothing.
func (v *View) Close() error {
	b := v.bytes
	*v = View{}
	return b.Close("blocked")
}

// open panics if v is closed or zero.
func (v *View) open() *View {
	v.bytes.Check("blocked")
	return v
}

// Contains reports whether key may have been added; see [Filter.Contains]. It requires that the
// keys were hashed with [bloom.Sum]; check [View.Info] first.
func (v *View) Contains(key []byte) bool {
	if v.open().b.Lines > 0 {
		return v.b.ContainsKey(key)
	}
	return v.contains(bloom.Sum(key))
}

// ContainsString is like Contains.
func (v *View) ContainsString(key string) bool { return v.Contains(bitwords.BytesOf(key)) }

// ContainsHash reports whether the key with digest h may have been added.
func (v *View) ContainsHash(h bloom.Hash) bool {
	if v.open().b.Lines > 0 {
		return v.b.Contains(h)
	}
	return v.contains(h)
}

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (v *View) ContainsBatch(found []bool, hs []bloom.Hash) {
	v.open()
	found = bitwords.Fill("blocked", found, len(hs))
	if v.b.Lines > 0 { // speed
		v.b.ContainsBatch(splitblock.None, found, hs)
		return
	}
	for i, h := range hs {
		found[i] = v.contains(h)
	}
}

// contains is like ContainsHash, but works for unaligned bytes and any byte order.
func (v *View) contains(h bloom.Hash) bool {
	for l := range v.lines {
		offset := splitblock.Bytes * splitblock.Block(h, l, len(v.body)/splitblock.Bytes)
		if !splitblock.HasLine(v.body[offset:offset+splitblock.Bytes], h, l) {
			return false
		}
	}
	return true
}

// Info returns the filter's Info.
func (v *View) Info() bloom.Info { return bloom.Info(v.open().info) }

// Stats returns the statistics of the filter, and reads all of it; see [Filter.Stats].
func (v *View) Stats() bloom.Stats {
	defer v.open().bytes.Sequential()()
	var c splitblock.Census
	var buf [512]uint64
	for first := 0; first < len(v.body); first += 8 * len(buf) {
		chunk := v.body[first:min(first+8*len(buf), len(v.body))]
		form.GetWords(buf[:len(chunk)/8], chunk, form.LittleEndian)
		c.Add(buf[:len(chunk)/8])
	}
	return c.Stats(v.lines, int64(len(v.bytes.Data)))
}

// Verify reads the whole binary form. If the checksum is wrong, it returns an error that wraps
// [bloom.ErrFormat].
func (v *View) Verify() error {
	defer v.open().bytes.Sequential()()
	return form.Blocked.Verify(v.bytes.Data)
}

// String returns the name of v's type and the filter's parameters.
func (v *View) String() string {
	if v.bytes.Data == nil {
		return "blocked.View(closed)"
	}
	return describe("blocked.View", 8*uint64(len(v.body)), v.lines)
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (v *View) LogValue() slog.Value { return slog.StringValue(v.String()) }
