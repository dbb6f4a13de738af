package window

import (
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLocks: one at a time changes a block, or the clock.
func TestLocks(t *testing.T) {
	var clock testkit.Clock
	f := bloom.Must(New(Config{Capacity: 100, FPR: 0.01, Span: time.Hour, Now: clock.Now}))
	h := bloom.SumUint64(1)
	later := func(call func()) func() {
		return func() {
			clock.Advance(10 * time.Minute)
			call()
		}
	}
	testkit.Waits(t, &f.blocks[0], map[string]func(){
		"AddHash": func() { f.AddHash(h) }, "AddBatch": func() { f.AddBatch(nil, []bloom.Hash{h}) },
		"ContainsHash": later(func() { f.ContainsHash(h) }), "ContainsBatch": later(func() { testkit.Found(f, []bloom.Hash{h}) }),
		"Reset": f.Reset, "Stats": func() { f.Stats() }, "MarshalBinary": func() { _, _ = f.MarshalBinary() },
	})
	testkit.Waits(t, &f.doing, map[string]func(){
		"Do": func() { _ = f.Do(bloom.SumUint64(2), func() error { return nil }) },
	})

	c := newHandCoarse(2*time.Hour, 2)
	testkit.Waits(t, &c.mu, map[string]func(){
		"generation": func() { c.fresh.Store(false); c.generation() }, "began": func() { c.began() }, "tick": c.tick,
	})
}
