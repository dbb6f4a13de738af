package bank

import (
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View answers from the binary form of a [Bank] without decoding it. The form may be a file, a part
// of a larger file, or embedded in the program. A View answers as the decoded Bank does.
//
// Unix and Windows map the file of [OpenFile] into memory: a look-up of one key reads K pages for
// each 32,736 members, and processes share them. So the file may be larger than memory. On other
// systems OpenFile reads the whole file into memory.
//
// The bytes must stay unchanged until the View is closed. If a program writes to an open file or
// cuts it, look-ups are wrong, or the process dies of SIGBUS. On Unix [Bank.SaveFile] may replace
// the file, and the file may be removed. The View still shows the old Bank then.
//
// Many goroutines may use a View at once. [View.Close] needs the View to itself; see the example of
// [bloom.OpenFile]. If a View is closed or zero, all methods but Close, String and LogValue panic.
// Methods that take a member's number panic if there is no such member. A View must not be copied.
type View struct {
	_      nocopy.Locker
	layout layout
	bytes  storage.Bytes // the whole binary form
	body   []byte        // the bytes of its words
	info   form.Info
}

// NewView returns a View of data, which it retains. data is a binary form, such as the content of a
// file, and no byte more. data need not be aligned, but look-ups are faster if it is aligned to 8
// bytes. NewView checks the length, the parameters and the Info, and takes constant time.
// [View.Verify] checks the rest. Errors wrap [bloom.ErrFormat].
func NewView(data []byte) (*View, error) { return newView(storage.Bytes{Data: data}) }

func newView(b storage.Bytes) (*View, error) {
	var l layout
	_, body, info, err := form.Bank.Parse(b.Data, l.parse)
	if err != nil {
		return nil, err
	}
	return &View{layout: l, bytes: b, body: body, info: info}, nil
}

// OpenFile opens a file that [Bank.SaveFile] wrote. It checks the length, the parameters and
// the Info. So a large file takes no more time than a small one. OpenFile does not notice
// damaged members, [View.Verify] does. The caller must Close the View. Look at its Info's Hash
// before the first look-up; see [bloom.View].
//
// On Linux, OpenFile advises the kernel to read the pages that look-ups need, and not the
// pages around them. If memory has room for the file, and many look-ups follow, call
// [View.Verify] first: it reads the whole file in order.
func OpenFile(path string) (*View, error) {
	v, err := storage.OpenView("bank", path, newView)
	if err == nil {
		v.bytes.Random()
	}
	return v, err
}

// Close ends the View. It releases the map of [OpenFile]; the bytes of [NewView] are the caller's
// again. No other method may run at the same time. Closing again does nothing.
func (v *View) Close() error {
	b := v.bytes
	*v = View{}
	return b.Close("bank")
}

// open returns the layout of v, and panics if v is closed or zero.
func (v *View) open() *layout {
	v.bytes.Check("bank")
	return &v.layout
}

// segment returns segment s, as words if they are aligned and the machine is little-endian.
func (v *View) segment(s int) segment {
	from, g, _ := v.layout.segment(s)
	n := g.words(v.layout.bits())
	if bitwords.Aligned(v.body) {
		return segment{grid: g, words: bitwords.WordsOf(v.body, 8*from, n)}
	}
	return segment{grid: g, data: v.body[8*from:][:8*n]}
}

// read is a source.
func (v *View) read(from, n int) ([]byte, error) { return v.body[from:][:n], nil }

// ContainsHash reports whether member i may hold the key with digest h; see
// [Bank.ContainsHash].
func (v *View) ContainsHash(i int, h bloom.Hash) bool {
	l := v.open()
	check(i, l.members)
	seg := v.segment(i / segmentMembers)
	return l.contains(&seg, i%segmentMembers, h)
}

// Which appends to dst the numbers of the members that may hold the key with digest h; see
// [Bank.Which].
func (v *View) Which(dst []int, h bloom.Hash) []int { return v.WhichAll(dst, []bloom.Hash{h}) }

// WhichAll appends to dst the numbers of the members that may hold every key of hs; see
// [Bank.WhichAll].
func (v *View) WhichAll(dst []int, hs []bloom.Hash) []int {
	l := v.open()
	return l.whichAll(dst, v.segment, l.members, hs)
}

// Filter returns a copy of member i; see [Bank.Filter].
func (v *View) Filter(i int) *bloom.Filter {
	l := v.open()
	check(i, l.members)
	seg := v.segment(i / segmentMembers)
	return l.filter(&seg, i%segmentMembers, v.info)
}

// Name returns the name of member i, which is empty if the member has none. It returns an
// error, which wraps [bloom.ErrFormat], if the name has changed since it was written.
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
	return door.Info[bloom.Info](v.info)
}

// Stats reads all members; see [Bank.Stats].
func (v *View) Stats() bloom.Stats {
	l := v.open()
	done := v.bytes.Sequential()
	defer done()
	return l.stats(v.segment, l.members, int64(len(v.bytes.Data)))
}

// LogValue returns what String returns; see [bloom.Filter.LogValue].
func (v *View) LogValue() slog.Value { return slog.StringValue(v.String()) }

// Verify reads all of the binary form. It returns an error, which wraps
// [bloom.ErrFormat], if the bytes are not those of a Bank.
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

// String describes v by its parameters.
func (v *View) String() string {
	if v.bytes.Data == nil {
		return "bank.View(closed)"
	}
	return v.layout.describe("bank.View", v.layout.members)
}
