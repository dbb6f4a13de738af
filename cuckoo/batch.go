package cuckoo

import (
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/limits"
)

// A batch touches the buckets of up to touchAhead keys before it uses the first of them. With many
// more keys, the first buckets would have left the cache by then.
const touchAhead = 64

const (
	// A batch touches buckets ahead if the table has at least touchWords words. Smaller tables are
	// in a fast cache. A batch of look-ups must also have at least shortBatch keys.
	shortBatch = limits.ShortTouched
	touchWords = limits.TouchedWords
)

// touch sets places[i] to the place of hs[i]. If t has words, touch also reads one word of each
// bucket into the cache. The cache misses overlap.
//
//go:noinline
func (t *table) touch(places *[touchAhead]place, hs []bloom.Hash) (sum uint64) {
	for i, h := range hs {
		places[i] = t.place(h)
	}
	if t.words != nil { // speed
		for _, home := range places[:len(hs)] {
			sum += atomic.LoadUint64(&t.words[home.p/64]) // speed
			sum += atomic.LoadUint64(&t.words[home.q/64]) // speed
		}
	}
	return sum
}

// changeBatch sets done[i] to the result of change for hs[i], or to false if t is nil.
func (t *table) changeBatch(done []bool, hs []bloom.Hash, change func(*table, bloom.Hash) bool) {
	done = bitwords.Fill("cuckoo", done, len(hs))
	if t == nil {
		clear(done)
		return
	}
	var places [touchAhead]place
	for len(hs) > 0 {
		n := min(touchAhead, len(hs))
		if len(t.words) >= touchWords {
			t.touch(&places, hs[:n]) // speed
		}
		t.lock()
		for i, h := range hs[:n] {
			done[i] = change(t, h)
		}
		t.unlock()
		hs = hs[n:]
		done = done[n:]
	}
}

func (t *table) containsBatch(found []bool, hs []bloom.Hash) {
	found = bitwords.Fill("cuckoo", found, len(hs))
	if t == nil {
		clear(found)
		return
	}
	if len(hs) < shortBatch || len(t.words) < touchWords {
		for i, h := range hs {
			found[i] = t.contains(h)
		}
		return
	}
	t.containsTouched(found, hs)
}

// containsTouched looks up hs, and touches buckets ahead.
func (t *table) containsTouched(found []bool, hs []bloom.Hash) {
	var places [touchAhead]place
	for len(hs) > 0 {
		n := min(touchAhead, len(hs))
		t.touch(&places, hs[:n])
		for i, h := range hs[:n] {
			found[i] = t.containsAt(h, places[i])
		}
		hs = hs[n:]
		found = found[n:]
	}
}
