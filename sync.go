package bloom

import (
	"io"
	"math/bits"
	"sync/atomic"
)

// SyncFilter is a Filter for any number of goroutines that add, look up,
// estimate and encode at once. It takes no locks: a key whose Add has returned
// is found by every later call. Its bits and its binary form are Filter's.
//
// It differs in three ways. Add reports true to at least one of several
// goroutines that add the same new key at once, but may do so to more than
// one. The ones are not counted while adding, where the counter would be fought
// over, so OnesCount and the estimates read the whole filter. And only those
// operations exist that make sense while others write; Snapshot has the rest.
//
// The zero SyncFilter contains nothing and can be decoded into; adding to it
// panics. Decoding needs the SyncFilter to itself.
type SyncFilter struct{ f Filter } // f.bits.ones is not kept

// NewSync is New for a SyncFilter.
func NewSync(n uint64, p float64) (*SyncFilter, error) {
	f, err := New(n, p)
	if err != nil {
		return nil, err
	}
	return f.Sync(), nil
}

// Sync returns a SyncFilter that takes over f's bits without a copy, and leaves
// f the zero Filter.
func (f *Filter) Sync() *SyncFilter {
	s := &SyncFilter{*f}
	*f = Filter{}
	return s
}

// Snapshot returns a copy that holds every key whose Add had returned before
// the call. Of keys being added meanwhile it may hold some bits, which can make
// it report them, and others, a little more often than FPR says.
func (s *SyncFilter) Snapshot() *Filter {
	f := s.f
	f.bits.words = newWords(len(s.f.bits.words))
	ones := 0
	for i := range f.bits.words {
		w := atomic.LoadUint64(&s.f.bits.words[i])
		f.bits.words[i] = w
		ones += bits.OnesCount64(w)
	}
	f.bits.ones = uint64(ones)
	return &f
}

// Add adds key and reports whether the filter changed; see Filter.Add.
func (s *SyncFilter) Add(key []byte) bool { return s.AddHash(Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (s *SyncFilter) AddString(key string) bool { return s.AddHash(SumString(key)) }

// AddHash is Add by digest.
func (s *SyncFilter) AddHash(h Hash) bool {
	f := &s.f
	if f.k == 0 {
		panic(errZero)
	}
	var added uint64
	if f.strategy == Mitz32 {
		for x, i := newMitz32(h), f.k; i > 0; i-- {
			added |= f.bits.setAtomic(x.next())
		}
	} else {
		for x, i := h.H1, f.k; i > 0; i-- {
			added |= f.bits.setAtomic(x)
			x += h.H2
		}
	}
	return added != 0
}

// Contains reports whether key may have been added; see Filter.Contains.
func (s *SyncFilter) Contains(key []byte) bool { return s.ContainsHash(Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (s *SyncFilter) ContainsString(key string) bool { return s.ContainsHash(SumString(key)) }

// ContainsHash is Contains by digest.
func (s *SyncFilter) ContainsHash(h Hash) bool {
	f := &s.f
	if f.strategy == Mitz32 {
		for x, i := newMitz32(h), f.k; i > 0; i-- {
			if f.bits.getAtomic(x.next()) == 0 {
				return false
			}
		}
		return f.k != 0
	}
	x, k := h.H1, f.k
	for ; k >= 4; k -= 4 {
		x1 := x + h.H2
		x2 := x1 + h.H2
		x3 := x2 + h.H2
		if f.bits.getAtomic(x)&f.bits.getAtomic(x1)&f.bits.getAtomic(x2)&f.bits.getAtomic(x3) == 0 {
			return false
		}
		x = x3 + h.H2
	}
	for ; k > 0; k-- {
		if f.bits.getAtomic(x) == 0 {
			return false
		}
		x += h.H2
	}
	return f.k != 0
}

// AddBatch adds hs and returns how many of them changed the filter.
func (s *SyncFilter) AddBatch(hs []Hash) (added int) {
	for _, h := range hs {
		if s.AddHash(h) {
			added++
		}
	}
	return added
}

// ContainsBatch appends ContainsHash of each of hs to dst and returns it.
func (s *SyncFilter) ContainsBatch(dst []bool, hs []Hash) []bool {
	for _, h := range hs {
		dst = append(dst, s.ContainsHash(h))
	}
	return dst
}

// Merge adds everything that g contains. It returns an error unless the two
// agree in m, k and strategy. Nothing may write to g meanwhile.
func (s *SyncFilter) Merge(g *Filter) error {
	if err := s.f.compatible(g); err != nil {
		return err
	}
	for i, w := range g.bits.words {
		if w&^atomic.LoadUint64(&s.f.bits.words[i]) != 0 {
			atomic.OrUint64(&s.f.bits.words[i], w)
		}
	}
	return nil
}

// M returns the number of bits, a multiple of 64.
func (s *SyncFilter) M() uint64 { return s.f.M() }

// K returns the number of hashes, which is how many bits a key sets.
func (s *SyncFilter) K() int { return s.f.k }

// Strategy returns how indexes are made.
func (s *SyncFilter) Strategy() Strategy { return s.f.strategy }

// OnesCount counts the bits set, reading all of them.
func (s *SyncFilter) OnesCount() uint64 {
	ones := 0
	for i := range s.f.bits.words {
		ones += bits.OnesCount64(atomic.LoadUint64(&s.f.bits.words[i]))
	}
	return uint64(ones)
}

// counted returns s's parameters with the present number of ones, for the
// estimates.
func (s *SyncFilter) counted() *Filter {
	f := s.f
	f.bits.ones = s.OnesCount()
	return &f
}

// FillRatio returns the fraction of bits set, from 0 to 1, reading all of them.
func (s *SyncFilter) FillRatio() float64 { return s.counted().FillRatio() }

// ApproxCount estimates the number of distinct keys added; see
// Filter.ApproxCount. It reads the whole filter.
func (s *SyncFilter) ApproxCount() uint64 { return s.counted().ApproxCount() }

// FPR returns the probability that a key which was not added is reported as
// present, as things are now. It reads the whole filter.
func (s *SyncFilter) FPR() float64 { return s.counted().FPR() }

// Capacity returns the number of keys at which half of the bits are expected to
// be set; see Filter.Capacity.
func (s *SyncFilter) Capacity() uint64 { return s.f.Capacity() }

// AppendBinary appends Guava's binary form to b; see Filter.AppendBinary. Like
// Snapshot, it holds every key added before the call.
func (s *SyncFilter) AppendBinary(b []byte) ([]byte, error) { return s.f.AppendBinary(b) }

// MarshalBinary returns Guava's binary form; see AppendBinary.
func (s *SyncFilter) MarshalBinary() ([]byte, error) { return s.f.MarshalBinary() }

// WriteTo writes Guava's binary form to w; see AppendBinary.
func (s *SyncFilter) WriteTo(w io.Writer) (int64, error) { return s.f.WriteTo(w) }

// UnmarshalBinary is Filter.UnmarshalBinary.
func (s *SyncFilter) UnmarshalBinary(data []byte) error { return s.f.UnmarshalBinary(data) }

// ReadFrom is Filter.ReadFrom.
func (s *SyncFilter) ReadFrom(r io.Reader) (int64, error) { return s.f.ReadFrom(r) }
