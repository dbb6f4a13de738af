package cuckoo

import (
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// node is a full bucket that a search found. A tag can move there when the bucket has a free slot.
type node struct {
	i      uint64 // the number of the bucket
	tag    uint64 // the tag that can move there
	slot   uint64 // the slot where the tag is now
	parent int    // the index of the node with that slot, or -1 for a bucket of the new key
}

// expanded is the largest number of buckets whose tags a search tries to move. For each, it looks
// at the four buckets to which its tags can move.
const expanded = 1024

// limit is like expanded, but for the next search.
func (t *table) limit() int { return expanded >> t.tired }

// tiredest is the largest value of tired: a search then expands eight buckets.
const tiredest = 7

// refused makes later searches shorter after a search that failed; looked is the number of buckets
// that the search looked at. A failed search costs as much as a few hundred insertions, and in a
// full table every search fails. Each refusal halves the work of the next search, until rested is
// called.
//
// While less than 96 % of the slots are taken, which is what New plans for, searches keep their
// length: a refusal then has another reason, such as a key that was inserted many times.
func (t *table) refused(looked int) {
	full := 25*t.placed() >= 24*4*t.buckets
	if full && looked >= t.limit() && t.tired < tiredest {
		t.tired++
	}
}

// rested restores the length of searches, because a slot may be free again.
func (t *table) rested() {
	if t.tired != 0 { // look-ups read the same cache line
		t.tired = 0
	}
}

var queues = sync.Pool{New: func() any { return new([expanded]node) }}

// makeRoom moves tags until one of a key's two full buckets has a free slot, and returns that slot.
// looked is the number of buckets that it looked at. If no path of moves leads to a free slot,
// makeRoom moves nothing and returns false.
//
// The search is breadth-first: it finds a shortest path, and no bucket is on it twice. Tags move
// from the end of the path back to its beginning, each into a slot that is free or whose tag was
// just copied to the next slot. So at any time every tag is in a slot.
func (t *table) makeRoom(home place) (free uint64, looked int, ok bool) {
	queue := queues.Get().(*[expanded]node)
	defer queues.Put(queue)
	limit := t.limit()
	queue[0] = node{i: home.p / t.width, tag: home.tag, parent: -1}
	queue[1] = node{i: home.q / t.width, tag: home.tag, parent: -1}
	n := 2
	for k := 0; k < n; k++ {
		bucket := &queue[k]
		var tags, others [4]uint64
		for s := range tags {
			tags[s] = bitsAt(t.words, bucket.i*t.width+uint64(s)*t.bits) & t.mask
			others[s] = t.other(bucket.i, tags[s])
			atomic.LoadUint64(&t.words[others[s]*t.width/64]) // four cache misses overlap
		}
		for s, x := range tags {
			slot := bucket.i*t.width + uint64(s)*t.bits
			if x == bucket.tag {
				continue // the other bucket of x is the parent, or the new key's other bucket
			}
			j := others[s]
			looked++
			if free, ok = t.find(j*t.width, j*t.width, 0); ok {
				if invariants.On {
					t.verifyPath(queue[:n], k, free)
				}
				t.put(free, x)
				for bucket.parent >= 0 {
					t.put(slot, bucket.tag)
					slot = bucket.slot
					bucket = &queue[bucket.parent]
				}
				return slot, looked, true
			}
			if n < limit {
				queue[n] = node{i: j, tag: x, slot: slot, parent: k}
				n++
			}
		}
	}
	return 0, looked, false
}
