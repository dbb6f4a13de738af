package window

import (
	"context"

	"github.com/seed79a3ff49/bloom"
)

// Do calls handle unless h is remembered, and adds h if handle returns nil. handled reports
// whether handle was called and returned nil. If h is remembered, Do does not call handle and
// returns false and nil. The event was handled before, or h is a false positive and the event is
// dropped. If handle fails, Do returns its error, and the next Do of h calls its own handle.
//
// Of several calls of Do with the same h at once, one calls handle and the others wait for it. If
// handle returns nil, they return false and nil. If it fails, one of the others calls its own
// handle. Calls with different h do not wait for each other.
//
// If ctx has ended, Do returns the ctx's error and calls nothing. A call that waits returns it
// when its ctx ends. handle gets ctx. It must not call Do with the same h.
//
// Do of a zero Filter panics, as Add does. Do knows of no other process: package bloomredis
// has windows that several share.
func (f *Filter) Do(
	ctx context.Context, h bloom.Hash, handle func(context.Context) error,
) (handled bool, err error) {
	if f.zero() {
		panic(errZero)
	}
	ended := make(chan struct{})
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		seen, other := f.claim(h, ended)
		if seen {
			return false, nil
		}
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
	defer f.release(h, ended) // also if handle panics
	if err := handle(ctx); err != nil {
		return false, err
	}
	f.AddHash(h)
	return true, nil
}

// claim reports whether h is remembered. If it is not, claim returns the channel of the call of Do
// that handles h now. If no call does, it returns nil, and the caller handles h: the others wait
// for ended to be closed.
//
// The look-up is under the lock. Before it, another call could handle h, add it and release it
// between the look-up and the lock, and h would be handled twice.
func (f *Filter) claim(h bloom.Hash, ended chan struct{}) (seen bool, other chan struct{}) {
	f.doing.Lock()
	defer f.doing.Unlock()
	other = f.underWay[h]
	if other != nil {
		return false, other
	}
	if f.ContainsHash(h) {
		return true, nil
	}
	if f.underWay == nil {
		f.underWay = map[bloom.Hash]chan struct{}{}
	}
	f.underWay[h] = ended
	return false, nil
}

// release ends what claim began.
func (f *Filter) release(h bloom.Hash, ended chan struct{}) {
	f.doing.Lock()
	delete(f.underWay, h)
	f.doing.Unlock()
	close(ended)
}
