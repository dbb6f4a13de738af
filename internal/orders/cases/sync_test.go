//go:build orders

package cases

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"path/filepath"
	"testing"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// shared is a filter that goroutines share.
type shared interface {
	bloom.Set
	AddBatch([]bool, []bloom.Hash)
	Reset()
}

// testShared has the cases of both kinds of SyncFilter. a and b share a word. merge merges a filter
// with c.
func testShared(t *testing.T, name string, start func() shared, merge func(shared) error) {
	a, b, c, d := key(101), key(102), key(103), key(104)
	orders.Run(t, name+"/two adders", func() (check, threads) {
		f := start()
		var isNew [2]bool
		missed := false
		return func() error {
				if isNew != [2]bool{true, true} {
					return fmt.Errorf("new keys: %v", isNew)
				}
				if missed {
					return errMissed
				}
				return needs(f, a, b)
			}, threads{
				func() {
					isNew[0] = f.AddHash(a)
					missed = !f.ContainsHash(a)
				},
				func() { // four keys are no short batch in a blocked filter with one line
					var added [4]bool
					f.AddBatch(added[:], []bloom.Hash{b, b, b, b})
					isNew[1] = added == [4]bool{true, false, false, false}
				},
			}
	})
	orders.Run(t, name+"/Merge, Add, Reset", func() (check, threads) {
		f := start()
		f.AddHash(d)
		reset := false
		var merged, added bool // after Reset
		var err error
		return func() error {
				if merged {
					err = errors.Join(err, needs(f, c))
				}
				if added {
					err = errors.Join(err, needs(f, a))
				}
				return err
			}, threads{
				func() {
					merged = reset
					err = merge(f)
				},
				func() {
					added = reset
					f.AddHash(a)
				},
				func() {
					f.Reset()
					reset = true
				},
			}
	})
	orders.Run(t, name+"/Merge beside Adds", func() (check, threads) {
		f := start()
		var err error
		return func() error { return errors.Join(err, needs(f, a, b, c)) }, threads{
			func() { err = merge(f) },
			func() { f.AddHash(a) },
			func() { f.AddHash(b) },
		}
	})
}

func TestSync(t *testing.T) {
	testShared(t, "bloom.SyncFilter",
		func() shared { return bloom.NewSyncFrom(small()) },
		func(f shared) error { return f.(*bloom.SyncFilter).Merge(small(key(103))) })
}

func TestBlockedSync(t *testing.T) {
	start := func() *blocked.SyncFilter {
		return blocked.NewSyncFrom(bloom.Must(blocked.NewSize(256, 1)))
	}
	testShared(t, "blocked.SyncFilter",
		func() shared { return start() },
		func(f shared) error {
			g := bloom.Must(blocked.NewSize(256, 1))
			g.AddHash(key(103))
			return f.(*blocked.SyncFilter).Merge(g)
		})
}

// equalWords returns a key whose two lines have the same bits in the last word of a block.
func equalWords() bloom.Hash {
	for i := uint64(0); ; i++ {
		f := bloom.Must(blocked.NewSize(256, 2))
		f.AddHash(key(i))
		form := bloom.Must(f.MarshalBinary())
		const head, last = 32, 24
		word := binary.LittleEndian.Uint64(form[head+last:])
		if bits.OnesCount64(word) == 2 {
			return key(i)
		}
	}
}

