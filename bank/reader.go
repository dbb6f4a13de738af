package bank

import (
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// Reader asks a file that [Bank.SaveFile] wrote, in an object store, on a network file system,
// or anywhere else that an [io.ReaderAt] reaches. It reads what a look-up needs, and checks
// every byte that it uses: damage is an error, and so is a failure of the store. Neither
// is ever taken for the answer that no member holds a key.
//
// A Reader keeps nothing that it read but the parameters and the Info. An io.ReaderAt that
// keeps pages of 4 KiB makes repeated look-ups cheaper.
//
// The file must stay as it is while a Reader uses it. If the store has versions of an object, the
// io.ReaderAt should ask for one and the same, such as with the HTTP header If-Match.
//
// Many goroutines may use a Reader at once: every io.ReaderAt permits that. Look-ups of the
// zero Reader return an error. Methods that take a member's number panic if there is no such
// member. A Reader must not be copied.
type Reader struct {
	_      nocopy.Locker
	layout layout
	r      io.ReaderAt // nil in the zero Reader
	info   bloom.Info
}

// NewReader returns a Reader of the size bytes of r. It reads at most 8 KiB, in two
// requests. An error wraps [bloom.ErrFormat] if the bytes are no file of a Bank's, and is
// r's own if r failed.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	var l layout
	_, info, err := form.Bank.ParseAt(r, size, l.parse)
	if err != nil {
		return nil, err
	}
	return &Reader{layout: l, r: r, info: bloom.Info(info)}, nil
}

// read is a source. It makes no request for nothing.
func (r *Reader) read(from, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return form.Bank.ReadAt(r.r, int64(form.Bank.HeadSize())+int64(from), int64(n))
}

// Which appends to dst the numbers of the members that may hold the key with digest h; see
// [Bank.Which]. It reads K rows of each 32,736 members: a row is 4 KiB, or less of the last
// members. It makes a request for each row, and up to 64 of them at the same time. Once rows
// have ruled out all of some 32,736 members, it requests no more rows of these. After a failure
// it requests nothing more. On error it returns dst as it was. It takes some 256 KiB of memory.
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

// askSome returns what is left of n segments from the given one on.
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
	none       bool
}

// ask rules out the members of segment s that have no bit in a row, unless none are left.
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

// Name returns the name of member i, which is empty if the member has none. It makes two
// requests if there are names: for some bytes of a table, and for the name.
func (r *Reader) Name(i int) (string, error) {
	check(i, r.layout.members)
	return r.layout.readName(r.read, i)
}

// Len returns the number of members.
func (r *Reader) Len() int { return r.layout.members }

// Info returns the Bank's Info.
func (r *Reader) Info() bloom.Info { return r.info }

// String describes r by the number of its members, and by their bits and hashes.
func (r *Reader) String() string { return r.layout.describe("bank.Reader", r.layout.members) }

// LogValue returns what String returns. It reads no members.
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }
