package bank

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// Bank is any number of Bloom filters, its members, of one size. They have numbers from 0
// on.
//
// Any number of goroutines may use a Bank at once. Those that write take turns. Look-ups,
// which are Which, WhichAll and ContainsHash, wait for nobody. A look-up sees every write
// that had ended before it began, and any part of the writes that run beside it. Beside a Clear and
// an Add to the same member, it may report that member for a key that it never had.
//
// Decoding needs the Bank to itself.
//
// The zero Bank has no members and can be decoded into. Appending to it panics. All methods
// that take a member's number panic if there is no such member. A Bank must not be copied.
type Bank struct {
	_ nocopy.Locker
	encoding
	shape

	n        atomic.Int64 // members; stored after their segments
	segments atomic.Pointer[[]segment]

	mu    sync.Mutex // of those who write
	names []string   // of the first members
	info  bloom.Info
}

// encoding has String and the methods that encode a Bank, by value: packages fmt, json and gob
// find them where a Bank is held by value. It is nil in the zero Bank.
type encoding struct{ of *Bank }

// New returns an empty Bank. Its members have the size of the filters that [bloom.New]
// makes for n keys and p. A member that holds n keys is reported for a key that it does not
// hold with a probability of about p. It is more where n is small: take [NewSize] with what
// [bloom.StrictSize] returns then.
//
// New returns an error in the cases in which bloom.New does. The Bank's Info has n and p.
func New(n uint64, p float64) (*Bank, error) {
	m, k, err := bloom.Size(n, p)
	if err != nil {
		return nil, form.As("bank", err)
	}
	b, err := NewSize(m, k)
	if err != nil {
		return nil, err
	}
	b.info = bloom.Info{N: n, P: p}
	return b, nil
}

// NewSize returns an empty Bank. Its members have m bits, rounded up to a multiple of 64,
// and k hashes. It returns an error unless 1 <= k <= 255, k <= m, and m rounds up to 1 to 2^31-1
// words.
func NewSize(m uint64, k int) (*Bank, error) {
	size, err := form.WordsFor("bank", m, k, form.MaxWords)
	if err != nil {
		return nil, err
	}
	b := &Bank{shape: shapeOf(size, k)}
	b.of = b
	return b, nil
}

// load returns the number of members and the segments that they are in.
func (b *Bank) load() (n int, segments []segment) {
	n = int(b.n.Load()) // first: the segments then have room for n
	if s := b.segments.Load(); s != nil {
		segments = *s
	}
	return n, segments
}

// member returns where member i is: its segment, and its number there.
func (b *Bank) member(i int) (*segment, int) {
	n, segments := b.load()
	check(i, n)
	return &segments[i/segmentMembers], i % segmentMembers
}

// check panics if there is no member i.
func check(i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("bank: member %d of a bank of %d", i, n))
	}
}

// Append adds an empty member and returns its number, which is the Len before.
func (b *Bank) Append() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, _, _ := b.grow()
	b.n.Store(int64(n + 1))
	return n
}

// must panics if b is zero.
func (b *Bank) must() {
	if b.k == 0 {
		panic("bank: Append to a zero Bank: make it with a constructor, or decode into it")
	}
}

// grow makes room for one more member. It returns the member's number and where it will
// be. The caller has locked b.mu.
func (b *Bank) grow() (n int, seg *segment, i int) {
	b.must()
	n, segments := b.load()
	s, i := n/segmentMembers, n%segmentMembers
	switch stride := strideFor(i + 1); {
	case s == len(segments):
		segments = append(segments, segment{words: bitwords.Make(64 * b.size * stride), stride: stride})
		b.segments.Store(&segments)
	case stride > segments[s].stride:
		segments = slices.Clone(segments)
		segments[s] = widen(&segments[s], stride)
		b.segments.Store(&segments)
	}
	return n, &segments[s], i
}

