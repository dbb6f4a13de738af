package cuckoo

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
)

// A table has buckets of four slots. A slot has a tag of a key, or 0 if it is empty. Buckets
// lie one after the other in words, without gaps. A key's tag is in one of two buckets; from
// one of them and the tag, the other one follows. So tags can be moved without their keys.
//
// Positions are in bits: p is where a bucket begins, and at is where a slot begins.
type table struct {
	words []uint64 // buckets, and then the number of keys; nil in a View
	bytes []byte   // the same in a View, little-endian

	buckets           uint64
	bits, width       uint64 // of a tag and of a bucket
	step              uint64 // of one, two or four tags, as many as fit into 64 bits
	mask, ones, highs uint64 // of a tag; and the lowest and the highest bits of a step's tags

	list   []uint64 // of keys that found no slot; see room
	shared *shared  // nil, but in a SyncFilter
}

// shared is the part of a SyncFilter that serves many goroutines. One of them writes at a time. Others
// read at the same time, and take no lock.
//
// A tag that is moved is copied first. So it is in one of its places at any time. But a look-up that reads
// the new place before the copy, and the old place after it was cleared, does not see it. Therefore a
// counter goes up before a tag is cleared or overwritten. A look-up that has not found its tag starts again
// if the counter has changed.
type shared struct {
	sync.Mutex
	moves [256]atomic.Uint32 // one for each low byte of a tag
}

const minBits, maxBits = 7, 33 // of a tag

// shape sets everything but the arrays.
func (t *table) shape(buckets, width uint64) {
	t.buckets, t.bits, t.width, t.mask = buckets, width, 4*width, 1<<width-1
	for t.step = t.width; t.step > 64; t.step /= 2 {
	}
	for shift := uint64(0); shift < t.step; shift += width {
		t.ones |= 1 << shift
	}
	t.highs = t.ones << (width - 1)
}

// wordsFor returns the number of words that the buckets take.
func wordsFor(buckets, width uint64) uint64 { return (buckets*width + 15) / 16 }

// place is a key's tag and its two buckets, which may be the same.
type place struct{ tag, p, q uint64 }

func (t *table) place(h bloom.Hash) place {
	h1, h2 := h.Words()
	tag, _ := bits.Mul64(h2, t.mask)
	i, _ := bits.Mul64(h1, t.buckets)
	return place{tag + 1, i * t.width, t.other(i, tag+1) * t.width}
}

// ahead is the number of keys whose buckets a batch touches before it uses them: few enough to stay
// in the cache until then.
const ahead = 64

// touch sets the places of the first keys, and reads a word of each of their buckets. Nothing waits for
// these reads, so that their cache misses overlap. It is not inlined because then the reads, whose
// values nobody uses, would go.
//
//go:noinline
func (t *table) touch(places *[ahead]place, hs []bloom.Hash) (sum uint64) {
	hs = hs[:min(ahead, len(hs))]
	for i, h := range hs {
		places[i] = t.place(h)
	}
	if t.words != nil {
		for _, at := range places[:len(hs)] {
			sum += atomic.LoadUint64(&t.words[at.p/64]) + atomic.LoadUint64(&t.words[at.q/64])
		}
	}
	return sum
}

// other returns the number of the other bucket of a tag that is in bucket i: d - i modulo the
// number of buckets, where d depends on the tag. The other one of that is i again. With one
// multiplication, the d of all tags would make a lattice, and fewer keys would find a place.
func (t *table) other(i, tag uint64) uint64 {
	x := tag * 0x9e3779b97f4a7c15
	d, _ := bits.Mul64((x^x>>32)*0xd6e8feb86659fd93, t.buckets)
	j, below := bits.Sub64(d, i, 0)
	return j + t.buckets&-below
}

// window returns 64 bits of words from a slot on.
func window(words []uint64, at uint64) uint64 {
	i := at / 64
	high := atomic.LoadUint64(&words[i+1])
	return atomic.LoadUint64(&words[i])>>(at%64) | high<<1<<(^at%64)
}

// get returns the tag in a slot.
func (t *table) get(at uint64) uint64 {
	return (t.word(at/64)>>(at%64) | t.word(at/64+1)<<1<<(^at%64)) & t.mask
}

// zeros returns the highest bits of those tags in x that are 0, and maybe of some above the first
// of them: 1 less has a borrow. ones and highs are the table's.
func zeros(x, ones, highs uint64) uint64 { return (x - ones) &^ x & highs }

