package cuckoo

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// maxVerified is the largest number of buckets in a table that verify reads as a whole.
const maxVerified = 300

// verify checks the list and, if t is small, the buckets. The caller must hold the lock.
func (t *table) verify() {
	marks := uint64(0)
	for i := range room {
		e := t.entry(i)
		if e[times] == 0 {
			continue
		}
		h := bloom.NewHash(e[0], e[1])
		marks |= 1 << (t.place(h).tag % 64)
		invariants.Require(t.index(h) == i, "cuckoo: %v is in the list twice", h)
		invariants.Require(e[times] <= maxTimes, "cuckoo: %v is in the list %d times", h, e[times])
	}
	invariants.Require(t.list[0] == marks, "cuckoo: marks %x, not %x", t.list[0], marks)
	if t.buckets <= maxVerified {
		err := t.check()
		invariants.Require(err == nil, "cuckoo: %v", err)
	}
}

func (t *table) verifyInserted(h bloom.Hash) {
	t.verify()
	invariants.Require(t.contains(h), "cuckoo: %v is not found after its insertion", h)
}

// verifyPath checks that the tags of a path may move. queue[k] is the last node of the path, and
// slot is the free slot at its end.
func (t *table) verifyPath(queue []node, k int, slot uint64) {
	inBucket := func(slot, i uint64) bool { return slot/t.width == i && slot%t.width%t.bits == 0 }
	invariants.Require(t.get(slot) == 0, "cuckoo: the slot at the end of a path is taken")
	seen := map[uint64]bool{}
	for k >= 0 {
		n := queue[k]
		invariants.Require(!seen[n.i], "cuckoo: a path comes to bucket %d twice", n.i)
		seen[n.i] = true
		if n.parent >= 0 {
			p := queue[n.parent]
			invariants.Require(inBucket(n.slot, p.i), "cuckoo: a tag is not from bucket %d", p.i)
			invariants.Require(t.get(n.slot) == n.tag, "cuckoo: a path has another tag")
			invariants.Require(t.other(p.i, n.tag) == n.i, "cuckoo: a tag moves to a third bucket")
		}
		k = n.parent
	}
}
