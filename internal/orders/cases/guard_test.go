//go:build orders

package cases

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/guard"
	"github.com/seed79a3ff49/bloom/internal/orders"
)

// store has the rows of keys, each with the time of its commit.
type store struct {
	rows map[string]int64
	lag  time.Duration // of a copy, which Load reads
	err  error         // of Load
}

// row is a key. Loads read the store's rows in the order of the alphabet.
const rows = "ab"

func (s *store) commit(key string) func() error {
	return func() error {
		orders.Point()
		s.rows[key] = orders.Clock.Load()
		return nil
	}
}

func (s *store) load(_ context.Context, keys *guard.Loader) error {
	for i := range rows {
		orders.Point()
		at, ok := s.rows[rows[i:i+1]]
		if ok && orders.Clock.Load()-at >= int64(s.lag) {
			keys.AddString(rows[i : i+1])
		}
		if s.err != nil {
			return s.err
		}
	}
	orders.Point()
	return s.err
}

// query is the query of Lookup. It returns what was there when it began, some time later.
func (s *store) query(key string) func() (bool, error) {
	return func() (bool, error) {
		orders.Point()
		_, found := s.rows[key]
		orders.Point()
		return found, nil
	}
}

func newGuard(s *store, c guard.Config) *guard.Guard {
	orders.Clock.Store(begin)
	s.rows = map[string]int64{}
	s.lag = c.Lag
	c.Load, c.P, c.N = s.load, 1e-6, 4
	c.OnError = func(error) {}
	return bloom.Must(guard.New(c))
}

// denied returns an error if g says "certainly not" for a row that is there.
func (s *store) denied(g *guard.Guard) error {
	for i := range rows {
		key := rows[i : i+1]
		if _, ok := s.rows[key]; ok && !g.ContainsString(key) {
			return errors.New("certainly not, for a row that is there: " + key)
		}
	}
	return nil
}

// TestGuard: a row whose Insert has returned, or that was there when the last load began, is never
// denied, whatever loads run and fail beside it.
func TestGuard(t *testing.T) {
	orders.OneStep(t, "growing")
	ctx := context.Background()
	for _, loaded := range []bool{false, true} {
		for _, fails := range []bool{false, true} {
			orders.Run(t, fmt.Sprintf("guard/Insert and Rebuild, loaded %v, fails %v", loaded,
				fails), func() (check, threads) {
				s := new(store)
				g := newGuard(s, guard.Config{})
				s.rows["b"] = begin
				if loaded {
					g.Rebuild(ctx)
				}
				if fails {
					s.err = errors.New("load failed")
				}
				var err error
				look := func() { err = errors.Join(err, s.denied(g)) }
				return func() error { return errors.Join(err, s.denied(g)) }, threads{
					func() {
						g.InsertString("a", s.commit("a"))
						look()
					},
					func() {
						g.Rebuild(ctx)
						look()
					},
					look,
				}
			})
		}
	}
	orders.Run(t, "guard/Insert and two Rebuilds", func() (check, threads) {
		s := new(store)
		g := newGuard(s, guard.Config{})
		var err error
		return func() error { return errors.Join(err, s.denied(g)) }, threads{
			func() {
				g.InsertString("a", s.commit("a"))
				err = s.denied(g)
			},
			func() { g.Rebuild(ctx) },
			func() { g.Rebuild(ctx) },
		}
	})
	orders.Run(t, "guard/Rebuild whose context ends", func() (check, threads) {
		s := new(store)
		g := newGuard(s, guard.Config{})
		ended, cancel := context.WithCancel(ctx)
		var err error
		return func() error { return errors.Join(err, s.denied(g), g.Rebuild(ctx)) }, threads{
			func() {
				g.InsertString("a", s.commit("a"))
				err = s.denied(g)
			},
			func() { g.Rebuild(ended) },
			func() {
				orders.Point()
				cancel()
				g.Rebuild(ended)
			},
		}
	})
}

// TestGuardBatch: beside a load, a batch is looked up in the old filter or in the new one.
func TestGuardBatch(t *testing.T) {
	orders.OneStep(t, "growing")
	ctx := context.Background()
	orders.Run(t, "guard/ContainsBatch and Rebuild", func() (check, threads) {
		s := new(store)
		g := newGuard(s, guard.Config{})
		s.rows["a"] = begin
		g.Rebuild(ctx)
		s.rows = map[string]int64{"b": begin}
		found := make([]bool, 2)
		return func() error {
				if found[0] == found[1] {
					return fmt.Errorf("a and b: %v", found)
				}
				return nil
			}, threads{
				func() {
					g.ContainsBatch(found, []bloom.Hash{bloom.SumString("a"), bloom.SumString("b")})
				},
				func() { g.Rebuild(ctx) },
			}
	})
}

// TestGuardLag: a load that reads a copy, which is late by up to a Lag, and a commit that is late
// by up to a Lag after an Insert that returned an error, deny no row.
func TestGuardLag(t *testing.T) {
	orders.OneStep(t, "growing")
	ctx := context.Background()
	orders.Run(t, "guard/a late copy", func() (check, threads) {
		s := new(store)
		g := newGuard(s, guard.Config{Lag: time.Second})
		g.Rebuild(ctx)
		return func() error { return s.denied(g) }, threads{
			func() { g.InsertString("a", s.commit("a")) },
			func() { g.Rebuild(ctx) },
			func() {
				orders.Clock.Add(int64(time.Second / 2))
				orders.Clock.Add(int64(time.Second / 2))
			},
		}
	})
	orders.Run(t, "guard/a late commit", func() (check, threads) {
		s := new(store)
		g := newGuard(s, guard.Config{Lag: time.Second})
		g.Rebuild(ctx)
		s.lag = 0
		return func() error { return s.denied(g) }, threads{
			func() {
				var returned int64 // Lag counts from just before Insert returns
				g.InsertString("a", func() error {
					returned = orders.Clock.Load()
					return errors.New("time-out")
				})
				now := orders.Clock.Load()
				if now-returned < int64(time.Second) { // otherwise the row never comes
					s.rows["a"] = now
				}
			},
			func() { g.Rebuild(ctx) },
			func() {
				orders.Clock.Add(int64(time.Second))
				orders.Clock.Add(1)
			},
		}
	})
}

