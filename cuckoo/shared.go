package cuckoo

import (
	"sync"
	"sync/atomic"
)

// shared has what a SyncFilter adds to a table. One goroutine writes at a time. Look-ups take no
// lock.
//
// A tag that moves is copied before its old slot is cleared, so it is always in one of its slots.
// But a look-up may read the new slot before the copy, and the old slot after it was cleared, and
// so miss the tag. Therefore the tag's counter is incremented before the tag is cleared or
// overwritten. A look-up that does not find its tag starts again if the counter has changed.
type shared struct {
	sync.Mutex
	moves [256]atomic.Uint32 // a counter for each value of a tag's low byte
}

// The caller of bump must then overwrite the tag, or remove a key with that tag from the list.
func (s *shared) bump(tag uint64) { s.moves[tag%256].Add(1) }

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
