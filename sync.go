package bloom

import (
	"io"
	"log/slog"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// SyncFilter is a [Filter] for any number of goroutines; see "Goroutines" in the package comment.
// Adding keys and looking them up take no lock. It has the same bits and binary form as a Filter.
//
// Stats, ApproxCount and FPR read the whole filter, because counting in every Add would not scale.
//
// Apart from decoding, a SyncFilter has only operations that make sense while other goroutines
// write. For the others, call [SyncFilter.Snapshot], which returns a Filter.
//
// Look-ups scale with the number of processors, and so does adding keys that are already present.
// Adding new keys scales if the filter is much larger than the processors' caches. In a smaller
// filter, processors wait for each other's cache lines. It is then faster to give each goroutine a
// Filter of its own, and to merge them at the end.
//
// The zero SyncFilter contains nothing and can be decoded into; adding to it panics. A SyncFilter
// must not be copied.
type SyncFilter struct {
	_ nocopy.Locker
	syncFilter
	patching sync.Mutex
}

// syncFilter is a filter in which ones is 0.
type syncFilter struct{ filter }

// String returns the name of s's type and its parameters.
func (s syncFilter) String() string { return describe("bloom.SyncFilter", s.m(), s.k, s.strategy) }

// NewSync is like [New], but returns a SyncFilter.
func NewSync(n uint64, p float64) (*SyncFilter, error) {
	f, err := New(n, p)
	if err != nil {
		return nil, err
	}
	return syncOf(f.filter), nil
}

// NewSyncFrom returns a SyncFilter with the keys, the parameters and the Info of f. It copies the
// bits. To avoid two filters in memory, decode into a SyncFilter instead. NewSyncFrom panics if f
// is nil.
func NewSyncFrom(f *Filter) *SyncFilter {
	if f == nil {
		panic("bloom: NewSyncFrom a nil Filter")
	}
	return syncOf(f.clone())
}

// syncOf returns a SyncFilter that shares the words of f.
func syncOf(f filter) *SyncFilter {
	f.ones = 0
	return &SyncFilter{syncFilter: syncFilter{f}}
}

// UnmarshalBinary is like [Filter.UnmarshalBinary].
func (s *syncFilter) UnmarshalBinary(data []byte) error {
	err := s.filter.UnmarshalBinary(data)
	s.ones = 0
	return err
}

// ReadFrom is like [Filter.ReadFrom].
func (s *syncFilter) ReadFrom(r io.Reader) (int64, error) {
	n, err := s.filter.ReadFrom(r)
	s.ones = 0
	return n, err
}

// UnmarshalText is like [Filter.UnmarshalText].
func (s *syncFilter) UnmarshalText(text []byte) error {
	err := s.filter.UnmarshalText(text)
	s.ones = 0
	return err
}

// Snapshot returns a copy of s as a Filter. Other goroutines may add keys at the same time; see
// "Goroutines" in the package comment.
func (s *SyncFilter) Snapshot() *Filter {
	f := &Filter{filter: s.clone()}
	f.ones = bitwords.OnesCount(f.bits.words)
	return f
}

// Add adds key and reports whether it was new. True means that key was certainly new. False means
// that it was probably added before, by a call that has returned or by one that is still running;
// see "Goroutines" in the package comment.
func (s *SyncFilter) Add(key []byte) bool { return s.AddHash(Sum(key)) }

// AddString is like Add.
func (s *SyncFilter) AddString(key string) bool { return s.AddHash(SumString(key)) }

// AddHash is like Add.
func (s *SyncFilter) AddHash(h Hash) bool {
	switch {
	case s.k == 0:
		panic(errZero)
	case s.k > fewBits:
		return s.addMany(h)
	}
	// Read all bits before writing any; see setBits. Locked writes are expensive, and a cache line
	// that is only read stays shared between processors. Without a branch for each bit, cache
	// misses overlap.
	var room [fewBits]uint64
	indexes := room[:s.k]
	set := uint64(0) // one bit for each index; the lowest is for the last index
	b := s.bits
	if s.strategy == Mitz32 {
		if s.contains32(h) { // speed
			return false
		}
		x := newMitz32(h)
		for i := range indexes {
			bit, index := b.getAtomic(x.nextIndex())
			indexes[i] = index
			set = set<<1 | bit
		}
	} else {
		x := h.h1
		for i := range indexes {
			bit, index := b.getAtomic(x)
			indexes[i] = index
			set = set<<1 | bit
			x += h.h2
		}
	}
	clear := 1<<len(indexes) - 1 - set
	return clear != 0 && b.setBits(indexes, clear)
}

// fewBits is the largest K for which AddHash stores a key's indexes.
const fewBits = 32

// setBits sets the bits that a call of AddHash has read as clear, and returns the result of the
// call. indexes has the indexes of the key's bits, in the order in which every call reads the bits.
// The lowest bit of clear is for the last index.
//
// The final bit of a call is the last bit that it read as clear. The call sets this bit after all
// others, and returns true if it was still clear. Unless other calls interfere, two calls for the
// same key cannot both return true. If they have the same final bit, only one of them sets it.
// Otherwise one call, A, has a later final bit, which the other call, B, read as set. By then A had
// set all bits of the key, so B finds its own final bit set.
func (b bitset) setBits(indexes []uint64, clear uint64) bool {
	last := len(indexes) - 1
	final := indexes[last-bits.TrailingZeros64(clear)]
	for rest := clear & (clear - 1); rest != 0; rest &= rest - 1 {
		if index := indexes[last-bits.TrailingZeros64(rest)]; index != final { // final is set last
			b.setAtomic(index)
		}
	}
	return b.setFinal(final)
}

// addMany implements AddHash for any K.
func (s *SyncFilter) addMany(h Hash) bool {
	final, before := uint64(0), -1 // the final bit's index, and the number of bits before it
	for i := range s.k {
		if bit, index := s.bits.getAtomic(s.probe(h, i)); bit == 0 {
			final, before = index, i
		}
	}
	if before < 0 {
		return false
	}
	for i := range before {
		if bit, index := s.bits.getAtomic(s.probe(h, i)); bit == 0 && index != final {
			s.bits.setAtomic(index)
		}
	}
	return s.bits.setFinal(final)
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (s *SyncFilter) Contains(key []byte) bool {
	if assembly { // speed
		return filterContains(&s.filter, key)
	}
	return s.contains(Sum(key))
}

// ContainsString is like Contains.
func (s *SyncFilter) ContainsString(key string) bool { return s.Contains(bitwords.BytesOf(key)) }

// ContainsHash is like Contains.
func (s *SyncFilter) ContainsHash(h Hash) bool {
	if assembly { // speed
		return filterContainsHash(&s.filter, h)
	}
	return s.contains(h)
}

func (s *SyncFilter) contains(h Hash) bool {
	if s.strategy == Mitz32 {
		return s.contains32(h)
	}
	b, x, k := s.bits, h.h1, s.k
	for ; k >= 4; k -= 4 {
		b0, _ := b.getAtomic(x)
		x += h.h2
		b1, _ := b.getAtomic(x)
		x += h.h2
		b2, _ := b.getAtomic(x)
		x += h.h2
		b3, _ := b.getAtomic(x)
		x += h.h2
		if b0&b1&b2&b3 == 0 {
			return false
		}
	}
	for ; k > 0; k-- {
		if bit, _ := b.getAtomic(x); bit == 0 {
			return false
		}
		x += h.h2
	}
	return s.k != 0
}

func (s *SyncFilter) contains32(h Hash) bool {
	for x, i := newMitz32(h), s.k; i > 0; i-- {
		if bit, _ := s.bits.getAtomic(x.nextIndex()); bit == 0 {
			return false
		}
	}
	return s.k != 0
}

// AddBatch adds hs; see "Batches" in the package comment.
func (s *SyncFilter) AddBatch(added []bool, hs []Hash) {
	if added == nil {
		bitwords.Discard(hs, s.AddBatch)
		return
	}
	added = bitwords.Fill("bloom", added, len(hs))
	for i := addMany(&s.filter, true, added, hs); i < len(hs); i++ {
		added[i] = s.AddHash(hs[i])
	}
}

// ContainsBatch looks up hs; see "Batches" in the package comment.
func (s *SyncFilter) ContainsBatch(found []bool, hs []Hash) {
	found = bitwords.Fill("bloom", found, len(hs))
	for i := containsMany(&s.filter, found, hs); i < len(hs); i++ {
		found[i] = s.ContainsHash(hs[i])
	}
}

// Merge is like [Filter.Merge], but other goroutines may add keys at the same time; see
// "Goroutines" in the package comment.
func (s *SyncFilter) Merge(g *Filter) error {
	if err := s.compatible(g); err != nil {
		return err
	}
	bitwords.OrAtomic(s.bits.words, g.bits.words)
	return nil
}

// Patch is like [Filter.Patch], but other goroutines may look keys up, add keys and encode at the
// same time. It checks everything before it changes a bit, and changes only the bits that differ.
// So a key that is in both filters of the [Diff] is found throughout. For any other key, a look-up
// during Patch may return true or false.
//
// The check reads each word once. If a new key was added before its words were read, Patch returns
// an error that wraps [ErrMismatch] and changes nothing. A bit that Add sets later stays set, but
// the patch may clear other bits of the key. Patches of the same SyncFilter wait for each other.
func (s *SyncFilter) Patch(data []byte) error {
	p, err := form.ParsePatch(data)
	if err != nil {
		return err
	}
	s.patching.Lock()
	defer s.patching.Unlock()
	old, err := p.Check(s.header(), s.bits.words)
	if err != nil {
		return err
	}
	done := 0
	for c := p.Changes(); ; {
		i, mask, ok := c.Next()
		if !ok {
			break
		}
		// Clear only the bits that were set when the word was checked. A bit that was set later may
		// come from an Add.
		var cleared uint64
		for rest := mask; rest != 0; rest &= rest - 1 {
			lowest := rest & -rest
			cleared |= lowest * (old[done/64] >> (done % 64) & 1)
			done++
		}
		if set := mask &^ cleared; set != 0 {
			atomic.OrUint64(&s.bits.words[i], set)
		}
		if cleared != 0 {
			atomic.AndUint64(&s.bits.words[i], ^cleared)
		}
	}
	s.info.Replace(p.Info)
	return nil
}

// Reset is like [Filter.Reset], but other goroutines may add keys at the same time; see
// "Goroutines" in the package comment.
func (s *SyncFilter) Reset() { bitwords.ClearAtomic(s.bits.words) }

// Stats returns all statistics of s. It reads the whole filter.
func (s *SyncFilter) Stats() Stats { return StatsOf(s.m(), s.k, bitwords.OnesCount(s.bits.words)) }

// ApproxCount is like [Filter.ApproxCount]. It reads the whole filter.
func (s *SyncFilter) ApproxCount() uint64 { return s.Stats().ApproxCount }

// FPR is like [Filter.FPR]. It reads the whole filter.
func (s *SyncFilter) FPR() float64 { return s.Stats().FPR }

// LogValue implements slog.LogValuer. The value is the result of String.
func (s *SyncFilter) LogValue() slog.Value { return slog.StringValue(s.String()) }
