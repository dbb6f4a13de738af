package window

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

const (
	chunk = 64   // the most keys of a batch that are found before the first of them is done
	slots = 1024 // the most positions of these keys

	// farWords is from how many words on that pays: such filters are in no cache near
	// the processor.
	farWords = 1 << 19
)

// found are keys of a batch in a filter so large that their memory is asked for before it is
// used. Their positions are found once for both.
type found struct {
	n         int    // keys
	gen       uint64 // the clock's
	blocks    [chunk]uint64
	positions [slots]uint32 // k of each key
}

// find finds as many of hs as there is room for. It asks for the memory of the first so many
// positions of each.
func (f *found) find(s *state, hs []bloom.Hash, firsts int) {
	f.n = min(len(hs), chunk, slots/s.k)
	f.gen = s.clock.generation()
	findKeys(s, hs[:f.n], firsts, f.blocks[:f.n], f.positions[:f.n*s.k])
}

// add is AddHash of key i; see state.add.
func (f *found) add(s *state, i int) bool {
	b, words := &s.blocks[f.blocks[i]], s.wordsOf(f.blocks[i])
	b.Lock()
	s.expire(b, words, f.gen)
	lane := uint32(64) - 1<<(s.laneBits&63)
	bit := uint64(1) << (b.gen.Load() &^ uint64(lane) & 63)
	seen := ^uint64(0)
	for _, p := range f.positions[i*s.k:][:s.k] {
		word := &words[p>>6]
		seen &= *word >> (p & lane & 63)
		memory.Store(word, *word|bit<<(p&lane&63))
	}
	b.Unlock()
	return seen<<(lane&63) == 0
}

// refresh moves the block of key i on to the current generation.
func (f *found) refresh(s *state, i int) {
	if b := &s.blocks[f.blocks[i]]; b.gen.Load() < f.gen {
		b.Lock()
		s.expire(b, s.wordsOf(f.blocks[i]), f.gen)
		b.Unlock()
	}
}

// seen returns the bits of the generations in which positions from to to of key i are all
// set.
func (f *found) seen(s *state, i, from, to int) uint64 {
	words, lane := s.wordsOf(f.blocks[i]), uint32(64)-1<<(s.laneBits&63)
	seen := ^uint64(0)
	for _, p := range f.positions[i*s.k:][from:to] {
		seen &= atomic.LoadUint64(&words[p>>6]) >> (p & lane & 63)
	}
	return seen << (lane & 63)
}

// AddBatch adds hs in order and sets added[i] to what AddHash of hs[i] returns. It panics if
// added is shorter than hs, unless added is nil: nobody wants to know then. It is
// faster than AddHash one by one where the filter is larger than the processor's caches.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if f.zero() && len(hs) > 0 {
		panic(errZero)
	}
	added = memory.Answers("window", added, len(hs))
	if f.zero() || len(f.array) < farWords {
		for i, h := range hs {
			added[i] = f.AddHash(h)
		}
		return
	}
	for c := (found{}); len(hs) > 0; hs, added = hs[c.n:], added[c.n:] {
		c.find(f.state, hs, f.k)
		for i := range c.n {
			added[i] = c.add(f.state, i)
		}
	}
}

// ContainsBatch sets answers[i] to ContainsHash of hs[i]. It panics if answers is shorter than
// hs. It is faster where AddBatch is.
func (f *Filter) ContainsBatch(answers []bool, hs []bloom.Hash) {
	answers = memory.Fill("window", answers, len(hs))
	if f.zero() || len(f.array) < farWords {
		for i, h := range hs {
			answers[i] = f.ContainsHash(h)
		}
		return
	}
	// By half of their positions, most absent keys are known to be absent. The memory of
	// the others' other positions is asked for then.
	half := (f.k/2 + 1) &^ 1
	var seen [chunk]uint64
	for c := (found{}); len(hs) > 0; hs, answers = hs[c.n:], answers[c.n:] {
		c.find(f.state, hs, half)
		for i, block := range c.blocks[:c.n] {
			c.refresh(f.state, i)
			if seen[i] = c.seen(f.state, i, 0, half); seen[i] != 0 {
				fetch(f.wordsOf(block), c.positions[i*f.k:][half:f.k])
			}
		}
		for i := range c.n {
			if seen[i] != 0 {
				seen[i] &= c.seen(f.state, i, half, f.k)
			}
			answers[i] = seen[i] != 0
		}
	}
}
