package main

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// layers is the filter of dedupe where nobody says how many lines there are: a list of
// blocked filters, each for half the rate of the one before, so that all rates together
// stay below p (Almeida et al., Scalable Bloom Filters, 2007). Package growing is for many
// goroutines, and for less memory, with a layer for every few percent. This one is for
// speed. It has two or three layers where growing has seventeen.
type layers struct {
	left func() uint64 // how many lines are still to come, or 0 if nobody knows
	rate float64       // of the newest
	room uint64        // of the newest, in lines
	held uint64        // by the newest
	list []*blocked.Filter

	has   []bool
	is    []int        // numbers of digests that no layer before has
	fresh []bloom.Hash // these
}

func (l *layers) filter() filter { return nil }

// A layer has room for at least leastRoom lines: what a core's cache holds. Where the
// number of lines is known, the first layer has room for half of them, and the second for
// the rest. So a file full of repeats gets only the first. The first has room for at most
// mostRoom lines, 90 MB: little enough to be in vain. Where the number is not known, each
// layer is three times as large as the one before.
const (
	leastRoom = 1_000_000
	mostRoom  = 20_000_000
	leastRate = 1e-12 // of a blocked filter
)

func newLayers(p float64, left func() uint64) (*layers, error) {
	if !(p >= leastRate && p < 1) {
		return nil, fmt.Errorf("p = %v is outside [%v, 1)", p, leastRate)
	}
	return &layers{left: left, rate: p}, nil
}

// grow begins a layer.
func (l *layers) grow() error {
	left := l.left()
	room := max(leastRoom, min(left/2, mostRoom))
	if len(l.list) > 0 {
		room = 3 * l.room
		if left > 0 {
			room = max(leastRoom, min(room, left+left/20))
		}
	}
	rate := max(l.rate/2, leastRate)
	f, err := blocked.New(room, rate)
	if err != nil {
		return err
	}
	l.rate, l.room, l.held, l.list = rate, room, 0, append(l.list, f)
	return nil
}

// chunk is how many digests are added at a time: few beside the room of a layer.
const chunk = 4096

func (l *layers) add(dst []int, hs []bloom.Hash) []int {
	for from := 0; from < len(hs); from += chunk {
		n := len(dst)
		dst = l.addChunk(dst, hs[from:min(len(hs), from+chunk)])
		for i := range dst[n:] {
			dst[n+i] += from
		}
	}
	return dst
}

func (l *layers) addChunk(dst []int, hs []bloom.Hash) []int {
	if l.held >= l.room {
		_ = l.grow() // if there can be no further layer, this one goes on, fuller than it should
	}
	n := len(dst)
	newest := l.list[len(l.list)-1]
	if len(l.list) == 1 {
		l.has = newest.AddBatch(l.has[:0], hs)
		dst = where(dst, l.has, true)
	} else {
		dst = l.addToNewest(dst, newest, hs)
	}
	l.held += uint64(len(dst) - n)
	return dst
}

// addToNewest adds what no layer before the newest has.
func (l *layers) addToNewest(dst []int, newest *blocked.Filter, hs []bloom.Hash) []int {
	l.is = l.is[:0]
	for i := range hs {
		l.is = append(l.is, i)
	}
	l.fresh = append(l.fresh[:0], hs...)
	for _, f := range l.list[:len(l.list)-1] {
		l.has = f.ContainsBatch(l.has[:0], l.fresh)
		l.leave(false)
	}
	l.has = newest.AddBatch(l.has[:0], l.fresh)
	l.leave(true)
	return append(dst, l.is...)
}

// leave leaves those of is and fresh of which has says value.
func (l *layers) leave(value bool) {
	n := 0
	for i, has := range l.has {
		l.is[n], l.fresh[n] = l.is[i], l.fresh[i]
		if has == value {
			n++
		}
	}
	l.is, l.fresh = l.is[:n], l.fresh[:n]
}
