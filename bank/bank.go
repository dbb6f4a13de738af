package bank

import (
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/door"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/invariants"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Bank is a collection of Bloom filters of the same size. They are its members, and are numbered
// from 0. Each member is, bit for bit, a [bloom.Filter] with the Strategy [bloom.Mitz64]. A look-up
// of a key reads at most K bits of each member. A look-up in the same number of separate filters
// would read at least one cache line of each.
//
// Any number of goroutines may use a Bank; see "Goroutines" in package bloom. Calls that write take
// turns. Which, WhichAll and ContainsHash take no lock, so they may see a part of a concurrent
// write. If a member is cleared and then added to during a look-up, the look-up may report it for a
// key that it never had.
//
// The zero Bank has no members and can be decoded into; appending to it panics. Methods that take
// the number of a member panic if there is no such member. A Bank must not be copied.
type Bank struct {
	_ nocopy.Locker
	bank
}

// bank has the data of a Bank. Its methods have value receivers, so that fmt, json and gob also
// find them in a Bank value.
type bank struct {
	state *state // nil in the zero Bank
	info  form.Kept
}

type state struct {
	shape

	n        atomic.Int64 // number of members; stored after their segments
	segments atomic.Pointer[[]segment]

	mu    sync.Mutex // held by calls that add or change members, or use names
	names []string   // names of the first members; the others have none
}

// New returns an empty Bank. Its members have the size that [bloom.New] chooses for n keys and p. A
// member with n keys has a false-positive rate of about p, or more if n is small; to avoid that,
// pass the results of [bloom.StrictSize] to [NewSize].
//
// New accepts the same arguments as bloom.New. The Bank's Info has n and p.
func New(n uint64, p float64) (*Bank, error) {
	m, k, bad := door.Size(n, p, maxSize)
	if bad != nil {
		return nil, bad.In("bank")
	}
	b, err := NewSize(m, k)
	if err != nil {
		return nil, err
	}
	b.info = form.Keep(form.Info{N: n, P: p})
	return b, nil
}

// NewSize returns an empty Bank. Its members have m bits, rounded up to a multiple of 64, and k
// hash functions. NewSize returns an error unless 1 <= k <= 255, k <= m, and a member has 1 to
// 2^31-1 words, or 2^22-1 on 32-bit platforms, where a larger member does not fit in memory.
func NewSize(m uint64, k int) (*Bank, error) {
	size, bad := form.WordsFor(m, k, maxSize)
	if bad != nil {
		return nil, bad.In("bank")
	}
	return &Bank{bank: bank{&state{shape: shapeOf(size, k)}, form.Keep(form.Info{})}}, nil
}

func (s *state) current() (n int, segments []segment) {
	if s == nil {
		return 0, nil
	}
	n = int(s.n.Load()) // loaded before the segments, so that they have at least n members
	if p := s.segments.Load(); p != nil {
		segments = *p
	}
	return n, segments
}

func (s *state) member(i int) (*segment, int) {
	n, segments := s.current()
	check(i, n)
	return &segments[i/segmentMembers], i % segmentMembers
}

func check(i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("bank: member %d is out of range: the bank has %d", i, n))
	}
}

// Append adds an empty member and returns its number, which is the number of members before the
// call.
func (b *Bank) Append() int {
	s := b.lockToAppend()
	defer s.mu.Unlock()
	n, _, _ := s.grow()
	s.n.Store(int64(n + 1))
	if invariants.On {
		s.verifyMember(n, func(uint64) bool { return false })
	}
	return n
}

func (b *Bank) lockToAppend() *state {
	if b.state == nil {
		panic("bank: Append to a zero Bank: make it with a constructor, or decode into it")
	}
	b.state.mu.Lock()
	return b.state
}

// grow makes room for member n, which is member i of seg. The caller must hold s.mu.
func (s *state) grow() (n int, seg *segment, i int) {
	n, segments := s.current()
	last := n / segmentMembers
	i = n % segmentMembers
	switch {
	case last == len(segments):
		segments = append(segments, s.newSegment(1))
		s.segments.Store(&segments)
	case i >= 64*segments[last].stride:
		segments = slices.Clone(segments)
		segments[last] = s.widen(&segments[last])
		s.segments.Store(&segments)
	}
	return n, &segments[last], i
}

