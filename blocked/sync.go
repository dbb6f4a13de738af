package blocked

import (
	"log/slog"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// SyncFilter is a [Filter] for any number of goroutines; see "Goroutines" in package bloom. Adding
// keys and looking them up take no lock. It has the same bits and binary form as a Filter.
//
// Look-ups are about as fast as in a Filter. Adding a key that is present writes nothing. Adding a
// new key takes up to four atomic writes for each line. Look-ups and additions scale as in a
// [bloom.SyncFilter].
//
// A SyncFilter has only operations that make sense while other goroutines write. For the others,
// call [SyncFilter.Snapshot], which returns a Filter.
//
// The zero SyncFilter contains nothing and can be decoded into; adding to it panics. A SyncFilter
// must not be copied.
type SyncFilter struct {
	_ nocopy.Locker
	syncFilter
}

// syncFilter can embed filter, because filter's methods for encoding and counting load each word
// once and atomically.
type syncFilter struct{ filter }

// NewSync is like [New], but returns a SyncFilter.
func NewSync(n uint64, p float64) (*SyncFilter, error) {
	f, err := New(n, p)
	if err != nil {
		return nil, err
	}
	return &SyncFilter{syncFilter: syncFilter{f.filter}}, nil
}

// NewSyncFrom returns a SyncFilter that starts as a copy of f. It panics if f is nil. To avoid two
// filters in memory, decode into a SyncFilter instead.
func NewSyncFrom(f *Filter) *SyncFilter {
	if f == nil {
		panic("blocked: NewSyncFrom a nil Filter")
	}
	return &SyncFilter{syncFilter: syncFilter{f.clone()}}
}

// Snapshot returns a copy of s as a Filter. Other goroutines may add keys at the same time; see
// "Goroutines" in package bloom.
func (s *SyncFilter) Snapshot() *Filter { return &Filter{filter: s.clone()} }

// Add adds key and reports whether it was new; see [bloom.SyncFilter.Add].
func (s *SyncFilter) Add(key []byte) bool { return s.b.AddKeyShared(key) }

// AddString is like Add.
func (s *SyncFilter) AddString(key string) bool { return s.Add(bitwords.BytesOf(key)) }

// AddHash is like Add.
func (s *SyncFilter) AddHash(h bloom.Hash) bool { return s.b.AddShared(h) }

// Contains reports whether key may have been added; see [Filter.Contains].
func (s *SyncFilter) Contains(key []byte) bool { return s.b.ContainsKeyShared(key) }

// ContainsString is like Contains.
func (s *SyncFilter) ContainsString(key string) bool { return s.Contains(bitwords.BytesOf(key)) }

// ContainsHash is like Contains.
func (s *SyncFilter) ContainsHash(h bloom.Hash) bool { return s.b.ContainsShared(h) }

// AddBatch adds hs; see "Batches" in package bloom.
func (s *SyncFilter) AddBatch(added []bool, hs []bloom.Hash) {
	if added == nil {
		bitwords.Discard(hs, s.AddBatch)
		return
	}
	s.b.AddBatch(splitblock.Writers, bitwords.Fill("blocked", added, len(hs)), hs)
}

// ContainsBatch looks up hs; see "Batches" in package bloom.
func (s *SyncFilter) ContainsBatch(found []bool, hs []bloom.Hash) {
	s.b.ContainsBatch(splitblock.Writers, bitwords.Fill("blocked", found, len(hs)), hs)
}

// Merge is like [Filter.Merge], but other goroutines may add keys at the same time; see
// "Goroutines" in package bloom.
func (s *SyncFilter) Merge(g *Filter) error {
	if err := s.compatible(g); err != nil {
		return err
	}
	bitwords.OrAtomic(s.b.Words, g.b.Words)
	return nil
}

// Reset is like [Filter.Reset], but other goroutines may add keys at the same time; see
// "Goroutines" in package bloom.
func (s *SyncFilter) Reset() { bitwords.ClearAtomic(s.b.Words) }

// String returns the name of s's type and its parameters.
func (s syncFilter) String() string { return describe("blocked.SyncFilter", s.m(), s.b.Lines) }

// LogValue implements slog.LogValuer. The value is the result of String.
func (s *syncFilter) LogValue() slog.Value { return slog.StringValue(s.String()) }