// TestOneIsNew: of calls that add one new key concurrently, one gets true. If other keys set its
// bits, too, at most one does.
func TestOneIsNew(t *testing.T) {
	a, b := key(101), key(102)
	h1, h2 := a.Words()
	of := func(m uint64, k int) func() shared {
		return func() shared { return bloom.NewSyncFrom(bloom.Must(bloom.NewSize(m, k))) }
	}
	blocks := func(m uint64, lines int) func() shared {
		return func() shared { return blocked.NewSyncFrom(bloom.Must(blocked.NewSize(m, lines))) }
	}
	for _, test := range []struct {
		name   string
		start  func() shared
		a      bloom.Hash // the key that several add
		beside bloom.Hash // a key with some of a's bits
	}{
		{"bloom, 3 bits", of(192, 3), a, bloom.NewHash(h1+2*h2, h2)},
		{"bloom, 10 bits", of(1024, 10), a, bloom.NewHash(h1+9*h2, h2)},
		// bits 0 and 32 are equal
		{"bloom, 34 bits", of(4032, 34), bloom.NewHash(h1, 1<<58), b},
		// bits 0 and 2 are equal
		{"bloom, equal bits", of(192, 3), bloom.NewHash(h1, 1<<62), bloom.NewHash(h1, 5)},
		{"bloom, one bit", of(192, 3), bloom.NewHash(h1, 0), bloom.NewHash(h1, 5)},
		{"bloom, Mitz32", func() shared {
			return bloom.NewSyncFrom(bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 10, 0.1)))
		}, a, b},
		{"blocked, 1 line", blocks(256, 1), a, bloom.NewHash(h1&^0xffff, h2)},
		{"blocked, 2 lines in one block", blocks(256, 2), equalWords(), b},
		{"blocked, 2 lines", blocks(1024, 2), a, b},
		{"blocked, 4 lines", blocks(512, 4), a, b},
	} {
		start, a, beside := test.start, test.a, test.beside
		// tell returns threads that count how often they are told that a is new.
		tell := func(f shared) (got *int, alone, look, batch func()) {
			got = new(int)
			count := func(isNew bool) {
				if isNew {
					*got++
				}
			}
			alone = func() { count(f.AddHash(a)) }
			look = func() { count(!f.(asked).ContainsHash(a) && f.AddHash(a)) }
			batch = func() {
				var isNew [2]bool
				f.AddBatch(isNew[:], []bloom.Hash{a, a})
				count(isNew[0])
				count(isNew[1])
			}
			return got, alone, look, batch
		}
		exactly := func(f shared, got *int) check {
			return func() error {
				if *got != 1 {
					return fmt.Errorf("%d calls got true", *got)
				}
				return needs(f, a)
			}
		}
		orders.Run(t, test.name+"/two adders", func() (check, threads) {
			f := start()
			got, alone, _, _ := tell(f)
			return exactly(f, got), threads{alone, alone}
		})
		orders.Run(t, test.name+"/a look-up before, and a batch", func() (check, threads) {
			f := start()
			got, _, look, batch := tell(f)
			return exactly(f, got), threads{look, batch}
		})
		if test.name == "bloom, 34 bits" {
			continue // two threads have enough orders
		}
		orders.Run(t, test.name+"/another key", func() (check, threads) {
			f := start()
			got, alone, _, _ := tell(f)
			return func() error {
				if *got > 1 {
					return fmt.Errorf("%d calls got true", *got)
				}
				return needs(f, a, beside)
			}, threads{alone, alone, func() { f.AddHash(beside) }}
		})
		orders.Run(t, test.name+"/three adders", func() (check, threads) {
			f := start()
			got, alone, _, batch := tell(f)
			return exactly(f, got), threads{alone, alone, batch}
		})
	}
}

// TestSyncSave: a file has each key whose Add returned before SaveFile, whatever comes beside it,
// and can be read.
func TestSyncSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	hs := []bloom.Hash{key(101), key(102)}
	orders.Run(t, "bloom.SyncFilter/SaveFile and Stats beside Adds", func() (check, threads) {
		s := bloom.NewSyncFrom(small())
		done, before := 0, 0
		var stats bloom.Stats
		var err error
		return func() error {
				f, failed := bloom.LoadFile(path)
				if err := errors.Join(err, failed); err != nil {
					return err
				}
				if all := s.Stats().OnesCount; stats.OnesCount > all {
					return fmt.Errorf("%d bits, then %d", stats.OnesCount, all)
				}
				return needs(f, hs[:before]...)
			}, threads{
				func() {
					for _, h := range hs {
						s.AddHash(h)
						done++
					}
				},
				func() {
					before = done
					err = s.SaveFile(path)
					stats = s.Stats()
				},
			}
	})
}

