package cuckoo

import (
	"io"
	"log/slog"

	"github.com/seed79a3ff49/bloom/internal/nocopy"
)

// SyncFilter is a [Filter] for any number of goroutines; see "Goroutines" in package bloom.
// Look-ups take no lock. A look-up that finds nothing starts again if the key's tag may have moved
// during it, which is rare. Methods that insert or remove wait for each other, and for methods that
// copy or encode.
//
// The zero SyncFilter contains nothing and can be decoded into; inserting into it panics. A
// SyncFilter must not be copied.
type SyncFilter struct {
	_ nocopy.Locker
	syncFilter
}

// syncFilter is a filter with a shared table.
type syncFilter struct{ filter }

// NewSync is like [New], but returns a SyncFilter.
func NewSync(n uint64, p float64) (*SyncFilter, error) {
	f, err := New(n, p)
	if err != nil {
		return nil, err
	}
	f.table.shared = new(shared)
	return &SyncFilter{syncFilter: syncFilter{f.filter}}, nil
}

// NewSyncFrom returns a SyncFilter that is a copy of f, including its Info. It panics if f is nil.
// To avoid two filters in memory, decode into a SyncFilter instead.
func NewSyncFrom(f *Filter) *SyncFilter {
	if f == nil {
		panic("cuckoo: NewSyncFrom a nil Filter")
	}
	s := &SyncFilter{syncFilter: syncFilter{f.clone()}}
	_ = s.share(nil)
	return s
}

// share prepares the table for many goroutines if err is nil. It returns err.
func (s *syncFilter) share(err error) error {
	if err == nil && s.table != nil {
		s.table.shared = new(shared)
	}
	return err
}

// Snapshot returns a copy of s as it was at some moment during the call.
func (s *SyncFilter) Snapshot() *Filter { return &Filter{filter: s.clone()} }

// String returns the name of s's type and its parameters.
func (s syncFilter) String() string { return s.table.describe("cuckoo.SyncFilter") }

// LogValue implements slog.LogValuer. The value is the result of String.
func (s *syncFilter) LogValue() slog.Value { return slog.StringValue(s.String()) }

// UnmarshalBinary is like [Filter.UnmarshalBinary].
func (s *syncFilter) UnmarshalBinary(data []byte) error {
	return s.share(s.filter.UnmarshalBinary(data))
}

// ReadFrom is like [Filter.ReadFrom].
func (s *syncFilter) ReadFrom(r io.Reader) (int64, error) {
	n, err := s.filter.ReadFrom(r)
	return n, s.share(err)
}

// UnmarshalText is like [Filter.UnmarshalText].
func (s *syncFilter) UnmarshalText(text []byte) error {
	return s.share(s.filter.UnmarshalText(text))
}
