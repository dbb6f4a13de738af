//go:build orders

package cases

import (
	"errors"
	"fmt"
	"math/bits"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// inShard returns keys of one shard that are no false positives of each other.
func inShard(n int) (hs []bloom.Hash) {
	f := bloom.Must(growing.New(16, 1e-6))
	for i := uint64(100); len(hs) < n; i++ {
		h1, h2 := key(i).Words()
		shard := (h1 ^ bits.RotateLeft64(h2, 19)) * 0x9e3779b97f4a7c15 >> 60
		if shard == 3 && f.AddHash(key(i)) {
			hs = append(hs, key(i))
		}
	}
	return hs
}

// TestGrowing: keys are found, and each is new once, while layers begin. A layer has room for three
// keys here.
func TestGrowing(t *testing.T) {
	hs := inShard(8)
	start := func(n int) *growing.Filter {
		f := bloom.Must(growing.New(16, 1e-6))
		for _, h := range hs[:n] {
			f.AddHash(h)
		}
		return f
	}
	orders.Run(t, "growing/two adders", func() (check, threads) {
		f := start(0)
		var isNew [4]bool
		missed := false
		return func() error {
				if isNew != [4]bool{true, true, true, true} {
					return fmt.Errorf("new keys: %v", isNew)
				}
				if missed {
					return errMissed
				}
				if n := f.Stats().ApproxCount; n != 4 {
					return fmt.Errorf("ApproxCount %d", n)
				}
				return needs(f, hs[:4]...)
			}, threads{
				func() {
					isNew[0] = f.AddHash(hs[0])
					missed = !f.ContainsHash(hs[0])
					isNew[1] = f.AddHash(hs[1])
				},
				func() {
					isNew[2] = f.AddHash(hs[2])
					isNew[3] = f.AddHash(hs[3])
				},
			}
	})
	orders.Run(t, "growing/one key twice", func() (check, threads) {
		f := start(2)
		got := 0
		add := func() {
			if f.AddHash(hs[2]) {
				got++
			}
		}
		return func() error {
			if got != 1 {
				return fmt.Errorf("%d calls got true", got)
			}
			return needs(f, hs[:4]...)
		}, threads{add, add, func() { f.AddHash(hs[3]) }}
	})
	orders.Run(t, "growing/look-ups beside Adds", func() (check, threads) {
		f := start(1)
		done := 1
		var err error
		return func() error { return errors.Join(err, needs(f, hs[:4]...)) }, threads{
			func() {
				for done < 4 {
					f.AddHash(hs[done])
					done++
				}
			},
			func() {
				before := done
				err = needs(f, hs[:before]...)
			},
		}
	})
	orders.Run(t, "growing/Stats beside Adds", func() (check, threads) {
		f := start(2)
		done := uint64(2)
		var least, most, n uint64
		return func() error {
				if n < least || n > most {
					return fmt.Errorf("ApproxCount is %d beside %d to %d keys", n, least, most)
				}
				return needs(f, hs[:4]...)
			}, threads{
				func() {
					for done < 4 {
						f.AddHash(hs[done])
						done++
					}
				},
				func() {
					least = done
					n = f.Stats().ApproxCount
					most = done + 1
				},
			}
	})
	orders.Run(t, "growing/AddBatch beside AddBatch", func() (check, threads) {
		f := start(1)
		var x, y [3]bool
		return func() error {
				for i := range x {
					if x[i] == y[i] {
						return fmt.Errorf("new keys: %v and %v", x, y)
					}
				}
				return needs(f, hs[:4]...)
			}, threads{
				func() { f.AddBatch(x[:], hs[1:4]) },
				func() { f.AddBatch(y[:], hs[1:4]) },
			}
	})
	orders.Run(t, "growing/Reset beside Add", func() (check, threads) {
		f := start(2)
		return func() error {
				if f.ContainsHash(hs[0]) {
					return errors.New("Reset left a key")
				}
				return needs(f, hs[4])
			}, threads{
				func() {
					f.AddHash(hs[2])
					f.AddHash(hs[3])
				},
				func() {
					f.Reset()
					f.AddHash(hs[4])
				},
			}
	})
}
