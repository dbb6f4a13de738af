package cuckoo

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// The terms of this package:
//
//	tag     7 to 33 bits of a key, never 0. Equal keys have equal tags.
//	slot    room for one tag. An empty slot is 0. The documentation calls a slot a place.
//	bucket  four consecutive slots. Buckets follow one another in words without gaps.
//	place   the tag and the two buckets of a key. The buckets may be the same. The tag and
//	        either bucket determine the other bucket, so tags can be moved without their keys.
//	step    4, 2 or 1 slots of a bucket, in at most 64 bits. A tag is compared with all slots
//	        of a step at once.
//	list    up to 32 digests for which no slot was found, each with a count. The literature
//	        calls it a stash. See list.go.
//	load    the fraction of slots that have a tag
//
// Positions count bits from the beginning of the first bucket. p and q are the positions of a key's
// buckets, and slot is the position of a slot.
type table struct {
	words []uint64 // the buckets, followed by the number of keys; nil if bytes has them
	bytes []byte   // the same words, little-endian; used only by a View, see newView

	buckets uint64
	bits    uint64 // bits in a tag
	width   uint64 // bits in a bucket
	step    uint64 // bits in a step
	mask    uint64 // all bits of a tag
	ones    uint64 // the lowest bit of each tag in a step
	highs   uint64 // the highest bit of each tag in a step

	list   []uint64
	shared *shared // nil unless the table belongs to a SyncFilter
	tired  uint    // number of times that the limit of searches is halved; see refused
}

// minBits and maxBits bound the number of bits in a tag.
const (
	minBits = 7
	maxBits = 33
)

func newTable(buckets uint64, bits int) *table {
	t := &table{
		words: bitwords.Make(int(wordsFor(buckets, uint64(bits))) + 1),
		list:  make([]uint64, listWords),
	}
	t.shape(buckets, uint64(bits))
	return t
}

func (t *table) shape(buckets, bits uint64) {
	t.buckets = buckets
	t.bits = bits
	t.width = 4 * bits
	t.mask = 1<<bits - 1
	t.step = t.width
	for t.step > 64 {
		t.step /= 2
	}
	for shift := uint64(0); shift < t.step; shift += bits {
		t.ones |= 1 << shift
	}
	t.highs = t.ones << (bits - 1)
}

// wordsFor returns the number of words in all buckets.
func wordsFor(buckets, bits uint64) uint64 { return (buckets*bits + 15) / 16 }

type place struct{ tag, p, q uint64 }

func (t *table) place(h bloom.Hash) place {
	h1, h2 := h.Words()
	tag, _ := bits.Mul64(h2, t.mask)
	i, _ := bits.Mul64(h1, t.buckets)
	return place{tag + 1, i * t.width, t.other(i, tag+1) * t.width}
}

// other returns the other bucket of a tag in bucket i: d - i modulo the number of buckets, where d
// depends on the tag. For that bucket, other returns i. With only one multiplication, the values of
// d would form a lattice, and fewer keys would find a slot.
func (t *table) other(i, tag uint64) uint64 {
	x := tag * 0x9e3779b97f4a7c15
	d, _ := bits.Mul64((x^x>>32)*0xd6e8feb86659fd93, t.buckets)
	j, below := bits.Sub64(d, i, 0)
	return j + t.buckets&-below
}

// bitsAt returns 64 bits of words, beginning at position slot.
func bitsAt(words []uint64, slot uint64) uint64 {
	i := slot / 64
	high := atomic.LoadUint64(&words[i+1])
	return atomic.LoadUint64(&words[i])>>(slot%64) | high<<1<<(^slot%64)
}

func (t *table) get(slot uint64) uint64 {
	return (t.word(slot/64)>>(slot%64) | t.word(slot/64+1)<<1<<(^slot%64)) & t.mask
}

// zeros returns the highest bits of the zero tags in the step x. Above the lowest zero tag, it may
// also return the highest bit of a tag that is 1, because the subtraction borrows.
func zeros(x, ones, highs uint64) uint64 { return (x - ones) &^ x & highs }

// holds has no early exit, so that the cache misses of both buckets overlap.
func (t *table) holds(home place) bool {
	p, q := home.p, home.q
	// Without copies, the compiler would load these fields again after every atomic load.
	words := t.words
	ones := t.ones
	highs := t.highs
	if words == nil {
		return t.holdsBytes(home)
	}
	tags := home.tag * ones
	inP := zeros(bitsAt(words, p)^tags, ones, highs)
	inQ := zeros(bitsAt(words, q)^tags, ones, highs)
	hits := inP | inQ
	step := t.step
	for end := p + t.width; p+step < end; {
		p += step
		q += step
		inP = zeros(bitsAt(words, p)^tags, ones, highs)
		inQ = zeros(bitsAt(words, q)^tags, ones, highs)
		hits |= inP | inQ
	}
	return hits != 0
}

// holdsBytes is like holds, for a table that has bytes instead of words.
func (t *table) holdsBytes(home place) bool {
	for o := uint64(0); o < t.width; o += t.bits {
		if t.get(home.p+o) == home.tag || t.get(home.q+o) == home.tag {
			return true
		}
	}
	return false
}