// has reports whether a key's tag is in one of its buckets. It looks at both in any case: then the
// processor waits for their cache lines at the same time.
func (t *table) has(at place) bool {
	tag, p, q := at.tag, at.p, at.q
	words, ones, highs := t.words, t.ones, t.highs // atomic loads would have Go load these again
	if words == nil {
		for end := p + t.width; p < end; p, q = p+t.bits, q+t.bits {
			if t.get(p) == tag || t.get(q) == tag {
				return true
			}
		}
		return false
	}
	tags := tag * ones
	found := zeros(window(words, p)^tags, ones, highs) | zeros(window(words, q)^tags, ones, highs)
	for step, end := t.step, p+t.width; p+step < end; {
		p, q = p+step, q+step
		found |= zeros(window(words, p)^tags, ones, highs) | zeros(window(words, q)^tags, ones, highs)
	}
	return found != 0
}

// find returns a slot of the bucket at p, or of that at q, that has that tag.
func (t *table) find(p, q, tag uint64) (at uint64, ok bool) {
	for o := uint64(0); o < t.width; o += t.step {
		for _, at := range [2]uint64{p + o, q + o} {
			if found := zeros(window(t.words, at)^tag*t.ones, t.ones, t.highs); found != 0 {
				return at + uint64(bits.TrailingZeros64(found)) + 1 - t.bits, true
			}
		}
	}
	return 0, false
}

// set puts tag, or 0, into a slot.
func (t *table) set(at, tag uint64) {
	if t.shared != nil {
		if old := t.get(at); old != 0 {
			t.leaves(old)
		}
	}
	i, shift := at/64, at%64
	t.store(&t.words[i], t.words[i]&^(t.mask<<shift)|tag<<shift)
	if shift+t.bits > 64 {
		t.store(&t.words[i+1], t.words[i+1]&^(t.mask>>(64-shift))|tag>>(64-shift))
	}
}

// leaves comes before a tag of a SyncFilter leaves its place.
func (t *table) leaves(tag uint64) { t.shared.moves[tag%256].Add(1) }

func (t *table) store(word *uint64, w uint64) {
	if t.shared != nil {
		atomic.StoreUint64(word, w)
	} else {
		*word = w
	}
}

// count returns the word with the number of keys.
func (t *table) count() *uint64 { return &t.words[len(t.words)-1] }

// len returns the number of keys.
func (t *table) len() uint64 { return t.word(wordsFor(t.buckets, t.bits)) }

func (t *table) word(i uint64) uint64 {
	if t.words == nil {
		return binary.LittleEndian.Uint64(t.bytes[8*i:])
	}
	return atomic.LoadUint64(&t.words[i])
}

// contains reports whether a key's tag is in one of its buckets, or the key in the list.
func (t *table) contains(h bloom.Hash) bool {
	at := t.place(h)
	if t.shared == nil {
		return t.has(at) || t.listed(h, at.tag)
	}
	return t.containsAt(h, at)
}

// containsAt is contains of a key whose place is known.
func (t *table) containsAt(h bloom.Hash, at place) bool {
	if t.shared == nil {
		return t.has(at) || t.listed(h, at.tag)
	}
	for moves := &t.shared.moves[at.tag%256]; ; {
		before := moves.Load()
		if t.has(at) || t.listed(h, at.tag) {
			return true
		}
		if moves.Load() == before {
			return false
		}
	}
}

// insert adds a key, and reports whether there was room for it.
func (t *table) insert(h bloom.Hash) bool {
	to := t.place(h)
	at, ok := t.find(to.p, to.q, 0)
	if !ok {
		at, _, ok = t.makeRoom(to)
	}
	if ok {
		t.set(at, to.tag)
	} else if !t.enlist(h, to.tag) {
		return false
	}
	t.store(t.count(), *t.count()+1)
	return true
}

// remove removes a key once, and reports whether it was there.
func (t *table) remove(h bloom.Hash) bool {
	from := t.place(h)
	if !t.delist(h, from.tag) {
		at, ok := t.find(from.p, from.q, from.tag)
		if !ok {
			return false
		}
		t.set(at, 0)
	}
	t.store(t.count(), *t.count()-1)
	return true
}

// node is a full bucket that a search found. A tag can come to it once one of its own has left.
type node struct {
	i      uint64 // its number
	tag    uint64 // that can come
	from   uint64 // the slot where this tag is now
	parent int    // index of the node that has that slot, or -1 for a key's own bucket
}

// expanded is the largest number of buckets whose tags a search tries to move. It looks at four
// others for each.
const expanded = 1024

