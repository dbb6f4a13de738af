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
	ended := make(chan struct{})
	for mine := false; !mine; {
		f.doing.Lock()
		other := f.underWay[h]
		if mine = other == nil; mine {
			if f.ContainsHash(h) {
				f.doing.Unlock()
				return false, nil
			}
			if f.underWay == nil {
				f.underWay = map[bloom.Hash]chan struct{}{}
			}
			f.underWay[h] = ended
		}
		f.doing.Unlock()
		if !mine {
			select {
			case <-other:
			case <-ctx.Done():
				return false, ctx.Err()
			}
		}
	}
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
