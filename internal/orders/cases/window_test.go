//go:build orders

package cases

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/orders"
	"github.com/seed79a3ff49/bloom/window"
)

const part = time.Hour / 7

// key returns the i-th key. Windows have three pages here; key(i) is in page i%3 for i below 10.
func key(i uint64) bloom.Hash {
	if i >= 10 {
		return bloom.SumUint64(i)
	}
	for j := 10_000 * i; ; j++ {
		h := bloom.SumUint64(j)
		if page(h) == i%3 {
			return h
		}
	}
}

func page(h bloom.Hash) uint64 {
	h1, _ := h.Words()
	page, _ := bits.Mul64(h1, 3)
	return page
}

// newWindow returns a window with c's clock. A Span is an hour, or none if Generations is negative.
func newWindow(c *clock, config window.Config) *window.Filter {
	c.Store(begin)
	config.P = 0.1
	if config.N == 0 {
		config.N = 1000
	}
	config.Now = c.now
	config.Span = time.Hour
	if config.Generations < 0 {
		config.Generations, config.Span = 0, 0
	}
	return bloom.Must(window.New(config))
}

// fill adds the keys from 1000 on.
func fill(f *window.Filter, n int) {
	for i := range uint64(n) {
		f.AddHash(key(1000 + i))
	}
}

// full returns a number of keys that make planes wrap around: when key(1) comes as the next, the
// oldest plane is given up, and its column is used again. gone is a key of that plane in a page.
func full(config window.Config, in uint64) (n int, gone bloom.Hash) {
	for n := 200; n < 2000; n++ {
		f := newWindow(new(clock), config)
		fill(f, n)
		oldest := uint64(1000)
		for !f.ContainsHash(key(oldest)) {
			oldest++
		}
		if f.ContainsHash(key(1)) || f.ContainsHash(key(2)) || f.ContainsHash(key(3)) {
			continue // false positives
		}
		f.AddHash(key(1))
		if gone := key(oldest); page(gone) == in && !f.ContainsHash(gone) {
			return n, gone
		}
	}
	panic("no such number")
}

// TestWindowAdders: of several goroutines that add a key each, the keys are found for a Span.
func TestWindowAdders(t *testing.T) {
	for _, c := range []struct {
		name   string
		adders int
		config window.Config
	}{
		{"first", 2, window.Config{}},
		{"after Reset", 2, window.Config{}},
		{"after an idle Span", 2, window.Config{}},
		{"at the end of a Span", 2, window.Config{}},
		{"a batch at the end of a Span", 2, window.Config{}},
		{"a key a plane", 2, window.Config{N: 2}},
		{"a key a plane, at the end of a Span", 2, window.Config{N: 2}},
		{"a key a plane, planes wrap around", 2, window.Config{N: 2}},
		{"a key a plane, without a Span", 2, window.Config{N: 3, Generations: -1}},
		{"three after an idle Span", 3, window.Config{}},
	} {
		wrap := 0
		if c.config.N > 0 {
			wrap, _ = full(c.config, 1)
		}
		orders.Run(t, "window/adders/"+c.name, func() (check, threads) {
			clock := new(clock)
			f := newWindow(clock, c.config)
			switch c.name {
			case "after Reset":
				f.AddHash(key(77))
				f.Reset()
			case "after an idle Span", "three after an idle Span":
				f.AddHash(key(77))
				clock.Add(int64(3 * time.Hour))
			case "at the end of a Span", "a batch at the end of a Span",
				"a key a plane, at the end of a Span":
				f.AddHash(key(77))
				clock.Add(int64(59 * time.Minute))
			case "a key a plane, planes wrap around", "a key a plane, without a Span":
				fill(f, wrap)
			}
			var hs []bloom.Hash
			var adders threads
			isNew := make([]bool, c.adders)
			for i := range c.adders {
				hs = append(hs, key(uint64(i+1)))
				adders = append(adders, func() { isNew[i] = f.AddHash(hs[i]) })
			}
			if c.name == "a batch at the end of a Span" {
				adders[1] = func() { f.AddBatch(isNew[1:], hs[1:]) }
			}
			return func() error {
				if c.config.Generations >= 0 {
					clock.Add(int64(time.Hour - 1))
				}
				for _, isNew := range isNew {
					if !isNew {
						return errors.New("a false positive: choose other keys")
					}
				}
				return needs(f, hs...)
			}, adders
		})
	}
}

