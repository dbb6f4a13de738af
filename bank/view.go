package bank

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// View asks the binary form of a [Bank] where it lies: in a file, inside a larger file, or
// embedded in the program. It copies nothing. It answers as the decoded Bank does.
//
// Unix and Windows map the file of [OpenFile] into memory: a look-up of one key reads K pages for
// each 32,736 members, and processes share them. So the file may be larger than memory. Elsewhere
// the View has a copy in memory.
//
// The bytes must stay unchanged until the View is closed. If a program writes to an open file or
// cuts it, look-ups are wrong, or the process dies of SIGBUS. On Unix [Bank.SaveFile] may replace
// the file, and the file may be removed. The View still shows the old Bank then.
//
// Many goroutines may use a View at once. [View.Close] needs it to itself; see the example of
// [bloom.OpenFile]. A View that is closed or zero knows nothing about any key: all methods but
// Close and String panic. Methods that take a member's number panic if there is no such member. A
// View must not be copied.
type View struct {
	_ nocopy.Locker
	layout
	bytes storage.Bytes // the whole form
	body  []byte        // its words
	info  bloom.Info
}

// NewView returns a View of data, which it retains. data is a binary form, or the content
// of a file, and no byte more. It need not be aligned. Where it is aligned to 8 bytes,
// look-ups are faster. NewView checks the length, the parameters and the Info. It takes
// constant time. [View.Verify] notices damaged members. Its errors wrap
// [bloom.ErrFormat].
func NewView(data []byte) (*View, error) { return newView(storage.Bytes{Data: data}) }

func newView(b storage.Bytes) (*View, error) {
	var l layout
	_, body, info, err := form.Bank.Parse(b.Data, l.set)
	if err != nil {
		return nil, err
	}
	return &View{layout: l, bytes: b, body: body, info: bloom.Info(info)}, nil
}

// OpenFile opens a file that [Bank.SaveFile] wrote. It checks the length, the parameters
// and the Info. So a large file takes as long as a small one, and as little memory.
// [View.Verify] notices damaged members, OpenFile does not. The caller must Close the View.
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

// use returns v, and panics if v is closed or zero.
func (v *View) use() *View {
	v.bytes.Check("bank")
	return v
}

// in returns segment s.
func (v *View) in(s int) segment {
	from, stride, _ := v.segment(s)
	n := 64 * v.size * stride
	if bitwords.Aligned(v.body) {
		return segment{words: bitwords.WordsOf(v.body, 8*from, n), stride: stride}
	}
	return segment{data: v.body[8*from:][:8*n], stride: stride}
}

// read is a source.
func (v *View) read(from, n int) ([]byte, error) { return v.body[from:][:n], nil }

// ContainsHash reports whether member i may hold the key with digest h; see
// [Bank.ContainsHash].
func (v *View) ContainsHash(i int, h bloom.Hash) bool {
	check(i, v.use().members)
	seg := v.in(i / segmentMembers)
	return v.contains(&seg, i%segmentMembers, h)
}

// Which appends to dst the numbers of the members that may hold the key with digest h; see
// [Bank.Which].
func (v *View) Which(dst []int, h bloom.Hash) []int { return v.WhichAll(dst, []bloom.Hash{h}) }

// WhichAll appends to dst the numbers of the members that may hold every key of hs; see
// [Bank.WhichAll].
func (v *View) WhichAll(dst []int, hs []bloom.Hash) []int {
	return v.whichAll(dst, v.use().in, v.members, hs)
}

// Filter returns a copy of member i; see [Bank.Filter].
func (v *View) Filter(i int) *bloom.Filter {
	check(i, v.use().members)
	seg := v.in(i / segmentMembers)
	return v.filter(&seg, i%segmentMembers, v.info)
}

// Name returns the name of member i, which is empty if the member has none. It returns an
// error, which wraps [bloom.ErrFormat], if the name has changed since it was written.
func (v *View) Name(i int) (string, error) {
	check(i, v.use().members)
	return v.readName(v.read, i)
}

// Len returns the number of members.
func (v *View) Len() int { return v.use().members }

// M returns the number of bits of a member, a multiple of 64.
func (v *View) M() uint64 { return v.use().layout.M() }

// K returns the number of hashes, which is how many bits a key sets in a member.
func (v *View) K() int { return v.use().layout.K() }

// Info returns the Bank's Info.
func (v *View) Info() bloom.Info { return v.use().info }

// SizeBytes returns the length of the binary form in bytes.
func (v *View) SizeBytes() int64 { return int64(len(v.use().bytes.Data)) }

// Stats reads all members; see [Bank.Stats].
func (v *View) Stats() bloom.Stats {
	defer v.use().bytes.Sequential()()
	return v.stats(v.in, v.members, v.SizeBytes())
}

// Verify reads all of the binary form. It returns an error, which wraps
// [bloom.ErrFormat], if the bytes are not those of a Bank.
func (v *View) Verify() error {
	defer v.use().bytes.Sequential()()
	if err := form.Bank.Verify(v.bytes.Data); err != nil {
		return err
	}
	_, err := v.readAll(v.read)
	return err
}

// String describes v by its parameters.
func (v *View) String() string {
	if v.bytes.Data == nil {
		return "bank.View(closed)"
	}
	return v.describe("bank.View", v.members)
}