// find returns a slot that holds tag in the bucket at p or q. A tag of 0 finds an empty slot.
func (t *table) find(p, q, tag uint64) (slot uint64, ok bool) {
	tags := tag * t.ones
	for o := uint64(0); o < t.width; o += t.step {
		for _, slot := range [2]uint64{p + o, q + o} {
			hits := zeros(bitsAt(t.words, slot)^tags, t.ones, t.highs)
			if hits != 0 {
				return slot + uint64(bits.TrailingZeros64(hits)) + 1 - t.bits, true
			}
		}
	}
	return 0, false
}

// put writes tag to a slot, or clears the slot if tag is 0.
func (t *table) put(slot, tag uint64) {
	if t.shared != nil {
		if old := t.get(slot); old != 0 {
			t.shared.bump(old)
		}
	}
	i, shift := slot/64, slot%64
	t.store(&t.words[i], t.words[i]&^(t.mask<<shift)|tag<<shift)
	if shift+t.bits > 64 {
		t.store(&t.words[i+1], t.words[i+1]&^(t.mask>>(64-shift))|tag>>(64-shift))
	}
}

func (t *table) store(word *uint64, w uint64) {
	if t.shared != nil {
		atomic.StoreUint64(word, w)
	} else {
		*word = w
	}
}

// count returns the word that holds the number of keys.
func (t *table) count() *uint64 { return &t.words[len(t.words)-1] }

func (t *table) len() uint64 { return t.word(wordsFor(t.buckets, t.bits)) }

func (t *table) word(i uint64) uint64 {
	if t.words == nil {
		return binary.LittleEndian.Uint64(t.bytes[8*i:])
	}
	return atomic.LoadUint64(&t.words[i])
}

func (t *table) contains(h bloom.Hash) bool {
	home := t.place(h)
	if t.shared == nil { // the same as containsAt, without a call
		return t.holds(home) || t.listed(h, home.tag)
	}
	return t.containsAt(h, home)
}

// containsAt is like contains, for a known place of h.
func (t *table) containsAt(h bloom.Hash, home place) bool {
	if t.shared == nil {
		return t.holds(home) || t.listed(h, home.tag)
	}
	moves := &t.shared.moves[home.tag%256]
	for {
		before := moves.Load()
		if t.holds(home) || t.listed(h, home.tag) {
			return true
		}
		if moves.Load() == before {
			return false
		}
	}
}

func (t *table) insert(h bloom.Hash) bool {
	home := t.place(h)
	slot, ok := t.find(home.p, home.q, 0)
	looked := 0
	if !ok {
		slot, looked, ok = t.makeRoom(home)
	}
	if ok {
		t.put(slot, home.tag)
	} else if !t.enlist(h, home.tag) {
		t.refused(looked)
		if invariants.On {
			t.verify()
		}
		return false
	}
	t.store(t.count(), *t.count()+1)
	if invariants.On {
		t.verifyInserted(h)
	}
	return true
}

func (t *table) remove(h bloom.Hash) bool {
	home := t.place(h)
	if !t.delist(h, home.tag) {
		slot, ok := t.find(home.p, home.q, home.tag)
		if !ok {
			return false
		}
		t.put(slot, 0)
	}
	t.store(t.count(), *t.count()-1)
	t.rested()
	if invariants.On {
		t.verify()
	}
	return true
}

// tags counts the slots that hold a tag. It reads all slots.
func (t *table) tags() (n uint64) {
	for slot := uint64(0); slot < t.buckets*t.width; slot += t.bits {
		if t.get(slot) != 0 {
			n++
		}
	}
	return n
}

// placed returns the same number as tags if t is intact, but reads only the number of keys and the
// list.
func (t *table) placed() uint64 {
	n := t.len()
	for i := range room {
		n -= t.entry(i)[times]
	}
	return n
}

// The caller of stats must hold the lock.
func (t *table) stats(info form.Info) bloom.Stats {
	n := t.len()
	tags := t.placed()
	entries := len(t.entries())
	fill := float64(tags) / float64(4*t.buckets)
	words := int(wordsFor(t.buckets, t.bits)) + 1 + entryWords*entries
	return bloom.Stats{
		M:           t.buckets * t.width,
		K:           2,
		OnesCount:   tags * t.bits,
		FillRatio:   fill,
		ApproxCount: n,
		FPR:         8 * fill / float64(t.mask),
		SizeBytes:   form.Cuckoo.Size(words, info),
	}
}

// The caller of clearAll must hold the lock.
func (t *table) clearAll() {
	for _, words := range [][]uint64{t.words, t.list} {
		if t.shared != nil {
			bitwords.ClearAtomic(words)
		} else {
			bitwords.Clear(words)
		}
	}
	t.rested()
}

// clone returns a copy of t in which shared is nil.
func (t *table) clone() *table {
	if t == nil {
		return nil
	}
	t.lock()
	defer t.unlock()
	c := *t
	c.words = bitwords.Clone(t.words)
	c.list = slices.Clone(t.list)
	c.shared = nil
	return &c
}

func (t *table) equal(u *table) bool {
	return t.buckets == u.buckets && t.bits == u.bits &&
		slices.Equal(t.words, u.words) && slices.Equal(t.entries(), u.entries())
}

func (t *table) describe(name string) string {
	if t == nil {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(buckets=%d, bits=%d)", name, t.buckets, t.bits)
}