func (s *state) newSegment(stride int) segment {
	if s.bits()*uint64(stride) > math.MaxInt/8 { // possible on 32-bit platforms
		panic("bank: out of memory: the members exceed the address space")
	}
	g := grid{stride: stride, page: stride}
	return segment{grid: g, words: bitwords.Make(g.words(s.bits()))}
}

// widen returns a copy of old with longer rows. A row grows by a word and a 32nd of its length, so
// that each word is copied at most about 32 times on average. If it grew by a single word, all rows
// would be copied for every 64 members.
func (s *state) widen(old *segment) segment {
	w := s.newSegment(min(old.stride+1+old.stride/32, pageWords))
	for r := range s.bits() {
		copy(w.words[w.row(r):], old.words[old.row(r):][:old.stride])
	}
	if invariants.On {
		s.verifyWider(&w, old)
	}
	return w
}

// AppendFilter adds a member with the keys of f, and returns its number. It folds f to the size of
// the members; see [bloom.Filter.Fold]. A concurrent look-up sees either the whole member or none
// of it. AppendFilter does not retain f. Of f's Info, it uses only the Hash.
//
// AppendFilter returns an error that wraps [bloom.ErrMismatch], and changes nothing, if f is nil,
// if f's Strategy is not [bloom.Mitz64], if f's K is not the Bank's K, if f's M is not a multiple
// of the Bank's M, or if both Infos have a Hash and the two differ. If only f has a Hash, the Bank
// gets it.
func (b *Bank) AppendFilter(f *bloom.Filter) (int, error) {
	s := b.lockToAppend()
	defer s.mu.Unlock()
	words, err := s.fit(f, &b.info)
	if err != nil {
		return 0, err
	}
	n, seg, i := s.grow()
	for j, w := range words {
		for ; w != 0; w &= w - 1 {
			seg.setBit(uint64(64*j+bits.TrailingZeros64(w)), i)
		}
	}
	s.n.Store(int64(n + 1))
	if invariants.On {
		s.verifyMember(n, func(r uint64) bool { return words[r/64]>>(r%64)&1 != 0 })
	}
	return n, nil
}

// fit returns the words of f, folded to the size of a member, or an error if f does not match the
// Bank. It also gives info the Hash of f, if info has none.
func (s *state) fit(f *bloom.Filter, info *form.Kept) ([]uint64, error) {
	switch {
	case f == nil:
		return nil, form.MismatchNil("bank")
	case f.Strategy() != bloom.Mitz64:
		return nil, form.Mismatch("bank", "strategy", bloom.Mitz64, f.Strategy())
	case f.K() != s.k:
		return nil, form.Mismatch("bank", "k", s.k, f.K())
	case f.M()%s.bits() != 0:
		return nil, form.Mismatch("bank", "m", s.bits(), f.M())
	}
	if err := info.Join("bank", form.Info(f.Info())); err != nil {
		return nil, err
	}
	if f.M() != s.bits() {
		f = bloom.Must(f.Fold(int(f.M() / s.bits())))
	}
	_, words := door.Words(f)
	return words, nil
}

// Add adds key to member i, and reports whether the member changed. True means that the member
// certainly did not contain key, false that it probably did.
func (b *Bank) Add(i int, key []byte) bool { return b.AddHash(i, bloom.Sum(key)) }

// AddString is like Add.
func (b *Bank) AddString(i int, key string) bool { return b.AddHash(i, bloom.SumString(key)) }

// AddHash is like Add.
func (b *Bank) AddHash(i int, h bloom.Hash) bool {
	check(i, b.Len())
	changed := false
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	seg, i := s.member(i)
	x, step := h.Words()
	for range s.k {
		if seg.setBit(s.row(x), i) {
			changed = true
		}
		x += step
	}
	if invariants.On {
		s.verifyAdded(seg, i, h)
	}
	return changed
}

// Clear removes the keys and the name of member i. The member remains in the Bank, empty.
func (b *Bank) Clear(i int) {
	check(i, b.Len())
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	seg, j := s.member(i)
	for r := range s.bits() {
		seg.clearBit(r, j)
	}
	if i < len(s.names) {
		s.names[i] = ""
	}
	if invariants.On {
		s.verifyMember(i, func(uint64) bool { return false })
	}
}

// Reset removes the keys and the names of all members. Their number remains the same. The Bank
// keeps its memory and its Info.
func (b *Bank) Reset() {
	s := b.state
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, segments := s.current()
	for i := range segments {
		bitwords.ClearAtomic(segments[i].words)
	}
	s.names = nil
	if invariants.On {
		s.verify()
	}
}

