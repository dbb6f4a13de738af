//go:build orders

package cases

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// TestBank: Which finds each member as soon as it has a key, and no part of a member, while rows
// widen.
func TestBank(t *testing.T) {
	h, g := key(101), key(102)
	start := func(members int) *bank.Bank {
		b := bloom.Must(bank.NewSize(64, 4))
		for range members {
			b.Append()
		}
		return b
	}
	orders.Run(t, "bank/the first members", func() (check, threads) {
		b := start(0)
		var n [2]int
		missed := false
		many := false
		return func() error {
				if n[0] == n[1] || b.Len() != 2 || missed || many {
					return fmt.Errorf("members %v, Len %d, missed %v, too many %v", n, b.Len(), missed, many)
				}
				if which := b.Which(nil, h); !slices.Equal(which, n[:1]) {
					return fmt.Errorf("Which returns %v, not %v", which, n[:1])
				}
				return nil
			}, threads{
				func() {
					n[0] = b.Append()
					b.AddHash(n[0], h)
					missed = !slices.Contains(b.Which(nil, h), n[0])
				},
				func() { n[1] = b.Append() },
				func() { many = len(b.Which(nil, h)) > 1 },
			}
	})
	const members = 32 // one more widens the rows
	orders.Run(t, "bank/Add, Append, Which", func() (check, threads) {
		b := start(members)
		b.AddHash(0, g)
		added, missed := false, false
		return func() error {
				if missed {
					return errMissed
				}
				if !b.ContainsHash(0, h) || !b.ContainsHash(0, g) || b.Len() != members+1 {
					return errors.New("a key or a member is lost")
				}
				return nil
			}, threads{
				func() { b.Append() },
				func() {
					b.AddHash(0, h)
					added = true
				},
				func() {
					before := added
					which := b.Which(nil, h)
					missed = before && !slices.Contains(which, 0) || !b.ContainsHash(0, g)
				},
			}
	})
	orders.Run(t, "bank/AppendFilter, Which", func() (check, threads) {
		b := start(members)
		f := bloom.Must(bloom.NewSize(64, 4))
		f.AddHash(h)
		f.AddHash(g)
		part := false
		return func() error {
				if part {
					return errors.New("a part of a member was seen")
				}
				return nil
			}, threads{
				func() { bloom.Must(b.AppendFilter(f)) },
				func() {
					n := b.Len()
					has := slices.Contains(b.Which(nil, h), members)
					part = n > members && !has || has && !slices.Contains(b.Which(nil, g), members)
				},
			}
	})
	orders.Run(t, "bank/Clear beside Add", func() (check, threads) {
		b := start(2)
		b.AddHash(0, g)
		b.AddHash(1, h)
		missed := false
		return func() error {
				f, empty := b.Filter(0), bloom.Must(bloom.NewSize(64, 4))
				with := empty.Clone()
				with.AddHash(h)
				if !f.Equal(with) && !f.Equal(empty) {
					return errors.New("a part of a key is there")
				}
				if missed {
					return errMissed
				}
				return nil
			}, threads{
				func() { b.Clear(0) },
				func() { b.AddHash(0, h) },
				func() { missed = !slices.Contains(b.Which(nil, h), 1) },
			}
	})
	orders.Run(t, "bank/MarshalBinary beside Add and Append", func() (check, threads) {
		b := start(members)
		b.AddHash(0, g)
		added, before := false, false
		var data []byte
		return func() error {
				got := new(bank.Bank)
				if err := got.UnmarshalBinary(data); err != nil {
					return err
				}
				if !got.ContainsHash(0, g) || before && !got.ContainsHash(0, h) {
					return errors.New("a key is lost in the form")
				}
				return nil
			}, threads{
				func() { b.Append() },
				func() {
					b.AddHash(0, h)
					added = true
				},
				func() {
					before = added
					data = bloom.Must(b.MarshalBinary())
				},
			}
	})
}