// widen returns a copy of s that has rows of stride words.
func widen(s *segment, stride int) segment {
	w := segment{words: bitwords.Make(len(s.words) / s.stride * stride), stride: stride}
	for from, to := s.words, w.words; len(from) > 0; from, to = from[s.stride:], to[stride:] {
		copy(to[:s.stride], from)
	}
	return w
}

// AppendFilter adds a member with the keys of f and returns its number. If f's size is a
// multiple of the members', the member is what [bloom.Filter.Fold] makes of f. Look-ups
// find none of f's keys before, and all of them afterwards. AppendFilter keeps nothing of
// f, and uses neither its N nor its P.
//
// It returns an error, which wraps [bloom.ErrMismatch], and changes nothing unless f has
// [bloom.Mitz64], the same K and a multiple of M, and its Info names no other Hash than
// the Bank's. A Bank whose Info names none takes over f's.
func (b *Bank) AppendFilter(f *bloom.Filter) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	words, err := b.fit(f)
	if err != nil {
		return 0, err
	}
	n, seg, i := b.grow()
	for j := 0; j < len(words); j += 8 {
		for w := binary.BigEndian.Uint64(words[j:]); w != 0; w &= w - 1 {
			b.set(seg, uint64(8*j+bits.TrailingZeros64(w)), i)
		}
	}
	b.info.Hash = cmp.Or(b.info.Hash, f.Info().Hash)
	b.n.Store(int64(n + 1))
	return n, nil
}

// fit returns the words of f, folded to the members' size, in Guava's order of bytes.
func (b *Bank) fit(f *bloom.Filter) ([]byte, error) {
	b.must()
	switch {
	case f == nil:
		return nil, form.MismatchNil("bank")
	case f.Strategy() != bloom.Mitz64:
		return nil, form.Mismatch("bank", "strategy", bloom.Mitz64, f.Strategy())
	case f.K() != b.k:
		return nil, form.Mismatch("bank", "k", b.k, f.K())
	case f.M()%b.M() != 0:
		return nil, form.Mismatch("bank", "m", b.M(), f.M())
	}
	if err := form.Info(b.info).Fits("bank", form.Info(f.Info())); err != nil {
		return nil, err
	}
	if f.M() != b.M() {
		f = bloom.Must(f.Fold(int(f.M() / b.M())))
	}
	data, err := f.MarshalBinary()
	return data[form.HeaderSize:], err
}

// set sets bit i of row r, and reports whether it was clear. The caller has locked b.mu, so
// that nobody else writes.
func (b *Bank) set(seg *segment, r uint64, i int) bool {
	w, bit := &seg.words[int(r)*seg.stride+i/64], uint64(1)<<(i%64)
	if *w&bit != 0 {
		return false
	}
	bitwords.Store(w, *w|bit)
	return true
}

// Add adds key to member i. It reports whether the member changed: true means that key was
// certainly new to it, false that it was probably added before. It does not retain key.
func (b *Bank) Add(i int, key []byte) bool { return b.AddHash(i, bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (b *Bank) AddString(i int, key string) bool { return b.AddHash(i, bloom.SumString(key)) }

// AddHash is Add by digest. The comment of [bloom.Hash] says which digests are good enough.
func (b *Bank) AddHash(i int, h bloom.Hash) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seg, i := b.member(i)
	x, step := h.Words()
	for range b.k {
		if b.set(seg, b.row(x), i) {
			changed = true
		}
		x += step
	}
	return changed
}

// Clear removes all keys of member i, and its name. The member can be used again.
func (b *Bank) Clear(i int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seg, j := b.member(i)
	for r := range int(b.M()) {
		if w, bit := &seg.words[r*seg.stride+j/64], uint64(1)<<(j%64); *w&bit != 0 {
			bitwords.Store(w, *w&^bit)
		}
	}
	if i < len(b.names) {
		b.names[i] = ""
	}
}

// Reset clears all members, as Clear does one. It keeps the members, the memory and the Info.
func (b *Bank) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, segments := b.load()
	for i := range segments {
		bitwords.ClearAtomic(segments[i].words)
	}
	b.names = nil
}

