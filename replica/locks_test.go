package replica

import (
	"context"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLocks: one at a time changes a publisher, or what others ask about.
func TestLocks(t *testing.T) {
	h := bloom.SumUint64(1)
	p := NewPublisher(bloom.Must(bloom.New(1000, 0.01)))
	testkit.Waits(t, &p.mu, map[string]func(){
		"AddHash": func() { p.AddHash(h) }, "Publish": func() { p.Publish() },
		"Stats": func() { p.Stats() }, "Snapshot": func() { p.Snapshot() },
	})
	c := NewCountingPublisher(bloom.Must(counting.New(1000, 0.01)))
	testkit.Waits(t, &c.mu, map[string]func(){
		"AddHash": func() { c.AddHash(h) }, "RemoveHash": func() { c.RemoveHash(h) }, "Publish": func() { c.Publish() },
	})
	release := p.current.Load()
	testkit.Waits(t, &release.mu, map[string]func(){"piece": func() { release.piece(0) }})

	r := New(p, Config{})
	testkit.Waits(t, &r.mu, map[string]func(){
		"Status": func() { r.Status() }, "Refresh": func() { _ = r.Refresh(context.Background()) },
	})
	s := &HTTPSource{URL: "no scheme"}
	testkit.Waits(t, &s.mu, map[string]func(){"Fetch": func() { _, _ = s.Fetch(context.Background(), "") }})
}