// TestWindowOneKey: of several goroutines that add a key, one gets true.
func TestWindowOneKey(t *testing.T) {
	wrap, _ := full(window.Config{N: 3}, 1)
	for _, c := range []struct{ n, adders int }{{0, 3}, {wrap, 2}} {
		n, adders := c.n, c.adders
		orders.Run(t, fmt.Sprintf("window/one key twice after %d keys", n), func() (check, threads) {
			f := newWindow(new(clock), window.Config{N: 3})
			fill(f, n)
			got := 0
			add := func() {
				if f.AddHash(key(1)) {
					got++
				}
			}
			return func() error {
				if got != 1 {
					return fmt.Errorf("%d calls got true", got)
				}
				return needs(f, key(1))
			}, threads{add, add, func() { f.AddHash(key(2)) }}[:adders]
		})
	}
}

// TestWindowReset: keys that are added after Reset stay, and others are forgotten.
func TestWindowReset(t *testing.T) {
	orders.Run(t, "window/Add beside Reset", func() (check, threads) {
		c := new(clock)
		f := newWindow(c, window.Config{})
		f.AddHash(key(77))
		c.Add(int64(part) + 1) // the next Add begins a plane
		reset, after := false, false
		return func() error {
				if f.ContainsHash(key(77)) {
					return errors.New("Reset did not forget")
				}
				c.Add(int64(time.Hour - 1))
				if after && !f.ContainsHash(key(2)) {
					return errors.New("a key that was added after Reset is lost")
				}
				return needs(f, key(3))
			}, threads{
				func() {
					f.AddHash(key(1))
					after = reset
					f.AddHash(key(2))
				},
				func() {
					f.Reset()
					reset = true
					f.AddHash(key(3))
				},
			}
	})
}

// TestWindowMarshal: a key whose Add returned before the call is in the binary form; one that was
// given up is not, nor is a key that was never there.
func TestWindowMarshal(t *testing.T) {
	wrap, gone := full(window.Config{N: 3}, 0)
	for _, n := range []uint64{2, 3} {
		orders.Run(t, fmt.Sprint("window/MarshalBinary beside Add, N=", n), func() (check, threads) {
			c := new(clock)
			f := newWindow(c, window.Config{N: n})
			fill(f, wrap)
			if n == 2 { // one live plane, and old bits of all others
				f.AddHash(key(77))
				c.Add(int64(time.Hour + part + 1))
			}
			hs := []bloom.Hash{key(1), key(2)}
			done, before := 0, 0
			var data []byte
			return func() error {
					g := newWindow(new(clock), window.Config{N: n})
					if err := g.UnmarshalBinary(data); err != nil {
						return err
					}
					c.Add(int64(time.Hour - 1))
					if g.ContainsHash(key(98)) || g.ContainsHash(key(99)) {
						return errors.New("an absent key is found")
					}
					if n == 3 && before > 0 && g.ContainsHash(gone) {
						return errors.New("a key that was given up is in the form")
					}
					return needs(g, hs[:before]...)
				}, threads{
					func() {
						for _, h := range hs {
							f.AddHash(h)
							done++
						}
					},
					func() {
						before = done
						data = bloom.Must(f.MarshalBinary())
					},
				}
		})
	}
}

// TestWindowBack: if the clock steps back, nothing is forgotten.
func TestWindowBack(t *testing.T) {
	orders.Run(t, "window/adders, the clock steps back", func() (check, threads) {
		c := new(clock)
		f := newWindow(c, window.Config{})
		f.AddHash(key(77))
		return func() error {
				c.Add(int64(time.Hour - 1))
				return needs(f, key(77), key(1), key(2))
			}, threads{
				func() { f.AddHash(key(1)) },
				func() { f.AddHash(key(2)) },
				func() { c.Store(begin - int64(2*time.Hour)) },
			}
	})
	orders.Run(t, "window/adders, the clock steps back and comes again", func() (check, threads) {
		c := new(clock)
		f := newWindow(c, window.Config{})
		f.AddHash(key(77))
		added := false
		again := false
		return func() error {
				if added {
					c.Store(begin + int64(time.Hour-1))
					return needs(f, key(1))
				}
				return nil
			}, threads{
				func() {
					after := again
					f.AddHash(key(1))
					added = after
				},
				func() { f.AddHash(key(2)) },
				func() {
					c.Store(begin - int64(2*time.Hour))
					f.ContainsHash(key(5))
					c.Store(begin)
					again = true
				},
			}
	})
}

