package window

import "github.com/seed79a3ff49/bloom"

// Do calls handle unless h is remembered, and adds h if handle returns nil. It returns
// handle's error, or nil if h is remembered: it was handled before, or it is a false
// positive, which is dropped. After an error, the next Do of h calls its handle.
//
// Of several Dos of the same h at once, one calls handle and the others wait for it. If it
// returns nil, so do they. If it fails, one of the others calls its own handle. Dos
// of different h do not wait for each other. handle must not call Do with the same h.
//
// Do of a zero Filter panics, as Add does. Do knows of no other process: package bloomredis
// has windows that several share.
func (f *Filter) Do(h bloom.Hash, handle func() error) error {
	if f.zero() {
		panic(errZero)
	}
	for {
		ended, mine := f.begin(h)
		if ended == nil {
			return nil
		}
		if mine {
			defer func() { // also if handle panics
				f.doing.Lock()
				delete(f.underWay, h)
				f.doing.Unlock()
				close(ended)
			}()
			err := handle()
			if err == nil {
				f.AddHash(h)
			}
			return err
		}
		<-ended
	}
}

// begin returns nil if h is remembered. Otherwise h is under way until ended is closed, by
// the caller if it is mine.
func (f *Filter) begin(h bloom.Hash) (ended chan struct{}, mine bool) {
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
