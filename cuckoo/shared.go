package cuckoo

import (
	"sync"
	"sync/atomic"
)

// shared is the part of a SyncFilter that serves many goroutines. One of them writes at a time;
// others read at the same time, without a lock.
//
// A tag that is moved is copied first, so it is in one of its slots at any time. But a look-up that
// reads the new slot before the copy, and the old slot after it was cleared, does not see the tag.
// Therefore a tag's counter goes up before the tag is cleared or overwritten. A look-up that does
// not find its tag starts again if the counter has changed.
type shared struct {
	sync.Mutex
	moves [256]atomic.Uint32 // a counter for each low byte of a tag
}

// bump counts tag's move. The caller then clears or overwrites the tag.
func (s *shared) bump(tag uint64) { s.moves[tag%256].Add(1) }

// lock keeps other goroutines from writing to a SyncFilter's table. It does nothing to the table of
// a Filter.
func (t *table) lock() {
	if t.shared != nil {
		t.shared.Lock()
	}
}

func (t *table) unlock() {
	if t.shared != nil {
		t.shared.Unlock()
	}
}
