package bank

import (
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestLocks: one at a time writes.
func TestLocks(t *testing.T) {
	b := bloom.Must(NewSize(640, 3))
	b.Append()
	b.SetName(0, "name")
	f := bloom.Must(bloom.NewSize(640, 3))
	data := bloom.Must(b.MarshalBinary())
	testkit.Waits(t, &b.mu, map[string]func(){
		"Append": func() { b.Append() }, "AppendFilter": func() { _, _ = b.AppendFilter(f) },
		"AddHash": func() { b.AddHash(0, bloom.Hash{}) }, "Clear": func() { b.Clear(0) }, "Reset": b.Reset,
		"Name": func() { b.Name(0) }, "SetName": func() { b.SetName(0, "another") },
		"Info": func() { b.Info() }, "SetInfo": func() { b.SetInfo(bloom.Info{}) },
		"MarshalBinary": func() { _, _ = b.MarshalBinary() }, "UnmarshalBinary": func() { _ = b.UnmarshalBinary(data) },
	})
	var left remains
	testkit.Waits(t, &left.mu, map[string]func(){"any": func() { left.any() }})
}