// TestWindowLeap: the clock leaps ahead and comes back. A key whose Add began after the leap is
// found, and a key whose Add began after the step back is found for a Span. With Renew that is true
// of repeats, too.
func TestWindowLeap(t *testing.T) {
	for _, c := range []struct {
		name string
		leap time.Duration
	}{
		{"from one plane", 3 * time.Hour},
		{"from none", 3 * time.Hour},
		{"from two planes, killing one", time.Hour + part + part/2},
		{"of a repeat", time.Hour + part/2 + 10},
	} {
		orders.Run(t, "window/adders, a leap "+c.name, func() (check, threads) {
			clock := new(clock)
			f := newWindow(clock, window.Config{Renew: c.name == "of a repeat"})
			at := begin
			switch c.name {
			case "from one plane":
				f.AddHash(key(77))
			case "from two planes, killing one":
				f.AddHash(key(77))
				at += int64(part)
				clock.Store(at)
				f.AddHash(key(78))
			case "of a repeat":
				f.AddHash(key(1))
				at += int64(part + part/2)
				clock.Store(at)
				f.AddHash(key(78))
			}
			leapt, back := false, false
			var ahead, afterwards []bloom.Hash
			add := func(h bloom.Hash) func() {
				return func() {
					wasBack, hadLeapt := back, leapt
					f.AddHash(h)
					switch {
					case wasBack:
						afterwards = append(afterwards, h)
					case hadLeapt:
						ahead = append(ahead, h)
					}
				}
			}
			return func() error {
					if err := needs(f, append(ahead, afterwards...)...); err != nil {
						return fmt.Errorf("directly after Add: %w", err)
					}
					clock.Add(int64(time.Hour - 1))
					return needs(f, append(ahead, afterwards...)...)
				}, threads{
					add(key(1)),
					add(key(2)),
					func() {
						clock.Store(at + int64(c.leap))
						leapt = true
						f.ContainsHash(key(5))
						clock.Store(at)
						back = true
					},
				}
		})
	}
}

// times notes when keys were added, before each Add.
type times struct {
	f   *window.Filter
	now func() int64
	at  map[bloom.Hash]int64
}

func (a *times) add(h bloom.Hash) func() {
	return func() {
		from := a.now()
		a.f.AddHash(h)
		a.at[h] = from
	}
}

// found returns an error unless two keys are found for a Span. set sets the time.
func (a *times) found(set func(int64), x, y bloom.Hash) error {
	if a.at[x] > a.at[y] {
		x, y = y, x
	}
	set(a.at[x] + int64(time.Hour) - 1)
	if err := needs(a.f, x, y); err != nil {
		return err
	}
	set(a.at[y] + int64(time.Hour) - 1)
	return needs(a.f, y)
}

// TestWindowRenew: with Renew, a repeat stays for a Span from its last Add.
func TestWindowRenew(t *testing.T) {
	for _, c := range []struct {
		name        string
		later, step time.Duration
	}{
		{"two parts", part * 5 / 2, part / 4},
		{"a Span", time.Hour - 1, part},
	} {
		later, step := int64(c.later), int64(c.step)
		orders.Run(t, "window/Renew after "+c.name, func() (check, threads) {
			c := new(clock)
			f := newWindow(c, window.Config{Renew: true})
			f.AddHash(key(77))
			c.Add(later)
			a := &times{f, c.Load, map[bloom.Hash]int64{}}
			return func() error { return a.found(c.Store, key(77), key(2)) },
				threads{a.add(key(77)), a.add(key(2)), func() { c.Add(step) }}
		})
	}
}

