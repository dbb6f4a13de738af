package growing

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLayersOfAnotherSizing: a layer whose lines are not those that its rate wants has no
// room for keys, as its rate would be another.
func TestLayersOfAnotherSizing(t *testing.T) {
	r := &rates{p: 1e-6}
	want := r.sizing(0).lines
	for lines := 1; lines <= 4; lines++ {
		l := layerOf(r, 0, blocked.NewSyncFrom(bloom.Must(blocked.NewSize(1<<16, lines))))
		require.Equal(t, lines == want, l.capacity > 0, "%d lines, not %d", lines, want)
	}
}

// TestAddedMeanwhile: a key that another goroutine adds between the look-up of Add and its
// lock is not new, though a layer began since, which does not have it.
func TestAddedMeanwhile(t *testing.T) {
	h := testkit.Digests[bloom.Hash](5, 1)[0]
	for name, test := range map[string]struct {
		waits string // the function that waits for the lock
		add   func(*Filter) bool
	}{
		"AddHash":  {"growing.(*shard).add", func(f *Filter) bool { return f.AddHash(h) }},
		"AddBatch": {"growing.(*batch).add", func(f *Filter) bool { return testkit.Added(f, []bloom.Hash{h})[0] }},
	} {
		t.Run(name, func(t *testing.T) {
			f := bloom.Must(New(0, 0.01))
			s := &f.shards[pick(h)>>shardShift]
			s.mu.Lock()
			isNew := make(chan bool)
			go func() { isNew <- test.add(f) }()
			testkit.WaitFor(test.waits, 1, func() bool { return false })
			list := s.list()
			list[len(list)-1].filter.AddHash(h)
			list = append(list[:len(list):len(list)], newLayer(&f.rates, len(list), 1<<14))
			s.layers.Store(&list)
			s.mu.Unlock()
			require.False(t, <-isNew)
			require.False(t, list[len(list)-1].filter.ContainsHash(h))
		})
	}
}
