//go:build orders

package cases

import (
	"fmt"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// TestFlower: keys of different slots are found once they were added, although all slots are bytes
// of one word.
func TestFlower(t *testing.T) {
	slot := func(i uint64) bloom.Hash { return bloom.NewHash(i<<61|i+1, 0) } // of eight
	orders.Run(t, "flower/neighbours", func() (check, threads) {
		f := bloom.Must(flower.New(flower.Config{Slots: 8, Ways: 1, Bits: 8}))
		add := func(i uint64) func() { return func() { f.AddHash(slot(i)) } }
		return func() error {
			return needs(f, slot(0), slot(1), slot(7))
		}, threads{add(0), add(1), add(7)}
	})
	// Key a has a slot in each of two ways. Other keys overwrite none of these.
	a := bloom.NewHash(1<<61|5, 3)
	orders.Run(t, "flower/one key", func() (check, threads) {
		f := bloom.Must(flower.New(flower.Config{Slots: 16, Ways: 2, Bits: 8}))
		got := 0
		add := func() {
			if f.AddHash(a) {
				got++
			}
		}
		batch := func() {
			var isNew [2]bool
			f.AddBatch(isNew[:], []bloom.Hash{a, a})
			if isNew[0] {
				got++
			}
			if isNew[1] {
				got += 2
			}
		}
		return func() error {
			if got != 1 {
				return fmt.Errorf("%d calls got true", got)
			}
			return needs(f, a)
		}, threads{add, add, batch}
	})
}
