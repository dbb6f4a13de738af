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

// Reader answers from a file that [Bank.SaveFile] wrote, wherever that is; see "Files" in package
// bloom. It checks every byte that it reads: if the file is damaged, a look-up returns an error,
// never an empty answer. It keeps only the parameters and the Info; an [io.ReaderAt] that caches
// pages of 4 KiB makes repeated look-ups cheaper.
//
// Look-ups of the zero Reader return an error. Methods that take a member's number panic if there
// is no such member. A Reader must not be copied.
type Reader struct {
	_      nocopy.Locker
	layout layout
	r      io.ReaderAt // nil in the zero Reader
	info   form.Info
}

// NewReader returns a Reader of r, which has size bytes. It reads at most 8 KiB.
// The error is r's own, or wraps [bloom.ErrFormat] if the bytes are not a Bank's file.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	var l layout
	_, info, err := form.Bank.ParseAt(r, size, l.parse)
	if err != nil {
		return nil, err
	}
	return &Reader{layout: l, r: r, info: info}, nil
}

// read is a source. It makes no request if n is 0.
func (r *Reader) read(offset, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	return form.Bank.ReadAt(r.r, int64(form.Bank.HeadSize())+int64(offset), int64(n))
}

// Which is like [Bank.Which]. It requests K pages of each segment of 32,736 members, up to 64 pages
// in parallel, but no more pages of a segment once all its members are ruled out. A page is 4 KiB,
// or less in the last segment. After a failure Which requests nothing more, and returns dst as it
// was. It needs at most about 512 KiB of memory.
func (r *Reader) Which(dst []int, h bloom.Hash) ([]int, error) {
	return r.WhichAll(dst, []bloom.Hash{h})
}

// WhichAll is like [Bank.WhichAll], with the requests of [Reader.Which].
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

// askSome returns the members that hs does not rule out, for n segments beginning with segment
// first.
func (r *Reader) askSome(first, n int, hs []bloom.Hash) ([]remains, error) {
	left := make([]remains, n)
	for i := range left {
		_, _, members := r.layout.segment(first + i)
		left[i].acc = left[i].candidates.setAll(members)
	}
	k := r.layout.k
	requests := storage.NewRequests()
	for i := range len(hs) * k {
		x, step := hs[i/k].Words()
		row := r.layout.row(x + uint64(i%k)*step)
		for s := range left {
			if !requests.Go(func() error { return r.ruleOut(&left[s], first+s, row) }) {
				return nil, requests.Wait()
			}
		}
	}
	return left, requests.Wait()
}

// remains has the members of a segment that the rows read so far do not rule out.
type remains struct {
	mu         sync.Mutex
	candidates candidates
	acc        []uint64
	none       bool // all members are ruled out
}

// ruleOut reads a row of segment s and rules out members by it. If no members remain, it requests
// nothing.
func (r *Reader) ruleOut(left *remains, s int, row uint64) error {
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

// Name returns the name of member i, or "" if it has none. If the Bank has names, Name makes two
// requests.
func (r *Reader) Name(i int) (string, error) {
	check(i, r.layout.members)
	return r.layout.readName(r.read, i)
}

// Len returns the number of members.
func (r *Reader) Len() int { return r.layout.members }

// Info returns the Bank's Info.
func (r *Reader) Info() bloom.Info { return bloom.Info(r.info) }

// String describes r by the number of its members, their bits and their hashes.
func (r *Reader) String() string { return r.layout.describe("bank.Reader", r.layout.members) }

// LogValue returns what String returns.
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }
