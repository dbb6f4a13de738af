package cuckoo

import (
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
)

// The list holds keys for which a search found no free slot, for example keys that were inserted
// more than eight times.
//
// The list is one word, followed by the entries. Bit t of the first word is set if the tag of a key
// in the list is t modulo 64, so most look-ups read only that word. An entry has three words: the
// two words of a digest, and its count, which is 0 if the entry is free.
const (
	room       = 32 // number of entries
	entryWords = 3
	listWords  = 1 + entryWords*room
	maxTimes   = 1<<32 - 1
)

type entry = [entryWords]uint64

const times = 2 // index of the count in an entry

func (t *table) entry(i int) *entry { return (*entry)(t.list[1+entryWords*i:]) }

// index returns the index of h's entry, or -1 if h has none.
//
//go:noinline
func (t *table) index(h bloom.Hash) int {
	h1, h2 := h.Words()
	for i := range room {
		e := t.entry(i)
		same := atomic.LoadUint64(&e[0]) == h1 && atomic.LoadUint64(&e[1]) == h2
		if same && atomic.LoadUint64(&e[times]) != 0 {
			return i
		}
	}
	return -1
}

func (t *table) listed(h bloom.Hash, tag uint64) bool {
	return atomic.LoadUint64(&t.list[0])>>(tag%64)&1 != 0 && t.index(h) >= 0
}

// enlist adds h to the list once. It returns false if h needs a free entry and there is none, or if
// the count of h is maxTimes.
func (t *table) enlist(h bloom.Hash, tag uint64) bool {
	i := t.index(h)
	for free := 0; i < 0 && free < room; free++ {
		if t.entry(free)[times] == 0 {
			i = free
		}
	}
	if i < 0 || t.entry(i)[times] == maxTimes {
		return false
	}
	e := t.entry(i)
	h1, h2 := h.Words()
	t.store(&e[0], h1)
	t.store(&e[1], h2)
	t.store(&e[times], e[times]+1)
	t.store(&t.list[0], t.list[0]|1<<(tag%64))
	return true
}

// delist removes h from the list once, and reports whether h was there.
func (t *table) delist(h bloom.Hash, tag uint64) bool {
	if !t.listed(h, tag) {
		return false
	}
	if t.shared != nil {
		t.shared.bump(tag)
	}
	e := t.entry(t.index(h))
	t.store(&e[times], e[times]-1)
	t.mark()
	return true
}

// mark sets the first word of the list from the entries.
func (t *table) mark() {
	var tags uint64
	for i := range room {
		if e := t.entry(i); e[times] != 0 {
			tags |= 1 << (t.place(bloom.NewHash(e[0], e[1])).tag % 64)
		}
	}
	t.store(&t.list[0], tags)
}

// entries returns a sorted copy of the entries that are not free.
func (t *table) entries() (es []entry) {
	for i := range room {
		if e := t.entry(i); e[times] != 0 {
			es = append(es, *e)
		}
	}
	slices.SortFunc(es, func(a, b entry) int { return slices.Compare(a[:], b[:]) })
	return es
}

func (t *table) flat() (words []uint64) {
	for _, e := range t.entries() {
		words = append(words, e[:]...)
	}
	return words
}
