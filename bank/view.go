package bank

import (
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View looks keys up in the binary form of a [Bank] without decoding it. For files, changes to the
// bytes, concurrent use and the zero value, see [bloom.View]. The file may be larger than memory. A
// look-up of one key reads at most K pages of 4 KiB for every 32,736 members, and at most 2*K for
// the remaining members.
//
// Methods that take the number of a member panic if there is no such member. A View must not be
// copied.
type View struct {
	_      nocopy.Locker
	layout layout
	bytes  storage.Bytes // the whole binary form
	body   []byte        // the bytes of the words
	info   form.Info
}

// NewView returns a View of data, and retains data. data must be exactly one binary form. On 64-bit
// little-endian machines, look-ups are faster if data is 8-byte aligned. NewView makes the same
// checks as [OpenFile]. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) { return newView(storage.Bytes{Data: data}) }

func newView(b storage.Bytes) (*View, error) {
	var l layout
	_, body, info, err := form.Bank.Parse(b.Data, l.parse)
	if err != nil {
		return nil, err
	}
	return &View{layout: l, bytes: b, body: body, info: info}, nil
}

// OpenFile opens a file that [Bank.SaveFile] wrote; see "Files" in package bloom. It checks the
// length, the parameters and the Info. If one of these is wrong, the error wraps [bloom.ErrFormat].
// The caller must call [View.Close].
//
// On Linux, OpenFile advises the kernel to read only the pages that look-ups need. If the file fits
// in memory, and many keys will be looked up, call [View.Verify] first, which reads the whole file
// in order.
func OpenFile(path string) (*View, error) {
	v, err := storage.OpenView("bank", path, newView)
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
	return b.Close("bank")
}

// open panics if v is closed or zero.
func (v *View) open() *layout {
	v.bytes.Check("bank")
	return &v.layout
}

func (v *View) segment(s int) segment {
	start, g, _ := v.layout.segment(s)
	n := g.words(v.layout.bits())
	if bitwords.Aligned(v.body) {
		return segment{grid: g, words: bitwords.WordsOf(v.body, 8*start, n)}
	}
	return segment{grid: g, data: v.body[8*start:][:8*n]}
}

func (v *View) read(offset, n int) ([]byte, error) { return v.body[offset:][:n], nil }

// ContainsHash is like [Bank.ContainsHash].
func (v *View) ContainsHash(i int, h bloom.Hash) bool {
	l := v.open()
	check(i, l.members)
	seg := v.segment(i / segmentMembers)
	return l.contains(&seg, i%segmentMembers, h)
}

// Which is like [Bank.Which].
func (v *View) Which(dst []int, h bloom.Hash) []int { return v.WhichAll(dst, []bloom.Hash{h}) }

// WhichAll is like [Bank.WhichAll].
func (v *View) WhichAll(dst []int, hs []bloom.Hash) []int {
	l := v.open()
	return l.whichAll(dst, v.segment, l.members, hs)
}

// Filter is like [Bank.Filter].
func (v *View) Filter(i int) *bloom.Filter {
	l := v.open()
	check(i, l.members)
	seg := v.segment(i / segmentMembers)
	return l.filter(&seg, i%segmentMembers, v.info)
}

// Name returns the name of member i, or "" if it has none. If the name is damaged, the error wraps
// [bloom.ErrFormat].
func (v *View) Name(i int) (string, error) {
	l := v.open()
	check(i, l.members)
	return l.readName(v.read, i)
}

// Len returns the number of members.
func (v *View) Len() int { return v.open().members }

// Info returns the Bank's Info.
func (v *View) Info() bloom.Info {
	v.open()
	return bloom.Info(v.info)
}

// Stats is like [Bank.Stats].
func (v *View) Stats() bloom.Stats {
	l := v.open()
	done := v.bytes.Sequential()
	defer done()
	return l.stats(v.segment, l.members, int64(len(v.bytes.Data)))
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (v *View) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Verify reads the whole binary form. If it is not intact, the error wraps [bloom.ErrFormat].
func (v *View) Verify() error {
	l := v.open()
	done := v.bytes.Sequential()
	defer done()
	if err := form.Bank.Verify(v.bytes.Data); err != nil {
		return err
	}
	_, err := l.readAll(v.read)
	return err
}

// String returns the name of v's type, the Bank's parameters and the number of its members.
func (v *View) String() string {
	if v.bytes.Data == nil {
		return "bank.View(closed)"
	}
	return v.layout.describe("bank.View", v.layout.members)
}