var queues = sync.Pool{New: func() any { return new([expanded]node) }}

// makeRoom moves tags until a slot is free in one of a key's buckets, which are full. It returns that
// slot. It reports false, and has moved nothing, if no bucket that it looked at has room. looked is
// their number.
//
// The search is breadth-first. So it finds a shortest path, which has no bucket twice. Tags
// move from its end on, each into a slot that is free or whose tag has just been copied. So
// every tag is in a place of its own at any time.
func (t *table) makeRoom(to place) (at uint64, looked int, ok bool) {
	queue := queues.Get().(*[expanded]node)
	defer queues.Put(queue)
	queue[0] = node{to.p / t.width, to.tag, 0, -1}
	queue[1] = node{to.q / t.width, to.tag, 0, -1}
	n := 2
	for k := 0; k < n; k++ {
		bucket := &queue[k]
		for s := range uint64(4) {
			from := bucket.i*t.width + s*t.bits
			x := window(t.words, from) & t.mask
			if x == bucket.tag {
				continue // its other bucket is where bucket.tag is now
			}
			j := t.other(bucket.i, x)
			looked++
			if at, ok = t.find(j*t.width, j*t.width, 0); ok {
				t.set(at, x)
				for ; bucket.parent >= 0; bucket = &queue[bucket.parent] {
					t.set(from, bucket.tag)
					from = bucket.from
				}
				return from, looked, true
			}
			if n < expanded {
				queue[n] = node{j, x, from, k}
				n++
			}
		}
	}
	return 0, looked, false
}

// tags returns how many slots have a tag.
func (t *table) tags() (n uint64) {
	for at := uint64(0); at < t.buckets*t.width; at += t.bits {
		if t.get(at) != 0 {
			n++
		}
	}
	return n
}

// The list has keys that found no slot, by their digests, each with a number of times: those
// that were added more than eight times, and a few that all slots within reach were full for.
// It has 1 + 3*room words. Bit tag%64 of the first is 0 if no key in the list has such a tag.
// Then come the two words of a digest and its number of times, which is 0 if the entry is free.
const (
	room      = 32
	listWords = 1 + 3*room
	maxTimes  = 1<<32 - 1
)

func (t *table) entry(i int) *[3]uint64 { return (*[3]uint64)(t.list[1+3*i:]) }

// index returns the index of h's entry, or -1.
//
//go:noinline
func (t *table) index(h bloom.Hash) int {
	h1, h2 := h.Words()
	for i := range room {
		if e := t.entry(i); atomic.LoadUint64(&e[0]) == h1 && atomic.LoadUint64(&e[1]) == h2 && atomic.LoadUint64(&e[2]) != 0 {
			return i
		}
	}
	return -1
}

func (t *table) listed(h bloom.Hash, tag uint64) bool {
	return atomic.LoadUint64(&t.list[0])>>(tag%64)&1 != 0 && t.index(h) >= 0
}

// enlist puts h into the list once more, and reports whether there was room.
func (t *table) enlist(h bloom.Hash, tag uint64) bool {
	i := t.index(h)
	for free := 0; i < 0 && free < room; free++ {
		if t.entry(free)[2] == 0 {
			i = free
		}
	}
	if i < 0 || t.entry(i)[2] == maxTimes {
		return false
	}
	e := t.entry(i)
	h1, h2 := h.Words()
	t.store(&e[0], h1)
	t.store(&e[1], h2)
	t.store(&e[2], e[2]+1)
	t.store(&t.list[0], t.list[0]|1<<(tag%64))
	return true
}

// delist takes h off the list once, and reports whether it was there.
func (t *table) delist(h bloom.Hash, tag uint64) bool {
	if !t.listed(h, tag) {
		return false
	}
	if t.shared != nil {
		t.leaves(tag)
	}
	e := t.entry(t.index(h))
	t.store(&e[2], e[2]-1)
	t.mark()
	return true
}

// mark sets the list's first word.
func (t *table) mark() {
	var tags uint64
	for i := range room {
		if e := t.entry(i); e[2] != 0 {
			tags |= 1 << (t.place(bloom.NewHash(e[0], e[1])).tag % 64)
		}
	}
	t.store(&t.list[0], tags)
}

// entries returns the list, sorted.
func (t *table) entries() (es [][3]uint64) {
	for i := range room {
		if e := t.entry(i); e[2] != 0 {
			es = append(es, *e)
		}
	}
	slices.SortFunc(es, func(a, b [3]uint64) int { return slices.Compare(a[:], b[:]) })
	return es
}
