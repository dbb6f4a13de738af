package growing

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLocks: one at a time adds to a shard.
func TestLocks(t *testing.T) {
	f := bloom.Must(New(0, 0.01))
	h := bloom.SumUint64(1)
	another := bloom.SumUint64(2)
	for i := uint64(3); pick(another)>>shardShift != pick(h)>>shardShift; i++ {
		another = bloom.SumUint64(i)
	}
	s := &f.shards[pick(h)>>shardShift]
	testkit.Waits(t, &s.mu, map[string]func(){
		"AddHash": func() { f.AddHash(h) }, "AddBatch": func() { f.AddBatch(nil, []bloom.Hash{another}) },
		"ApproxCount": func() { f.ApproxCount() }, "Reset": f.Reset,
	})
	testkit.Waits(t, &f.rates.mu, map[string]func(){"sizing": func() { f.rates.sizing(1) }})
}
