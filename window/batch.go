package window

import (
	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

const (
	chunk = 64   // the most keys of a batch that are found before the first of them is done
	slots = 1024 // the most positions of these keys

	farLanes = 1 << 20 // see state.far
	// batchLanes is from how many lanes on batches find keys first: such filters are in no cache
	// near the processor.
	batchLanes = 1 << 19
)

// found are keys of a batch in a filter so large that their memory is asked for before it is
// used. Their positions are found once for both.
type found struct {
	n         int // keys
	now       int64
	pages     [chunk]uint64
	positions [slots]uint32 // k of each key
}

// find finds as many of hs as there is room for. It asks for the memory of the first so many
// positions of each.
func (f *found) find(s *state, hs []bloom.Hash, firsts int, lookUp bool) {
	f.n = min(len(hs), chunk, slots/s.k)
	f.now = s.time(lookUp)
	findKeys(s, hs[:f.n], firsts, f.pages[:f.n], f.positions[:f.n*s.k])
}

// of returns positions from to to of key i.
func (f *found) of(s *state, i, from, to int) []uint32 { return f.positions[i*s.k:][from:to] }

// AddBatch adds hs in order and sets added[i] to what AddHash of hs[i] returns. It panics if
// added is shorter than hs, unless added is nil: nobody wants to know then. It is
// faster than AddHash one by one where the filter is larger than the processor's caches.
func (f *Filter) AddBatch(added []bool, hs []bloom.Hash) {
	if f.zero() && len(hs) > 0 {
		panic(errZero)
	}
	added = memory.Answers("window", added, len(hs))
	if f.zero() || len(f.array) < batchLanes {
		for i, h := range hs {
			added[i] = f.AddHash(h)
		}
		return
	}
	for c := (found{}); len(hs) > 0; hs, added = hs[c.n:], added[c.n:] {
		c.find(f.state, hs, f.k, false)
		for i, page := range c.pages[:c.n] {
			added[i] = f.addAt(page, c.of(f.state, i, 0, f.k), c.now)
		}
	}
}

// ContainsBatch sets answers[i] to ContainsHash of hs[i]. It panics if answers is shorter than
// hs. It is faster where AddBatch is.
func (f *Filter) ContainsBatch(answers []bool, hs []bloom.Hash) {
	answers = memory.Fill("window", answers, len(hs))
	if f.zero() || len(f.array) < batchLanes {
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
		c.find(f.state, hs, half, true)
		for i, page := range c.pages[:c.n] {
			if seen[i] = f.seen(page, c.of(f.state, i, 0, half), f.live(page)); seen[i] != 0 {
				fetch(f.lanesOf(page), c.of(f.state, i, half, f.k))
			}
		}
		for i, page := range c.pages[:c.n] {
			answers[i] = seen[i] != 0 && f.seen(page, c.of(f.state, i, half, f.k), seen[i]) != 0
		}
	}
}