// TestWindowProlong: with one generation, few partial planes are allowed, so that the newest is
// prolonged. Keys are found for a Span nevertheless.
func TestWindowProlong(t *testing.T) {
	for _, rounds := range []uint64{2, 40} {
		orders.Run(t, fmt.Sprint("window/prolong after ", rounds), func() (check, threads) {
			c := new(clock)
			f := newWindow(c, window.Config{Generations: 1, N: 5000})
			for i := range rounds {
				f.AddHash(key(1000 + i))
				c.Add(int64(time.Hour))
				f.AddHash(key(2000 + i))
				c.Add(-int64(time.Hour))
			}
			c.Add(int64(time.Hour))
			a := &times{f, c.Load, map[bloom.Hash]int64{}}
			return func() error { return a.found(c.Store, key(1), key(2)) },
				threads{a.add(key(1)), a.add(key(2)), func() { c.Add(int64(30 * time.Minute)) }}
		})
	}
}

// TestWindowCoarse: the system's clock is coarse, and its timer goes off at any moment. Keys are
// found for a Span.
func TestWindowCoarse(t *testing.T) {
	orders.Run(t, "window/coarse clock", func() (check, threads) {
		orders.Clock.Store(begin)
		orders.Fire()
		f := bloom.Must(window.New(window.Config{N: 1000, P: 0.1, Span: time.Hour}))
		a := &times{f, orders.Clock.Load, map[bloom.Hash]int64{}}
		set := func(at int64) {
			orders.Clock.Store(at)
			orders.Fire()
		}
		return func() error {
				defer orders.Clock.Store(0)
				return a.found(set, key(1), key(2))
			}, threads{
				a.add(key(1)),
				a.add(key(2)),
				func() { orders.Clock.Add(int64(part) + 10) },
			}
	})
}

// TestWindowSaveCoarse: the machine sleeps, and a filter is saved before the timer of its coarse
// clock goes off. In the form, too, keys whose Add returned before the call are found for a Span.
func TestWindowSaveCoarse(t *testing.T) {
	orders.Run(t, "window/MarshalBinary with a coarse clock", func() (check, threads) {
		orders.Clock.Store(begin)
		orders.Fire()
		f := bloom.Must(window.New(window.Config{N: 1000, P: 0.1, Span: time.Hour}))
		f.AddHash(key(77))
		a := &times{f, orders.Clock.Load, map[bloom.Hash]int64{}}
		wasAdded := false
		var data []byte
		return func() error {
				defer orders.Clock.Store(0)
				g := new(window.Filter)
				if err := g.UnmarshalBinary(data); err != nil || !wasAdded {
					return err
				}
				orders.Clock.Store(a.at[key(1)] + int64(time.Hour) - 1)
				orders.Fire()
				return needs(g, key(1))
			}, threads{
				a.add(key(1)),
				func() {
					_, wasAdded = a.at[key(1)]
					data = bloom.Must(f.MarshalBinary())
				},
				func() { orders.Clock.Add(int64(20 * time.Minute)) },
			}
	})
}

// TestWindowLoaded: a filter was loaded, and is used while its clock gets a time for the first
// time. Keys of the file stay, and keys that are added are found for a Span from that time.
func TestWindowLoaded(t *testing.T) {
	for _, noTime := range []time.Time{{}, time.Unix(20, 0)} {
		orders.Run(t, fmt.Sprint("window/the first time after loading, from ", noTime.Year()),
			func() (check, threads) {
				c := new(clock)
				f := newWindow(c, window.Config{})
				f.AddHash(key(77))
				saved := bloom.Must(f.MarshalBinary())
				isSet := orders.Int64{}
				config := f.Config()
				config.Now = func() time.Time {
					if isSet.Load() == 0 {
						return noTime
					}
					return c.now()
				}
				g := bloom.Must(window.New(config))
				if err := g.UnmarshalBinary(saved); err != nil {
					panic(err)
				}
				c.Add(int64(30 * time.Minute))
				return func() error {
						if err := needs(g, key(77), key(1), key(2)); err != nil {
							return fmt.Errorf("when the clock is set: %w", err)
						}
						c.Add(int64(time.Hour - 1))
						return needs(g, key(1), key(2))
					}, threads{
						func() { g.AddHash(key(1)) },
						func() { g.AddHash(key(2)) },
						func() { isSet.Store(1) },
					}
			})
	}
}

