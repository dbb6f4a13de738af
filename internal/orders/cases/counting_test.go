//go:build orders

package cases

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// TestCounting: a counting filter is exactly the filter of the keys that remain, whatever was added
// and removed in parallel. a and b share a counter.
func TestCounting(t *testing.T) {
	const n, p = 10, 0.1
	only := func(hs ...bloom.Hash) *bloom.Filter {
		f := bloom.Must(bloom.New(n, p))
		for _, h := range hs {
			f.AddHash(h)
		}
		return f
	}
	a := key(1)
	b := key(100)
	for i := uint64(101); only(a).ContainsHash(b) ||
		only(a, b).OnesCount() == 2*only(a).OnesCount(); i++ {
		b = key(i)
	}
	// is returns an error unless f is the filter of one of several lists of keys.
	is := func(f *counting.Filter, lists ...[]bloom.Hash) error {
		got := f.Bloom()
		if f.Stats().OnesCount != got.OnesCount() {
			return fmt.Errorf("Stats has %d bits, not %d", f.Stats().OnesCount, got.OnesCount())
		}
		for _, hs := range lists {
			if got.Equal(only(hs...)) {
				return nil
			}
		}
		return errors.New("other keys, or a part of one")
	}
	start := func(hs ...bloom.Hash) *counting.Filter {
		f := bloom.Must(counting.New(n, p))
		for _, h := range hs {
			f.AddHash(h)
		}
		return f
	}
	orders.Run(t, "counting/two Removes of one key", func() (check, threads) {
		f := start(a, b)
		removed := 0
		remove := func() {
			if f.RemoveHash(a) {
				removed++
			}
		}
		return func() error {
			if removed != 1 {
				return fmt.Errorf("%d calls got true", removed)
			}
			return is(f, []bloom.Hash{b})
		}, threads{remove, remove}
	})
	orders.Run(t, "counting/Remove beside Add", func() (check, threads) {
		f := start(a)
		removed := false
		return func() error {
				if !removed {
					return errors.New("Remove returned false")
				}
				return is(f, []bloom.Hash{b})
			}, threads{
				func() { removed = f.RemoveHash(a) },
				func() { f.AddHash(b) },
			}
	})
	orders.Run(t, "counting/Remove, Add, look-up", func() (check, threads) {
		f := start(a, b)
		found := false
		return func() error {
				if !found {
					return errMissed
				}
				return is(f, []bloom.Hash{a, b})
			}, threads{
				func() {
					f.RemoveHash(a)
					f.AddHash(a)
				},
				func() { found = f.ContainsHash(b) },
				func() {
					f.AddHash(b)
					f.RemoveHash(b)
				},
			}
	})
	orders.Run(t, "counting/Bloom beside Add and Remove", func() (check, threads) {
		f := start(a)
		var got *bloom.Filter
		return func() error {
				for _, want := range []*bloom.Filter{only(a), only(a, b), only(b), only()} {
					if got.Equal(want) {
						return is(f, []bloom.Hash{b})
					}
				}
				return errors.New("a part of a key")
			}, threads{
				func() { f.RemoveHash(a) },
				func() { f.AddHash(b) },
				func() { got = f.Bloom() },
			}
	})
	orders.Run(t, "counting/Reset beside Add", func() (check, threads) {
		f := start(a)
		return func() error { return is(f, nil, []bloom.Hash{b}) },
			threads{f.Reset, func() { f.AddHash(b) }}
	})
	orders.Run(t, "counting/full counters", func() (check, threads) {
		f := start(a, a, a, a, a, a, a, a, a, a, a, a, a, a, b)
		return func() error { return is(f, []bloom.Hash{a, b}) }, threads{
			func() { f.AddHash(a) },
			func() { f.RemoveHash(a) },
			func() {
				f.AddHash(b)
				f.RemoveHash(b)
			},
		}
	})
}
