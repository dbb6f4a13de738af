package cuckoo

import (
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// node is a full bucket that a search has reached. If a slot in it becomes free, tag can move
// there.
type node struct {
	i      uint64 // index of the bucket
	tag    uint64
	slot   uint64 // the slot where tag is now
	parent int    // index of the node in which slot lies, or -1 for a bucket of the new key
}

// expanded is the largest number of buckets from which a search tries to move the four tags.
const expanded = 1024

func (t *table) limit() int { return expanded >> t.tired }

// tiredest is the largest value of tired. A search then tries to move the tags of at most
// eight buckets.
const tiredest = 7

// refused halves the limit of searches after one has failed; rested restores the limit. looked is a
// result of makeRoom. A failed search may cost as much as a few hundred insertions, and in a full
// table most searches fail.
//
// Below a load of 0.96, for which New plans, refused changes nothing: the usual cause is a key that
// was inserted many times. refused also changes nothing if looked is below the limit.
func (t *table) refused(looked int) {
	full := 25*t.placed() >= 24*4*t.buckets
	if full && looked >= t.limit() && t.tired < tiredest {
		t.tired++
	}
}

// rested restores the limit of searches, because a slot may be free again.
func (t *table) rested() {
	if t.tired != 0 { // avoids a write to a cache line that look-ups read
		t.tired = 0
	}
}

var queues = sync.Pool{New: func() any { return new([expanded]node) }}

// makeRoom moves tags until one of a key's two full buckets has a free slot, and returns that slot.
// looked is the number of buckets, counting repeats, in which makeRoom looked for a free slot. If
// ok is false, no tag has moved.
//
// The search is breadth-first, so it finds a shortest path, on which no bucket occurs twice. The
// tag at the end of the path moves first. Each tag is copied before its old slot is overwritten, so
// it is always in some slot.
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
