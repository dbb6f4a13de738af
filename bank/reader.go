package bank

import (
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// Reader answers from a file that [Bank.SaveFile] wrote. The file may be in an object store, on a
// network file system, or anywhere else that an [io.ReaderAt] reaches. A Reader reads what a
// look-up needs, and checks every byte that it uses: damage is an error, and so is a failure of the
// store. Neither is ever taken for the answer that no member holds a key.
//
// A Reader keeps only the parameters and the Info. An io.ReaderAt that keeps pages of 4 KiB makes
// repeated look-ups cheaper.
//
// The file must stay as it is while a Reader uses it. If the store has versions of an object, the
// io.ReaderAt should always ask for the same version, such as with the HTTP header If-Match.
//
// Many goroutines may use a Reader at once: every io.ReaderAt permits that. Look-ups of the
// zero Reader return an error. Methods that take a member's number panic if there is no such
// member. A Reader must not be copied.
type Reader struct {
	_      nocopy.Locker
	layout layout
	r      io.ReaderAt // nil in the zero Reader
	info   form.Info
}

// NewReader returns a Reader of the size bytes of r. It reads at most 8 KiB, in two requests.
// If r fails, NewReader returns r's error. If the bytes are not a Bank's file, the error wraps
// [bloom.ErrFormat]. Look at the Info's Hash before the first look-up; see [bloom.View].
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	var l layout
	_, info, err := form.Bank.ParseAt(r, size, l.parse)
	if err != nil {
		return nil, err
	}
	return &Reader{layout: l, r: r, info: info}, nil
}

// read is a source. It makes no request if n is 0.
func (r *Reader) read(from, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return form.Bank.ReadAt(r.r, int64(form.Bank.HeadSize())+int64(from), int64(n))
}

// Which appends to dst the numbers of the members that may hold the key with digest h; see
// [Bank.Which]. It reads K pages of each segment of 32,736 members. A page is 4 KiB, or less in
// the last segment. Each page is a request, and up to 64 requests run at the same time. Once the
// rows have ruled out all members of a segment, Which requests no more pages of that segment. After a
// failure it requests nothing more. On error it returns dst as it was. It takes at most some
// 512 KiB of memory.
func (r *Reader) Which(dst []int, h bloom.Hash) ([]int, error) {
	return r.WhichAll(dst, []bloom.Hash{h})
}

// WhichAll appends to dst the numbers of the members that may hold every key of hs; see
// [Bank.WhichAll] and [Reader.Which].
func (r *Reader) WhichAll(dst []int, hs []bloom.Hash) ([]int, error) {
	if r.r == nil {
		return dst, errors.New("bank: use of a zero Reader")
	}
	all := dst
	segments := r.layout.segments()
	for s := 0; s < segments; s += storage.MaxRequests {
		left, err := r.askSome(s, min(storage.MaxRequests, segments-s), hs)
		if err != nil {
			return dst, err
		}
		for i := range left {
			all = appendBits(all, (s+i)*segmentMembers, left[i].acc)
		}
	}
	return all, nil
}

// askSome asks n segments, the first of which is segment from. It returns the members that remain.
func (r *Reader) askSome(from, n int, hs []bloom.Hash) ([]remains, error) {
	left := make([]remains, n)
	for i := range left {
		_, _, members := r.layout.segment(from + i)
		left[i].acc = left[i].candidates.setAll(members)
	}
	k := r.layout.k
	requests := storage.NewRequests()
	for i := range len(hs) * k {
		x, step := hs[i/k].Words()
		row := r.layout.row(x + uint64(i%k)*step)
		for s := range left {
			if !requests.Go(func() error { return r.ask(&left[s], from+s, row) }) {
				return nil, requests.Wait()
			}
		}
	}
	return left, requests.Wait()
}

// remains are the members of a segment that the rows so far have not ruled out.
type remains struct {
	mu         sync.Mutex
	candidates candidates
	acc        []uint64
	none       bool // all members are ruled out
}

// ask rules out the members of segment s whose bit in a row is clear. If no members remain, it
// requests nothing.
func (r *Reader) ask(left *remains, s int, row uint64) error {
	left.mu.Lock()
	none := left.none
	left.mu.Unlock()
	if none {
		return nil
	}
	data, err := r.layout.readRow(r.read, s, row)
	if err != nil {
		return err
	}
	left.mu.Lock()
	defer left.mu.Unlock()
	left.none = !andRow(left.acc, data)
	return nil
}

// Name returns the name of member i, which is empty if the member has none. If the Bank has names,
// it makes two requests: one for some bytes of a table, and one for the name.
func (r *Reader) Name(i int) (string, error) {
	check(i, r.layout.members)
	return r.layout.readName(r.read, i)
}

// Len returns the number of members.
func (r *Reader) Len() int { return r.layout.members }

// Info returns the Bank's Info.
func (r *Reader) Info() bloom.Info { return door.Info[bloom.Info](r.info) }

// String describes r by the number of its members, and by their bits and hashes.
func (r *Reader) String() string { return r.layout.describe("bank.Reader", r.layout.members) }

// LogValue returns what String returns; see [bloom.Filter.LogValue].
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }
