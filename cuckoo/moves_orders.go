//go:build orders

package cuckoo

import "github.com/seed79a3ff49/bloom"

// Moves returns the number of slots that differ between f and g.
func (f *Filter) Moves(g *Filter) (n int) {
	t, u := f.table, g.table
	for slot := uint64(0); slot < t.buckets*t.width; slot += t.bits {
		if t.get(slot) != u.get(slot) {
			n++
		}
	}
	return n
}

// Moved returns the digests in hs that are in their first bucket in f and in their second bucket in
// g, with at least one word between the words in which the two slots begin. A look-up reads each
// step of the first bucket before the same step of the second.
func (f *Filter) Moved(g *Filter, hs []bloom.Hash) (moved []bloom.Hash) {
	t, u := f.table, g.table
	for _, h := range hs {
		home := t.place(h)
		a, _ := t.find(home.p, home.q, home.tag)
		b, _ := u.find(home.p, home.q, home.tag)
		first := a >= home.p && a < home.p+t.width
		second := b >= home.q && b < home.q+t.width
		apart := a/64 > b/64+1 || b/64 > a/64+1
		if a != b && first && second && apart {
			moved = append(moved, h)
		}
	}
	return moved
}

func (f *Filter) Tag(h bloom.Hash) uint64 { return f.table.place(h).tag }
