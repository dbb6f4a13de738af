package bloom_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestIndivisible(t *testing.T) {
	type hashes = []bloom.Hash
	plain := func() *bloom.Filter { return bloom.Must(bloom.NewSize(1<<15, 1)) }
	promises.TestIndivisible(t, "AddHash", func(one, two hashes) (bloom.Set, [2]func()) {
		s := bloom.NewSyncFrom(plain())
		return s, [2]func(){promises.Each(s, one), promises.Each(s, two)}
	})
	promises.TestIndivisible(t, "AddHash, Mitz32", func(one, two hashes) (bloom.Set, [2]func()) {
		s := bloom.NewSyncFrom(bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 10_000, 0.1)))
		return s, [2]func(){promises.Each(s, one), promises.Each(s, two)}
	})
	promises.TestIndivisible(t, "AddBatch", func(one, two hashes) (bloom.Set, [2]func()) {
		s := bloom.NewSyncFrom(bloom.Must(bloom.NewSize(1<<20, 64)))
		return s, [2]func(){func() { s.AddBatch(nil, one) }, func() { s.AddBatch(nil, two) }}
	})
	promises.TestIndivisible(t, "Merge", func(one, two hashes) (bloom.Set, [2]func()) {
		s := bloom.NewSyncFrom(plain())
		return s, [2]func(){promises.Merges(s.Merge, plain, one), promises.Each(s, two)}
	})
}
