package blocked_test

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/promises"
)

func TestIndivisible(t *testing.T) {
	type hashes = []bloom.Hash
	plain := func() *blocked.Filter { return bloom.Must(blocked.NewSize(1<<17, 1)) }
	promises.TestIndivisible(t, "AddHash", func(one, two hashes) (bloom.Set, [2]func()) {
		s := blocked.NewSyncFrom(plain())
		return s, [2]func(){promises.Each(s, one), promises.Each(s, two)}
	})
	promises.TestIndivisible(t, "AddBatch", func(one, two hashes) (bloom.Set, [2]func()) {
		s := blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<17, 2)))
		return s, [2]func(){func() { s.AddBatch(nil, one) }, func() { s.AddBatch(nil, two) }}
	})
	promises.TestIndivisible(t, "Merge", func(one, two hashes) (bloom.Set, [2]func()) {
		s := blocked.NewSyncFrom(plain())
		return s, [2]func(){promises.Merges(s.Merge, plain, one), promises.Each(s, two)}
	})
}
