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
	has  []bool
}

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

// AddBatch adds hs, of which ContainsBatch said that none was there.
func (l *layers) AddBatch(dst []bool, hs []bloom.Hash) []bool {
	if l.held >= l.room {
		_ = l.grow() // if there can be no further layer, this one goes on, fuller than it should
	}
	l.held += uint64(len(hs))
	return l.list[len(l.list)-1].AddBatch(dst, hs)
}

// ContainsBatch appends to dst whether any layer has each of hs.
func (l *layers) ContainsBatch(dst []bool, hs []bloom.Hash) []bool {
	if len(l.list) == 0 {
		return append(dst, make([]bool, len(hs))...)
	}
	n := len(dst)
	dst = l.list[0].ContainsBatch(dst, hs)
	for _, f := range l.list[1:] {
		l.has = f.ContainsBatch(l.has[:0], hs)
		for i, ok := range l.has {
			dst[n+i] = dst[n+i] || ok
		}
	}
	return dst
}
