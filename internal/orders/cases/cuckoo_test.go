//go:build orders

package cases

import (
	"errors"
	"fmt"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// moving has the methods that the overlay adds to cuckoo.Filter; see overlay/moves.go.txt.
type moving interface {
	Moves(from *cuckoo.Filter) int
	Moved(from *cuckoo.Filter, in []bloom.Hash) []bloom.Hash
	Tag(h bloom.Hash) uint64
}

func tags(f *cuckoo.Filter) moving { return any(f).(moving) }

// nearlyFull returns a filter, its keys, and a key whose insertion moves two tags or more. The tag
// of a key of victims moves from the bucket that a look-up reads second to the one that it
// reads first.
func nearlyFull(
	n uint64, p float64,
) (f *cuckoo.Filter, in []bloom.Hash, next bloom.Hash, victims []bloom.Hash) {
	for trial := range uint64(5000) {
		f, in = bloom.Must(cuckoo.New(n, p)), nil
		for i := uint64(0); len(in) < int(f.Cap())*9/10; i++ {
			h := key(100 + 1000*trial + i)
			before := f.Stats().OnesCount
			if !f.ContainsHash(h) && f.InsertHash(h) && f.Stats().OnesCount > before {
				in = append(in, h)
			}
		}
		for i := range uint64(20) {
			h := key(1000 + 1000*trial + i)
			g := f.Clone()
			if f.ContainsHash(h) || !g.InsertHash(h) || g.Stats().OnesCount == f.Stats().OnesCount {
				continue
			}
			if tags(g).Moves(f) > 2 && len(tags(g).Moved(f, in)) > 0 {
				return f, in, h, tags(g).Moved(f, in)
			}
		}
	}
	panic("no such key")
}

var errMissed = errors.New("a look-up missed a key that was there all the time")

// TestCuckooMoves: a look-up finds a key whose tag an insertion moves.
func TestCuckooMoves(t *testing.T) {
	for _, p := range []float64{0.1, 1e-3, 1e-6} {
		f, in, next, victims := nearlyFull(60, p)
		orders.Run(t, fmt.Sprintf("cuckoo/Insert that moves keys, p=%v", p), func() (check, threads) {
			s := cuckoo.NewSyncFrom(f)
			found := false
			return func() error {
					if !found {
						return errMissed
					}
					if s.Len() != uint64(len(in)+1) {
						return errors.New("Len")
					}
					return needs(s, append(in[:len(in):len(in)], next)...)
				}, threads{
					func() { found = s.ContainsHash(victims[0]) },
					func() { s.InsertHash(next) },
				}
		})
	}
	f, _, next, victims := nearlyFull(60, 0.1)
	orders.Run(t, "cuckoo/batch of look-ups beside moves", func() (check, threads) {
		s := cuckoo.NewSyncFrom(f)
		found := make([]bool, 1)
		return func() error {
				if !found[0] {
					return errMissed
				}
				return nil
			}, threads{
				func() { s.ContainsBatch(found, victims[:1]) },
				func() { s.InsertHash(next) },
			}
	})
}

// TestCuckooMovesTwice: two keys of one tag move, one after the other, and a look-up finds the
// first.
func TestCuckooMovesTwice(t *testing.T) {
	f, in, next, victims := nearlyFull(60, 0.1)
	moved := f.Clone()
	moved.InsertHash(next)
	same := uint64(500_000)
	tag := tags(moved).Tag(victims[0])
	for {
		h := key(same)
		if !moved.ContainsHash(h) && tags(moved).Tag(h) == tag && moved.Clone().InsertHash(h) {
			break
		}
		same++
	}
	orders.Run(t, "cuckoo/two moves of a tag", func() (check, threads) {
		s := cuckoo.NewSyncFrom(f)
		found := false
		return func() error {
				if !found {
					return errMissed
				}
				return needs(s, in...)
			}, threads{
				func() { found = s.ContainsHash(victims[0]) },
				func() {
					s.InsertHash(next)
					s.InsertHash(key(same))
					s.RemoveHash(key(same))
				},
			}
	})
}

// TestCuckooTwo: calls that change the filter do not undo each other.
func TestCuckooTwo(t *testing.T) {
	a, b, c, d := key(1), key(2), key(3), key(4)
	orders.Run(t, "cuckoo/two Inserts and a look-up", func() (check, threads) {
		s := bloom.Must(cuckoo.NewSync(1, 0.1))
		inserted, missed := false, false
		return func() error {
				if missed {
					return errMissed
				}
				if s.Len() != 2 {
					return errors.New("Len")
				}
				return needs(s, a, b)
			}, threads{
				func() {
					s.InsertHash(a)
					inserted = true
				},
				func() { s.InsertHash(b) },
				func() {
					before := inserted
					missed = before && !s.ContainsHash(a)
				},
			}
	})
	orders.Run(t, "cuckoo/batches and Snapshot", func() (check, threads) {
		s := bloom.Must(cuckoo.NewSync(1, 0.1))
		s.InsertBatch(make([]bool, 2), []bloom.Hash{c, d})
		var in, out [2]bool
		var n uint64
		return func() error {
				if in != [2]bool{true, true} || out != [2]bool{true, true} || s.Len() != 2 || n > 4 {
					return fmt.Errorf("%v %v, Len %d, %d", in, out, s.Len(), n)
				}
				return needs(s, a, b)
			}, threads{
				func() { s.InsertBatch(in[:], []bloom.Hash{a, b}) },
				func() { s.RemoveBatch(out[:], []bloom.Hash{c, d}) },
				func() { n = s.Snapshot().Len() },
			}
	})
	orders.Run(t, "cuckoo/two Removes of one key", func() (check, threads) {
		s := bloom.Must(cuckoo.NewSync(1, 0.1))
		s.InsertHash(a)
		removed := 0
		remove := func() {
			if s.RemoveHash(a) {
				removed++
			}
		}
		return func() error {
			if removed != 1 || s.Len() != 0 {
				return fmt.Errorf("%d calls got true, Len %d", removed, s.Len())
			}
			return nil
		}, threads{remove, remove, func() { s.ContainsHash(a) }}
	})
	orders.Run(t, "cuckoo/Stats beside Insert and Remove", func() (check, threads) {
		s := bloom.Must(cuckoo.NewSync(1, 0.1))
		s.InsertHash(a)
		var n uint64
		return func() error {
				if n > 2 {
					return fmt.Errorf("%d keys", n)
				}
				return needs(s, b)
			}, threads{
				func() { s.InsertHash(b) },
				func() { s.RemoveHash(a) },
				func() { n = s.Stats().ApproxCount },
			}
	})
}

// listed returns a filter in whose list are n keys that have no slot. in are the other keys.
func listed(n int) (f *cuckoo.Filter, list, in []bloom.Hash) {
	f = bloom.Must(cuckoo.New(20, 0.1))
	for i := uint64(11); len(list) < n; i++ {
		h := key(i)
		if f.ContainsHash(h) {
			continue
		}
		before := f.Stats().OnesCount
		if !f.InsertHash(h) {
			panic("full")
		}
		if f.Stats().OnesCount > before {
			in = append(in, h)
		} else {
			list = append(list, h)
		}
	}
	return f, list, in
}

// TestCuckooList: look-ups find keys in the list while keys join and leave it.
func TestCuckooList(t *testing.T) {
	f, list, in := listed(2)
	orders.Run(t, "cuckoo/another key leaves the list", func() (check, threads) {
		s := cuckoo.NewSyncFrom(f)
		found := false
		return func() error {
				if !found {
					return errMissed
				}
				return needs(s, list[0])
			}, threads{
				func() { found = s.ContainsHash(list[0]) },
				func() { s.RemoveHash(list[1]) },
			}
	})
	f, list, in = listed(1)
	makesRoom := func(h bloom.Hash) bool {
		g := f.Clone()
		g.RemoveHash(h)
		before := g.Stats().OnesCount
		g.InsertHash(list[0])
		return g.Stats().OnesCount > before
	}
	for !makesRoom(in[0]) {
		in = in[1:]
	}
	orders.Run(t, "cuckoo/a key gets a slot and leaves the list", func() (check, threads) {
		s := cuckoo.NewSyncFrom(f)
		found := false
		return func() error {
				if !found {
					return errMissed
				}
				return needs(s, list[0])
			}, threads{
				func() { found = s.ContainsHash(list[0]) },
				func() {
					s.RemoveHash(in[0])
					s.InsertHash(list[0])
					s.RemoveHash(list[0])
				},
			}
	})
	orders.Run(t, "cuckoo/a key in slots and in the list", func() (check, threads) {
		s := bloom.Must(cuckoo.NewSync(1, 0.1))
		for range 10 {
			s.InsertHash(key(1))
		}
		found := false
		return func() error {
				if !found {
					return errMissed
				}
				if s.Len() != 1 {
					return errors.New("Len")
				}
				return needs(s, key(1))
			}, threads{
				func() {
					for range 9 {
						s.RemoveHash(key(1))
					}
				},
				func() { found = s.ContainsHash(key(1)) },
			}
	})
}
