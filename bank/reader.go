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

// Reader looks keys up in a file that [Bank.SaveFile] wrote, without loading it; see "Files" in
// package bloom. Everything that it reads has a checksum: a look-up that reads damaged bytes
// returns an error. A Reader keeps only the parameters and the Info in memory. If keys are looked
// up repeatedly, use an [io.ReaderAt] that caches pages of 4 KiB.
//
// Look-ups in the zero Reader return an error. Methods that take the number of a member panic if
// there is no such member. A Reader must not be copied.
type Reader struct {
	_      nocopy.Locker
	layout layout
	r      io.ReaderAt // nil in the zero Reader
	info   form.Info
}

// NewReader returns a Reader for the file in r, which has size bytes. It reads at most 9 KiB of a
// file that [Bank.SaveFile] wrote. If the file does not hold a Bank, the error wraps
// [bloom.ErrFormat]. If r fails, the error wraps r's error.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	var l layout
	_, info, err := form.Bank.ParseAt(r, size, l.parse)
	if err != nil {
		return nil, err
	}
	return &Reader{layout: l, r: r, info: info}, nil
}

func (r *Reader) read(offset, n int) ([]byte, error) {
	return form.Bank.ReadAt(r.r, int64(form.Bank.HeadSize())+int64(offset), int64(n))
}

// Which is like [Bank.Which]. For each segment of 32,736 members it requests K pages, but stops
// when all members of the segment are ruled out. It makes up to 64 requests in parallel. Each page
// is 4 KiB, or less in the last segment. After an error, Which stops, and returns dst unchanged.
// Unlike Bank.Which, it allocates: up to about 512 KiB are in use at once, besides the result.
func (r *Reader) Which(dst []int, h bloom.Hash) ([]int, error) {
	return r.WhichAll(dst, []bloom.Hash{h})
}

// WhichAll is like [Bank.WhichAll]. It requests at most K pages for each segment and key; see
// [Reader.Which].
func (r *Reader) WhichAll(dst []int, hs []bloom.Hash) ([]int, error) {
	if r.r == nil {
		return dst, errors.New("bank: use of a zero Reader: make it with NewReader")
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

// askSome looks hs up in the segments first to first+n-1, and returns the members that remain in
// each.
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

// remains has the members of a segment that have not yet been ruled out.
type remains struct {
	mu         sync.Mutex
	candidates candidates
	acc        []uint64
	none       bool // all members are ruled out
}

// ruleOut reads a row of segment s, and rules out the members with a clear bit in it. It reads
// nothing if all members are already ruled out.
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

// Name returns the name of member i, or "" if it has none. It makes at most two requests.
func (r *Reader) Name(i int) (string, error) {
	check(i, r.layout.members)
	return r.layout.readName(r.read, i)
}

// Len returns the number of members.
func (r *Reader) Len() int { return r.layout.members }

// Info returns the Bank's Info.
func (r *Reader) Info() bloom.Info { return bloom.Info(r.info) }

// String returns the name of r's type, the Bank's parameters and the number of its members.
func (r *Reader) String() string { return r.layout.describe("bank.Reader", r.layout.members) }

// LogValue implements slog.LogValuer. The value is the result of String.
func (r *Reader) LogValue() slog.Value { return slog.StringValue(r.String()) }