// TestGuardLookup: a Guard that learns denies no row that was committed before a Lookup began,
// whatever denials it has noted, beside Inserts, queries and loads. The filter reports the key "a",
// because its row was there at the first load.
func TestGuardLookup(t *testing.T) {
	orders.OneStep(t, "growing")
	ctx := context.Background()
	start := func(c guard.Config) (*store, *guard.Guard) {
		s := new(store)
		c.Learn = 1024
		g := newGuard(s, c)
		s.rows["a"] = begin - int64(time.Hour)
		g.Rebuild(ctx)
		delete(s.rows, "a")
		orders.Clock.Add(int64(time.Hour))
		return s, g
	}
	// look looks "a" up, and returns an error if it is denied although it was there before.
	look := func(s *store, g *guard.Guard) error {
		_, there := s.rows["a"]
		found, err := g.LookupString("a", s.query("a"))
		if there && !found && err == nil {
			return errors.New("Lookup denied a row that was there")
		}
		return err
	}
	for _, c := range []struct {
		name    string
		threads func(s *store, g *guard.Guard, err *error) threads
	}{
		{"Insert, two Lookups", func(s *store, g *guard.Guard, err *error) threads {
			return threads{
				func() { g.InsertString("a", s.commit("a")) },
				func() { *err = errors.Join(*err, look(s, g)) },
				func() { *err = errors.Join(*err, look(s, g)) },
			}
		}},
		{"Insert, Lookup, Rebuild", func(s *store, g *guard.Guard, err *error) threads {
			return threads{
				func() { g.InsertString("a", s.commit("a")) },
				func() { *err = errors.Join(*err, look(s, g)) },
				func() { g.Rebuild(ctx) },
			}
		}},
		{"two Inserts of a stripe, Lookup", func(s *store, g *guard.Guard, err *error) threads {
			return threads{
				func() { g.InsertString("a", s.commit("a")) },
				func() { g.InsertString("a", func() error { return errors.New("failed") }) },
				func() { *err = errors.Join(*err, look(s, g)) },
			}
		}},
		{"Lookup, Rebuild after a silent commit", func(s *store, g *guard.Guard, err *error) threads {
			return threads{
				func() { *err = errors.Join(*err, look(s, g)) },
				func() { s.commit("a")(); g.Rebuild(ctx) },
			}
		}},
	} {
		orders.Run(t, "guard/"+c.name, func() (check, threads) {
			s, g := start(guard.Config{})
			var err error
			return func() error { return errors.Join(err, look(s, g), s.denied(g)) }, c.threads(s, g, &err)
		})
	}
	orders.Run(t, "guard/Lookup as soon as a load is seen", func() (check, threads) {
		s, g := start(guard.Config{})
		g.LookupString("a", s.query("a")) // learned
		s.commit("a")()
		s.commit("b")()
		var err error
		return func() error { return err }, threads{
			func() { g.Rebuild(ctx) },
			func() {
				if g.ContainsString("b") {
					err = look(s, g)
				}
			},
		}
	})
	// insertLate inserts "a" with a time-out. The row comes within a Lag.
	insertLate := func(s *store, g *guard.Guard) {
		var returned int64
		g.InsertString("a", func() error {
			returned = orders.Clock.Load()
			return errors.New("time-out")
		})
		now := orders.Clock.Load()
		if now-returned < int64(time.Second) {
			s.rows["a"] = now
		}
	}
	orders.Run(t, "guard/Lookup beside a late commit", func() (check, threads) {
		s, g := start(guard.Config{Lag: time.Second})
		var err error
		return func() error { return errors.Join(err, look(s, g)) }, threads{
			func() { insertLate(s, g) },
			func() { err = look(s, g) },
			func() { orders.Clock.Add(int64(time.Second)) },
		}
	})
	orders.Run(t, "guard/Lookup beside a late commit, and an insert that ends slowly",
		func() (check, threads) {
			s, g := start(guard.Config{Lag: time.Second})
			var err error
			return func() error { return errors.Join(err, look(s, g)) }, threads{
				func() { g.InsertString("a", func() error { return errors.New("failed") }) },
				func() { err = look(s, g) },
				func() {
					orders.Clock.Add(int64(time.Second))
					insertLate(s, g)
				},
			}
		})
}

// TestGuardCounts: beside look-ups, Hits and Denials are together never more than Queries.
func TestGuardCounts(t *testing.T) {
	orders.OneStep(t, "growing")
	orders.Run(t, "guard/Counts", func() (check, threads) {
		s := new(store)
		g := newGuard(s, guard.Config{})
		s.rows["a"] = begin
		var c guard.Counts
		lookUp := func(key string) { _, _ = g.LookupString(key, s.query(key)) }
		return func() error {
				if c.Hits+c.Denials > c.Queries {
					return fmt.Errorf("%+v", c)
				}
				return nil
			}, threads{
				func() { c = g.Counts() },
				func() { lookUp("a"); lookUp("b") },
			}
	})
}