// ContainsHash reports whether member i may contain the key with digest h; see
// [bloom.Filter.ContainsHash].
func (b *Bank) ContainsHash(i int, h bloom.Hash) bool {
	seg, i := b.state.member(i)
	return b.state.contains(seg, i, h)
}

// Which appends to dst the numbers of the members that may contain the key with digest h, in
// ascending order, and returns the extended slice. They are the members for which
// [Bank.ContainsHash] returns true. Which allocates only if dst has too little capacity. One digest
// serves any number of banks and calls.
//
// The empty key has only bit 0, as in Guava. So a member reports it falsely with a probability of
// FillRatio, not p; see [Bank.Stats]. FillRatio is usually about a half if the members have n keys.
func (b *Bank) Which(dst []int, h bloom.Hash) []int {
	return b.WhichAll(dst, []bloom.Hash{h})
}

// WhichAll is like [Bank.Which], but returns the members that may contain all the keys in hs. If hs
// is empty, WhichAll returns all members.
func (b *Bank) WhichAll(dst []int, hs []bloom.Hash) []int {
	if b.state == nil {
		return dst
	}
	n, segments := b.state.current()
	return b.state.whichAll(dst, func(s int) segment { return segments[s] }, n, hs)
}

// Filter returns a copy of member i as a filter. It has the Bank's M, K and Info, and the Strategy
// [bloom.Mitz64].
func (b *Bank) Filter(i int) *bloom.Filter {
	seg, i := b.state.member(i)
	return b.state.filter(seg, i, b.info.Get())
}

// Len returns the number of members.
func (b *Bank) Len() int {
	n, _ := b.state.current()
	return n
}

// M returns the number of bits of each member, which is a multiple of 64, or 0 for the zero Bank.
func (b *Bank) M() uint64 {
	if b.state == nil {
		return 0
	}
	return b.state.bits()
}

// K returns the number of hash functions, or 0 for the zero Bank.
func (b *Bank) K() int {
	if b.state == nil {
		return 0
	}
	return b.state.k
}

const maxName = 1<<16 - 1 // bytes

// SetName sets the name of member i, for example to the file that its keys came from. Saved files
// keep the name. SetName panics if name is longer than 65,535 bytes.
func (b *Bank) SetName(i int, name string) {
	if len(name) > maxName {
		panic(fmt.Sprintf("bank: name of %d bytes is longer than %d", len(name), maxName))
	}
	check(i, b.Len())
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if i >= len(s.names) && name != "" {
		s.names = append(s.names, make([]string, i+1-len(s.names))...)
	}
	if i < len(s.names) {
		s.names[i] = name
	}
}

// Name returns the name of member i, or "" if it has none.
func (b *Bank) Name(i int) string {
	check(i, b.Len())
	s := b.state
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < len(s.names) {
		return s.names[i]
	}
	return ""
}

// Info returns the Bank's Info. New, UpdateInfo and decoding set it, and AppendFilter may change
// it. N and P describe a single member.
func (b *Bank) Info() bloom.Info { return bloom.Info(b.info.Get()) }

// UpdateInfo is like [bloom.Filter.UpdateInfo].
func (b *Bank) UpdateInfo(update func(*bloom.Info)) {
	b.info.Update(func(i *form.Info) { update((*bloom.Info)(i)) })
}

// Stats returns statistics, and reads the whole Bank. M and K describe a single member. OnesCount
// and ApproxCount are sums over all members; FillRatio and FPR are means. For a key that no member
// contains, Which returns about FPR*Len members on average. SizeBytes is the length of the binary
// form.
func (b *Bank) Stats() bloom.Stats {
	if b.state == nil {
		return bloom.Stats{}
	}
	size := b.SizeBytes()
	n, segments := b.state.current()
	return b.state.stats(func(s int) segment { return segments[s] }, n, size)
}

// LogValue implements slog.LogValuer. The value is the result of String.
func (b *Bank) LogValue() slog.Value { return slog.StringValue(b.String()) }

// String returns the name of b's type, its parameters and the number of its members.
func (b bank) String() string {
	if b.state == nil {
		return "bank.Bank(zero)"
	}
	n, _ := b.state.current()
	return b.state.describe("bank.Bank", n)
}

func (s *shape) describe(name string, n int) string {
	if s.k == 0 {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(m=%d, k=%d, members=%d)", name, s.bits(), s.k, n)
}