// TestSyncPatch: of two patches of one filter, one is applied. A key of both filters is found at
// any time. A patch that is refused beside an Add has changed nothing.
func TestSyncPatch(t *testing.T) {
	a, b, c, d := key(101), key(102), key(103), key(104)
	from, one, two := small(a, b), small(a, c), small(a, d)
	p, q := bloom.Must(bloom.Diff(from, one)), bloom.Must(bloom.Diff(from, two))
	orders.Run(t, "bloom.SyncFilter/two Patches and a look-up", func() (check, threads) {
		s := bloom.NewSyncFrom(from)
		var errs [2]error
		missed := false
		return func() error {
				first := errs[0] == nil && errors.Is(errs[1], bloom.ErrMismatch) && s.Snapshot().Equal(one)
				second := errs[1] == nil && errors.Is(errs[0], bloom.ErrMismatch) && s.Snapshot().Equal(two)
				if !first && !second {
					return fmt.Errorf("errors %v, and another filter", errs)
				}
				if missed {
					return errMissed
				}
				return nil
			}, threads{
				func() { errs[0] = s.Patch(p) },
				func() { errs[1] = s.Patch(q) },
				func() { missed = !s.ContainsHash(a) },
			}
	})
	// x has no bit that the patch clears, and a bit that from has not.
	x := key(110)
	stays := func(x bloom.Hash) bool {
		f, g := small(x), small(x)
		if f.Intersect(from) != nil || g.Intersect(one) != nil {
			panic("sizes differ")
		}
		f.Merge(g)
		return f.Equal(g) && !from.ContainsHash(x)
	}
	for i := uint64(111); !stays(x); i++ {
		x = key(i)
	}
	orders.Run(t, "bloom.SyncFilter/Patch beside Add", func() (check, threads) {
		s := bloom.NewSyncFrom(from)
		var err error
		return func() error {
				switch {
				case errors.Is(err, bloom.ErrMismatch) && !s.Snapshot().Equal(small(a, b, x)):
					return errors.New("the patch was refused, and something has changed")
				case errors.Is(err, bloom.ErrMismatch):
					return nil
				case err != nil:
					return err
				}
				return needs(s, a, c, x)
			}, threads{
				func() { err = s.Patch(p) },
				func() { s.AddHash(x) },
			}
	})
}

// TestSyncInfo: of two Merges of other Hashes, one succeeds, and its Hash stays. Info returns what
// one UpdateInfo left, and not a mixture of two.
func TestSyncInfo(t *testing.T) {
	a, b := key(101), key(102)
	with := func(hash string, h bloom.Hash) *bloom.Filter {
		f := small(h)
		f.UpdateInfo(func(i *bloom.Info) { i.Hash = hash })
		return f
	}
	orders.Run(t, "bloom.SyncFilter/Merges of two Hashes", func() (check, threads) {
		s := bloom.NewSyncFrom(small())
		var errs [2]error
		return func() error {
				f, hash := s.Snapshot(), s.Info().Hash
				first := errs[0] == nil && errors.Is(errs[1], bloom.ErrMismatch) &&
					f.Equal(small(a)) && hash == "one"
				second := errs[1] == nil && errors.Is(errs[0], bloom.ErrMismatch) &&
					f.Equal(small(b)) && hash == "two"
				if !first && !second {
					return fmt.Errorf("errors %v, Hash %s", errs, hash)
				}
				return nil
			}, threads{
				func() { errs[0] = s.Merge(with("one", a)) },
				func() { errs[1] = s.Merge(with("two", b)) },
			}
	})
	orders.Run(t, "bloom.SyncFilter/UpdateInfo, UpdateInfo, Info", func() (check, threads) {
		s := bloom.NewSyncFrom(small())
		x, y := bloom.Info{N: 1, Comment: "one"}, bloom.Info{N: 2, Comment: "two"}
		var seen bloom.Info
		return func() error {
				for _, i := range []bloom.Info{seen, s.Info()} {
					if i != x && i != y && (i != bloom.Info{} || s.Info() == i) {
						return fmt.Errorf("a mixture: %+v", i)
					}
				}
				return nil
			}, threads{
				func() { s.UpdateInfo(func(i *bloom.Info) { *i = x }) },
				func() { s.UpdateInfo(func(i *bloom.Info) { *i = y }) },
				func() { seen = s.Info() },
			}
	})
}
