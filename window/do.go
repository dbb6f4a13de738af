package window

import (
	"context"

	"github.com/seed79a3ff49/bloom"
)

// Do calls handle unless h is remembered, and adds h if handle returns nil. handled reports
// whether handle was called and returned nil. If h is remembered, handle is not called, and Do
// returns false and nil: h was handled before, or it is a false positive, which is dropped.
// If handle fails, Do returns its error, and the next Do of h calls its own handle.
//
// Of several Dos of the same h at once, one calls handle and the others wait for it. If it returns
// nil, they return false and nil. If it fails, one of the others calls its own handle. A Do that
// waits ends with its ctx, and returns the ctx's error. Dos of different h do not wait for
// each other. handle gets ctx. It must not call Do with the same h.
//
// Do of a zero Filter panics, as Add does. Do knows of no other process: package bloomredis
// has windows that several share.
func (f *Filter) Do(ctx context.Context, h bloom.Hash, handle func(context.Context) error) (handled bool, err error) {
	if f.zero() {
		panic(errZero)
	}
	for {
		ended, mine := f.claim(h)
		switch {
		case ended == nil:
			return false, nil
		case mine:
			defer func() { // also if handle panics
				f.doing.Lock()
				delete(f.underWay, h)
				f.doing.Unlock()
				close(ended)
			}()
			if err := handle(ctx); err != nil {
				return false, err
			}
			f.AddHash(h)
			return true, nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// claim returns nil if h is remembered. Otherwise h is under way until ended is closed, by
// the caller if it is mine.
func (f *Filter) claim(h bloom.Hash) (ended chan struct{}, mine bool) {
	f.doing.Lock()
	defer f.doing.Unlock()
	if ended := f.underWay[h]; ended != nil {
		return ended, false
	}
	if f.ContainsHash(h) {
		return nil, false
	}
	if f.underWay == nil {
		f.underWay = map[bloom.Hash]chan struct{}{}
	}
	ended = make(chan struct{})
	f.underWay[h] = ended
	return ended, true
}
