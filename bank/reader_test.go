package bank

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/storage"
)

// store is an io.ReaderAt that counts its reads.
type store struct {
	data []byte
	gate chan struct{} // if not nil, each read receives from it first
	wait chan struct{} // each read sends to it before it receives from gate

	mu              sync.Mutex
	requests, bytes int
}

func (s *store) ReadAt(p []byte, at int64) (int, error) {
	s.mu.Lock()
	s.requests++
	s.bytes += len(p)
	s.mu.Unlock()
	if s.gate != nil {
		s.wait <- struct{}{}
		<-s.gate
	}
	return bytes.NewReader(s.data).ReadAt(p, at)
}

func (s *store) reset() { s.requests, s.bytes = 0, 0 }

// TestReaderReads: a Reader makes only as many requests as its comments promise.
func TestReaderReads(t *testing.T) {
	const k = 5
	o := newOracle(t, 320, k)
	h := bloom.SumString("key")
	for i := range 2*segmentMembers + 100 {
		if i%10000 == 0 || i == 2*segmentMembers { // most look-ups would end early otherwise
			o.AddHash(o.Append(), h)
		} else {
			o.Append()
		}
	}
	for i := range o.Len() {
		o.SetName(i, "a name that makes the file longer")
	}
	o.SetName(3, "")
	o.UpdateInfo(func(i *bloom.Info) { i.Comment = string(bytes.Repeat([]byte("c"), 4096)) })
	s := &store{data: bloom.Must(o.MarshalBinary())}
	r := bloom.Must(NewReader(s, int64(len(s.data))))
	require.LessOrEqual(t, s.bytes, 8<<10)
	require.Equal(t, 2, s.requests)
	require.Equal(t, "bank.Reader(m=320, k=5, members=65572)", r.LogValue().String())

	s.reset()
	got, err := r.Which(nil, h)
	require.NoError(t, err)
	require.Equal(t, o.Which(nil, h), got)
	require.Equal(t, 3*k, s.requests)
	require.Equal(t, k*(2*4096+8*(64*2+1)), s.bytes)

	s.reset()
	_, err = r.Which(nil, bloom.SumString("absent"))
	require.NoError(t, err)
	require.LessOrEqual(t, s.requests, 3*k)

	s.reset()
	require.Empty(t, bloom.Must(r.Name(3)))
	require.Equal(t, 1, s.requests, "the entry, which says that there is no name")

	s.reset()
	_, err = r.WhichAll(nil, filtertest.Digests(1, 300))
	require.NoError(t, err)
	require.Less(t, s.requests, 3*k*300/4, "rows of members that are ruled out")

	s.reset()
	name, err := r.Name(70)
	require.NoError(t, err)
	require.Equal(t, "a name that makes the file longer", name)
	require.Equal(t, 24+len(name), s.bytes)
}

// TestReaderOfManySegments: a Reader numbers the members of all segments, also of those that it
// asks after the first storage.MaxRequests.
func TestReaderOfManySegments(t *testing.T) {
	const full = storage.MaxRequests
	b := bloom.Must(NewSize(64, 1))
	h := bloom.SumString("key")
	for range segmentMembers {
		b.Append()
	}
	b.AddHash(7, h)
	segments := slices.Repeat(*b.state.segments.Load(), full)
	b.state.segments.Store(&segments)
	b.state.n.Store(full * segmentMembers)
	b.AddHash(b.Append(), h)
	data := bloom.Must(b.MarshalBinary())
	r := bloom.Must(NewReader(bytes.NewReader(data), int64(len(data))))
	found := bloom.Must(r.Which(nil, h))
	require.Equal(t, []int{7, 7 + segmentMembers}, found[:2])
	require.Equal(t, []int{7 + (full-1)*segmentMembers, full * segmentMembers}, found[full-1:])
	require.Equal(t, b.Which(nil, h), found)
}

// TestReaderConcurrent: all requests of a look-up begin before the first one is answered.
func TestReaderConcurrent(t *testing.T) {
	o, _ := walk(t, 320, 5, 40, 1)
	h := bloom.SumString("key")
	o.AddHash(3, h)
	s := &store{data: bloom.Must(o.MarshalBinary())}
	r := bloom.Must(NewReader(s, int64(len(s.data))))
	s.gate, s.wait = make(chan struct{}), make(chan struct{})
	done := make(chan []int)
	go func() { done <- bloom.Must(r.Which(nil, h)) }()
	for range 5 {
		<-s.wait
	}
	close(s.gate)
	require.Equal(t, o.Which(nil, h), <-done)
}

// large is a store with a Bank of many segments without keys. It keeps only the first and the last
// bytes of the Bank. The other bytes are zeros, so rows have wrong checksums.
type large struct {
	head, tail []byte
	size       int64
	requests   atomic.Int64
}

func (l *large) Write(p []byte) (int, error) {
	if len(l.head) == 0 {
		l.head = bytes.Clone(p[:64])
	}
	l.size += int64(len(p))
	l.tail = append(l.tail, p...)
	l.tail = bytes.Clone(l.tail[max(0, len(l.tail)-8192):])
	return len(p), nil
}

func (l *large) ReadAt(p []byte, at int64) (int, error) {
	l.requests.Add(1)
	clear(p)
	if at < int64(len(l.head)) {
		copy(p, l.head[at:])
	}
	if tail := l.size - int64(len(l.tail)); at >= tail {
		return copy(p, l.tail[at-tail:]), nil
	}
	return len(p), nil
}

// TestReaderEnds: after a failed request, a Reader makes no more requests. A look-up takes memory
// only for the segments that it asks.
func TestReaderEnds(t *testing.T) {
	const segments = 500
	params := []uint64{1, 255, segments * segmentMembers, 0}
	var l layout
	words, err := l.parse(params)
	require.NoError(t, err)
	store := new(large)
	_, err = form.Bank.WriteFunc(store, params, int(words), form.Info{}, func(out []byte, _ int) {
		clear(out)
	})
	require.NoError(t, err)
	r, err := NewReader(store, store.size)
	require.NoError(t, err)
	store.requests.Store(0)
	memory := filtertest.Allocated(func() { _, err = r.Which(nil, bloom.SumString("key")) })
	require.ErrorIs(t, err, bloom.ErrFormat)
	require.LessOrEqual(t, store.requests.Load(), int64(2*storage.MaxRequests))
	require.Less(t, memory, uint64(1<<20))
}

// TestReaderManySegments looks up keys in more segments than there are requests at a time.
func TestReaderManySegments(t *testing.T) {
	if testing.Short() || filtertest.Race {
		t.Skip("takes 17 MB")
	}
	b, h := bloom.Must(NewSize(64, 2)), bloom.SumString("key")
	for range (storage.MaxRequests + 1) * segmentMembers {
		b.Append()
	}
	const full = storage.MaxRequests * segmentMembers
	for _, i := range []int{0, full - segmentMembers, full - 1, full, b.Len() - 1} {
		b.AddHash(i, h)
	}
	data := bloom.Must(b.MarshalBinary())
	r := bloom.Must(NewReader(bytes.NewReader(data), int64(len(data))))
	require.Equal(t, b.Which([]int{7}, h), bloom.Must(r.Which([]int{7}, h)))
}
