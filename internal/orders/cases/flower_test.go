//go:build orders

package cases

import (
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
		return func() error { return needs(f, slot(0), slot(1), slot(7)) }, threads{add(0), add(1), add(7)}
	})
}
