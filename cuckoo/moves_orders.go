//go:build orders

package cuckoo

import "github.com/seed79a3ff49/bloom"

// Moves returns how many slots differ.
func (f *Filter) Moves(g *Filter) (n int) {
	t, u := f.table, g.table
	for at := uint64(0); at < t.buckets*t.width; at += t.bits {
		if t.get(at) != u.get(at) {
			n++
		}
	}
	return n
}

// Moved returns the keys of in whose tag is at another slot in f than in g: in the bucket that a
// look-up reads first, and before in the other one.
func (f *Filter) Moved(g *Filter, in []bloom.Hash) (moved []bloom.Hash) {
	t, u := f.table, g.table
	for _, h := range in {
		at := t.place(h)
		a, _ := t.find(at.p, at.q, at.tag)
		b, _ := u.find(at.p, at.q, at.tag)
		first := a >= at.p && a < at.p+t.width
		second := b >= at.q && b < at.q+t.width
		apart := a/64 > b/64+1 || b/64 > a/64+1
		if a != b && first && second && apart {
			moved = append(moved, h)
		}
	}
	return moved
}

// Tag returns h's tag.
func (f *Filter) Tag(h bloom.Hash) uint64 { return f.table.place(h).tag }