// ContainsHash reports whether member i may hold the key with digest h. It is
// [bloom.Filter.ContainsHash] of the member.
func (b *Bank) ContainsHash(i int, h bloom.Hash) bool {
	seg, i := b.member(i)
	return b.contains(seg, i, h)
}

// Which appends to dst the numbers of the members that may hold the key with digest h, in
// ascending order, and returns the extended slice. These are the members for which
// [Bank.ContainsHash] is true. It allocates only if dst lacks room. All bits of the empty key are
// bit 0 of a member, as in Guava. So the rate for it is not p but the FillRatio of [Bank.Stats],
// which is about a half where members of New's size are full.
func (b *Bank) Which(dst []int, h bloom.Hash) []int {
	return b.WhichAll(dst, []bloom.Hash{h})
}

// WhichAll appends to dst the numbers of the members that may hold every key of hs, in
// ascending order, and returns the extended slice. Those are all members if hs is empty. It
// allocates only if dst lacks room.
func (b *Bank) WhichAll(dst []int, hs []bloom.Hash) []int {
	n, segments := b.load()
	return b.whichAll(dst, func(s int) segment { return segments[s] }, n, hs)
}

// Filter returns a copy of member i. It has the bits that [bloom.NewSize] with M and K has
// after an Add of each of the member's keys, and the Bank's Info.
func (b *Bank) Filter(i int) *bloom.Filter {
	seg, i := b.member(i)
	return b.filter(seg, i, b.Info())
}

// Len returns the number of members.
func (b *Bank) Len() int { return int(b.n.Load()) }

// maxName is the longest name, in bytes.
const maxName = 1<<16 - 1

// SetName gives member i a name, such as that of the file that it was made of. Files keep
// it. It panics if name is longer than 65,535 bytes.
func (b *Bank) SetName(i int, name string) {
	if len(name) > maxName {
		panic(fmt.Sprintf("bank: name of %d bytes, more than %d", len(name), maxName))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	check(i, b.Len())
	if i >= len(b.names) && name != "" {
		b.names = append(b.names, make([]string, i+1-len(b.names))...)
	}
	if i < len(b.names) {
		b.names[i] = name
	}
}

// Name returns the name of member i. It is empty if the member has none. The error is nil: a
// [View] and a [Reader] have the same method, and can meet damage.
func (b *Bank) Name(i int) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	check(i, b.Len())
	if i < len(b.names) {
		return b.names[i], nil
	}
	return "", nil
}

// Info returns what New and SetInfo set, and what the Bank's binary form held. N and P are
// those of one member.
func (b *Bank) Info() bloom.Info {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.info
}

// SetInfo replaces the Info. If N or P of i is 0, the Bank's own stays. Encoding returns an error
// if a field is out of its range; see [bloom.Info].
func (b *Bank) SetInfo(i bloom.Info) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.info = bloom.Info(form.Info(b.info).With(form.Info(i)))
}

// Stats reads the whole Bank. M and K are those of a member. OnesCount and ApproxCount are
// sums over all members. FillRatio and FPR are means over all members: Which reports
// FPR*Len members, on average, for a key that no member holds. SizeBytes is the length of
// the binary form.
func (b *Bank) Stats() bloom.Stats {
	size := b.SizeBytes()
	n, segments := b.load()
	return b.stats(func(s int) segment { return segments[s] }, n, size)
}

// LogValue returns the Stats, so that package log/slog does not write the whole filter.
func (b *Bank) LogValue() slog.Value { return slog.AnyValue(b.Stats()) }

// String describes b by its parameters.
func (e encoding) String() string {
	b := e.of
	if b == nil {
		b = new(Bank)
	}
	return b.describe("bank.Bank", b.Len())
}

func (s *shape) describe(name string, n int) string {
	return fmt.Sprintf("%s(m=%d, k=%d, members=%d)", name, s.M(), s.k, n)
}