// TestWindowDeath: a look-up finds a live key while an older plane dies.
func TestWindowDeath(t *testing.T) {
	orders.Run(t, "window/look-up beside a plane's death", func() (check, threads) {
		c := new(clock)
		f := newWindow(c, window.Config{})
		f.AddHash(key(77))
		c.Add(int64(30 * time.Minute))
		f.AddHash(key(78))
		c.Add(int64(30 * time.Minute))
		found := 0
		return func() error {
				if found != 2 {
					return errors.New("a look-up missed a live key")
				}
				if f.ContainsHash(key(77)) {
					return errors.New("a dead key is found")
				}
				return needs(f, key(78), key(2))
			}, threads{
				func() {
					for range 2 {
						if f.ContainsHash(key(78)) {
							found++
						}
					}
				},
				func() { f.AddHash(key(2)) },
				func() { c.Add(int64(part) + 1) },
			}
	})
}

// TestWindowStale: a plane's column is used again. A key that is forgotten never comes back.
func TestWindowStale(t *testing.T) {
	config := window.Config{N: 3}
	n, gone := full(config, 1)
	orders.Run(t, "window/a forgotten key", func() (check, threads) {
		f := newWindow(new(clock), config)
		fill(f, n)
		away, again := false, false
		return func() error {
				if again {
					return errors.New("a forgotten key came back")
				}
				return needs(f, key(1))
			}, threads{
				func() { f.AddHash(key(1)) },
				func() { away = !f.ContainsHash(gone) },
				func() {
					if away {
						again = f.ContainsHash(gone)
					}
				},
			}
	})
}

// TestWindowReach: all keys that were added within Reach are found, after keys were given up beside
// a call of Reach. Stats is right beside an Add.
func TestWindowReach(t *testing.T) {
	config := window.Config{N: 1}
	n, _ := full(config, 1)
	orders.Run(t, "window/Reach beside adders", func() (check, threads) {
		c := new(clock)
		f := newWindow(c, config)
		var hs []bloom.Hash
		var at []int64
		add := func(h bloom.Hash) {
			from := c.Load()
			f.AddHash(h)
			hs, at = append(hs, h), append(at, from)
		}
		for i := range uint64(n) {
			add(key(1000 + i))
			c.Add(int64(time.Second))
		}
		return func() error {
				oldest := c.Load() - int64(f.Reach())
				for i, at := range at {
					if at > oldest && !f.ContainsHash(hs[i]) {
						return fmt.Errorf("key %d is within Reach and lost", i)
					}
				}
				return nil
			}, threads{
				func() { add(key(1)) },
				func() { add(key(2)) },
				func() { f.Reach() },
			}
	})
	orders.Run(t, "window/Stats beside Add", func() (check, threads) {
		f := newWindow(new(clock), window.Config{})
		f.AddHash(key(1))
		done := uint64(1)
		var least, most uint64
		var stats bloom.Stats
		return func() error {
				if n := stats.ApproxCount; n < least || n > most {
					return fmt.Errorf("ApproxCount is %d beside %d to %d keys", n, least, most)
				}
				return nil
			}, threads{
				func() {
					f.AddHash(key(4))
					done++
				},
				func() {
					least = done
					stats = f.Stats()
					most = done + 1
				},
			}
	})
}

// TestWindowDo: of several Do with one key, one handles it, and one at a time tries.
func TestWindowDo(t *testing.T) {
	for _, fails := range []int{0, 1} {
		orders.Run(t, fmt.Sprint("window/Do, failures: ", fails), func() (check, threads) {
			f := newWindow(new(clock), window.Config{})
			handled, calls, inside := 0, 0, 0
			overlap := false
			do := func() {
				ok, err := f.Do(context.Background(), key(1), func(context.Context) error {
					calls++
					inside++
					overlap = overlap || inside > 1
					orders.Point()
					inside--
					if calls <= fails {
						return errors.New("failed")
					}
					return nil
				})
				if ok && err == nil {
					handled++
				}
			}
			return func() error {
				if handled != 1 || calls != fails+1 || overlap {
					return fmt.Errorf("handled %d, calls %d, overlap %v", handled, calls, overlap)
				}
				return needs(f, key(1))
			}, threads{do, do, do}
		})
	}
}
