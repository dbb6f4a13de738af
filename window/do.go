package window

import (
	"context"

	"github.com/seed79a3ff49/bloom"
)

// Do calls handle unless h is remembered, and adds h if handle returns nil. handled reports whether
// handle was called and returned nil. If handle fails, Do returns its error and does not add h, so
// Do can be called again with h. If h is remembered, Do returns false and nil: h was added before,
// or the event is dropped because h is a false positive. With Renew, Do then remembers h for
// another Span, as Add does.
//
// If several goroutines call Do with the same h, one of them calls handle and the others wait. When
// handle returns nil, the others return false and nil. When it fails, one of them calls its own
// handle. Calls with different h do not wait for each other.
//
// If ctx has ended, or ends while Do waits, Do returns the error of ctx and does not call handle.
// Do passes ctx to handle. handle must not call Do with the same h.
//
// Do panics if f is zero, as Add does. It has no effect on other processes; for windows that
// several processes share, see package bloomredis.
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
	defer f.release(h, ended) // even if handle panics
	if err := handle(ctx); err != nil {
		return false, err
	}
	f.AddHash(h)
	return true, nil
}

// If another call of Do is handling h, claim returns its channel. Otherwise it reports whether h is
// remembered, and with Renew adds a remembered h again. If busy is nil and seen is false, the
// caller must handle h; other calls wait until it closes ended.
//
// claim holds the lock during the look-up. Otherwise another call could handle h, add it and
// release it between the look-up and the lock, and h would be handled twice.
func (f *Filter) claim(h bloom.Hash, ended chan struct{}) (seen bool, busy chan struct{}) {
	f.doing.Lock()
	defer f.doing.Unlock()
	busy = f.underWay[h]
	if busy != nil {
		return false, busy
	}
	renew := f.config.Renew
	now := f.time(!renew)
	if f.contains(h) {
		if renew {
			f.addAt(h, now)
		}
		return true, nil
	}
	if f.underWay == nil {
		f.underWay = map[bloom.Hash]chan struct{}{}
	}
	f.underWay[h] = ended
	return false, nil
}

// release undoes claim, and wakes the calls that wait.
func (f *Filter) release(h bloom.Hash, ended chan struct{}) {
	f.doing.Lock()
	delete(f.underWay, h)
	f.doing.Unlock()
	close(ended)
}
