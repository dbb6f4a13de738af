package bloom

import (
	"encoding/binary"
	"log/slog"
	"math/bits"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/digest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in a filter's binary form without decoding it. The bytes may be in a file, a
// cookie or a cache, or embedded in the program. [NewView] does not copy them. A View gives the
// same answers as a [Filter] that was decoded from the same bytes. The bytes must not change until
// the View is closed; see "Files" in the package comment.
//
// Many goroutines may use a View, but none during Close; see the example of [OpenFile]. In a View
// that is closed or zero, all methods except Close, String and LogValue panic, because any answer
// might be wrong. A View must not be copied.
type View struct {
	_ nocopy.Locker
	layout
	bytes storage.Bytes // the argument of NewView, or the content of a file
	body  []byte        // the part of bytes that holds the words
}

// layout locates the bits of a key in Guava's binary form.
type layout struct {
	words      uint64
	reciprocal uint64 // digest.Reciprocal(words)
	k          int
	strategy   Strategy
	info       form.Info
}

func layoutOf(h form.Header, info form.Info) layout {
	return layout{uint64(h.Words), digest.Reciprocal(h.Words), h.K, Strategy(h.Strategy), info}
}

func (l *layout) m() uint64 { return 64 * l.words }

func (l *layout) describe(name string) string { return describe(name, l.m(), l.k, l.strategy) }

// locate returns the place of the bit that x selects: the offset of its byte from the first word,
// and its position in that byte. Words are big-endian, so bit 0 of a word is in its last byte.
func (l *layout) locate(x uint64) (offset int64, pos uint64) {
	word, pos := digest.Locate(x, l.words, l.reciprocal)
	return 8*int64(word) + 7 - int64(pos/8), pos % 8
}

// NewView returns a View of data, and retains data. data must be exactly one binary form, or the
// content of a file that [Filter.SaveFile] wrote. NewView takes constant time for a binary form,
// but reads all of a file for its checksum. Errors wrap [ErrFormat].
func NewView(data []byte) (*View, error) { return newView(storage.Bytes{Data: data}, true) }

func newView(b storage.Bytes, verify bool) (*View, error) {
	h, body, info, err := guavaForm.Parse(b.Data)
	if err == nil && verify {
		err = guavaForm.Verify(b.Data)
	}
	if err != nil {
		return nil, err
	}
	return &View{layout: layoutOf(h, info), bytes: b, body: body}, nil
}

// opened panics if v is closed or zero.
func (v *View) opened() *View {
	v.bytes.Check("bloom")
	return v
}

// Close unmaps the file of [OpenFile]. After Close, the argument of [NewView] may change. No other
// method may run at the same time. Closing again does nothing.
func (v *View) Close() error {
	b := v.bytes
	*v = View{}
	return b.Close("bloom")
}

// Verify reads all bytes of a saved file. If their checksum is wrong, it returns an error that
// wraps [ErrFormat]. A binary form without a trailer, for example from Java, has no checksum, so
// Verify returns nil.
func (v *View) Verify() error {
	return guavaForm.Verify(v.opened().bytes.Data)
}

// Contains reports whether key may have been added; see [Filter.Contains]. It requires that the
// keys were hashed with [Sum]; check [View.Info] first.
func (v *View) Contains(key []byte) bool { return v.ContainsHash(Sum(key)) }

// ContainsString is like Contains.
func (v *View) ContainsString(key string) bool { return v.ContainsHash(SumString(key)) }

// ContainsHash is like Contains.
func (v *View) ContainsHash(h Hash) bool {
	x, x32 := h.h1, newMitz32(h)
	for range v.opened().k {
		if v.strategy == Mitz32 {
			x = x32.nextIndex()
		}
		if offset, pos := v.locate(x); v.body[offset]>>pos&1 == 0 {
			return false
		}
		x += h.h2
	}
	return true
}

// ContainsBatch looks up hs; see "Batches" in the package comment.
func (v *View) ContainsBatch(found []bool, hs []Hash) {
	v.opened()
	found = bitwords.Fill("bloom", found, len(hs))
	for i, h := range hs {
		found[i] = v.ContainsHash(h)
	}
}

// Info returns the filter's Info. It is zero unless [Filter.SaveFile] wrote the bytes.
func (v *View) Info() Info { return Info(v.opened().info) }

// String returns the name of v's type and the filter's parameters.
func (v *View) String() string {
	if v.bytes.Data == nil {
		return "bloom.View(closed)"
	}
	return v.describe("bloom.View")
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (v *View) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Stats returns the statistics of the filter. It reads the whole filter.
func (v *View) Stats() Stats {
	body := v.opened().body
	ones := 0
	for i := 0; i < len(body); i += 8 {
		ones += bits.OnesCount64(binary.NativeEndian.Uint64(body[i:]))
	}
	return StatsOf(v.m(), v.k, uint64(ones))
}
