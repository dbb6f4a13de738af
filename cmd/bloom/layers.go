package main

import (
	"fmt"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// layers is the filter of dedupe where nobody says how many lines there are: a list of
// blocked filters, each three times as large as the one before and for half its rate,
// so that all rates together stay below p (Almeida et al., Scalable Bloom Filters,
// 2007). Package growing is for many goroutines, and for less memory, with a layer for
// every few percent; this one is for speed, and has three where growing has seventeen.
type layers struct {
	rate float64 // of the newest
	room uint64  // of the newest, in lines
	held uint64  // by the newest
	list []*blocked.Filter
	has  []bool // of what is being added
	more []bool
}

// The first layer has room for so many lines: what a core's cache holds, or as many as
// the first lines and the length of the files promise. The most is little enough, 90 MB,
// to be in vain where nearly all lines are repeats.
const (
	leastRoom = 1_000_000
	mostRoom  = 20_000_000
)

func newLayers(p float64, room uint64) (*layers, error) {
	if !(p > 0 && p < 1) {
		return nil, fmt.Errorf("p = %v is outside (0, 1)", p)
	}
	l := &layers{rate: p, room: max(leastRoom, min(room, mostRoom)) / 3}
	return l, l.grow()
}

// grow begins a layer.
func (l *layers) grow() error {
	f, err := blocked.New(3*l.room, l.rate/2)
	if err != nil {
		return err
	}
	l.rate, l.room, l.held, l.list = l.rate/2, 3*l.room, 0, append(l.list, f)
	return nil
}

func (l *layers) newest() *blocked.Filter { return l.list[len(l.list)-1] }

// AddEach appends to dst whether each of hs was new, and adds those that were.
func (l *layers) AddEach(dst []bool, hs []bloom.Hash) []bool {
	if l.held >= l.room {
		_ = l.grow() // if there can be no larger layer, this one goes on, fuller than it should
	}
	n := len(dst)
	dst = addEach(l.newest(), dst, hs, l.old(hs))
	for _, isNew := range dst[n:] {
		if isNew {
			l.held++
		}
	}
	return dst
}

// old reports which of hs the layers before the newest have.
func (l *layers) old(hs []bloom.Hash) []bool {
	l.has = append(l.has[:0], make([]bool, len(hs))...)
	for _, f := range l.list[:len(l.list)-1] {
		l.more = f.ContainsBatch(l.more[:0], hs)
		for i, ok := range l.more {
			l.has[i] = l.has[i] || ok
		}
	}
	return l.has
}
