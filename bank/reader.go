package bank

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Reader asks a file that [Bank.SaveFile] wrote, in an object store, on a network file system,
// or anywhere else that an [io.ReaderAt] reaches. It reads what a look-up needs, and checks
// every byte that it uses: damage is an error, and so is a failure of the store. Neither
// is ever taken for the answer that no member holds a key.
//
// A Reader keeps nothing that it read but the parameters and the Info. An io.ReaderAt that
// keeps pages of 4 KiB makes repeated look-ups cheaper.
//
// The file must stay as it is while a Reader uses it. If the store can say which version of
// an object it reads, such as with the HTTP header If-Match, let it.
//
// Many goroutines may use a Reader at once, if its io.ReaderAt permits that, as all must.
// Methods that take a member's number panic if there is no such member. A Reader must not be
// copied.
type Reader struct {
	_ nocopy.Locker
	layout
	r    io.ReaderAt
	info bloom.Info
}

// requests is the largest number of reads of one look-up that run at the same time.
const requests = 64

// NewReader returns a Reader of the size bytes of r. It reads at most 8 KiB, in two
// requests. An error wraps [bloom.ErrFormat] if the bytes are no file of a Bank's, and is
// r's own if r failed.
func NewReader(r io.ReaderAt, size int64) (*Reader, error) {
	var l layout
	_, info, err := form.Bank.ParseAt(r, size, l.set)
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
// members. It makes a request for each row, and up to 64 of them at the same time. It makes
// none for the further rows of members that the rows before have ruled out, nor after one has
// failed. It takes 4 KiB of memory for each of the 64 segments that it asks at a time. On error
// dst is unchanged.
func (r *Reader) Which(dst []int, h bloom.Hash) ([]int, error) {
	return r.WhichAll(dst, []bloom.Hash{h})
}

// WhichAll appends to dst the numbers of the members that may hold every key of hs; see
// [Bank.WhichAll] and [Reader.Which].
func (r *Reader) WhichAll(dst []int, hs []bloom.Hash) ([]int, error) {
	all := dst
	for s := 0; s < r.segments(); s += requests {
		left, err := r.askSome(s, min(requests, r.segments()-s), hs)
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
		_, _, members := r.segment(from + i)
		left[i].acc = left[i].found.all(members)
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[error] // the first
	tokens := make(chan struct{}, requests)
rows:
	for i := range len(hs) * r.k {
		x, step := hs[i/r.k].Words()
		row := r.row(x + uint64(i%r.k)*step)
		for s := range left {
			tokens <- struct{}{}
			if failed.Load() != nil {
				break rows
			}
			if left[s].none.Load() {
				<-tokens
				continue
			}
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := r.ask(&left[s], from+s, row); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				<-tokens
			}()
		}
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return left, nil
}

// remains are the members of a segment that the rows so far have not ruled out.
type remains struct {
	mu    sync.Mutex
	found found
	acc   []uint64
	none  atomic.Bool
}

// ask rules out the members of segment s that have no bit in a row.
func (r *Reader) ask(left *remains, s int, row uint64) error {
	data, err := r.readRow(r.read, s, row)
	if err != nil {
		return err
	}
	left.mu.Lock()
	defer left.mu.Unlock()
	left.none.Store(!andBytes(left.acc, data, data, data, data))
	return nil
}

// Name returns the name of member i, which is empty if the member has none. It makes two
// requests if there are names: for some bytes of a table, and for the name.
func (r *Reader) Name(i int) (string, error) {
	check(i, r.members)
	return r.readName(r.read, i)
}

// Len returns the number of members.
func (r *Reader) Len() int { return r.members }

// Info returns the Bank's Info.
func (r *Reader) Info() bloom.Info { return r.info }

// String describes r by its parameters.
func (r *Reader) String() string { return r.describe("bank.Reader", r.members) }
