package guard

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// slowStore is a store whose queries and loads miss each row for a Lag after its insert.
type slowStore struct {
	rows map[string]time.Duration // when each row was inserted
	lag  time.Duration
	now  time.Duration
}

func (s *slowStore) has(key string) bool {
	since, ok := s.rows[key]
	return ok && s.now-since >= s.lag
}

// later lets time pass for a Guard.
func later(g *Guard, by time.Duration) {
	for _, ins := range g.ended {
		ins.returned = ins.returned.Add(-by)
	}
	for i := range g.stripes {
		g.stripes[i].last = g.stripes[i].last.Add(-by)
	}
	if gen := g.now.Load(); gen != nil {
		gen.published = gen.published.Add(-by)
	}
}

// TestConfigModel: beside a store that is late by a Lag, with inserts that succeed or fail, removed
// rows, loads that succeed or fail and time that passes, a Guard has exactly the keys that Load and
// Lag give it, and Lookup asks the store unless the filter or Learn has the answer.
func TestConfigModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 73))
		store := &slowStore{rows: map[string]time.Duration{}}
		store.lag = time.Duration(r.IntN(3)) * (2*time.Hour + 30*time.Minute)
		failed := errors.New("failed")
		loadFails := false
		cfg := Config{
			P:     1e-9,
			N:     r.Uint64N(3) * 100,
			Lag:   store.lag,
			Learn: r.IntN(2) * 1024,
			Load: func(_ context.Context, keys *Loader) error {
				for key := range store.rows {
					if store.has(key) {
						keys.AddString(key)
					}
				}
				if loadFails {
					return failed
				}
				return nil
			},
		}
		g := newGuard(t, cfg)
		keys := keysOfStripes(g, 12)
		require.Equal(t, cfg.N, g.expected())

		loaded, since := false, time.Duration(0)
		filter := map[string]bool{}         // what the filter must have
		ended := map[string]time.Duration{} // when each key's last insert ended
		denied := map[string]bool{}
		late := func(at time.Duration) bool { return store.now-at < cfg.Lag }
		for event := range 300 {
			key := keys[r.IntN(len(keys))]
			about := fmt.Sprintf("seed %d, event %d, %s, Lag %v, Learn %d",
				seed, event, key, cfg.Lag, cfg.Learn)
			switch kind := r.IntN(10); {
			case kind < 2:
				want := []error{nil, failed}[r.IntN(2)]
				require.Equal(t, want, g.InsertString(key, func() error {
					if r.IntN(2) == 0 || want == nil { // a time-out may come after the commit
						store.rows[key] = store.now
					}
					return want
				}), about)
				ended[key] = store.now
				filter[key] = true
				delete(denied, key)
			case kind == 2:
				delete(store.rows, key)
			case kind == 3:
				loadFails = r.IntN(3) == 0
				err := g.Rebuild(t.Context())
				if loadFails {
					require.ErrorIs(t, err, failed, about)
					break
				}
				require.NoError(t, err, about)
				clear(filter)
				for _, k := range keys {
					at, inserted := ended[k]
					if store.has(k) || inserted && late(at) {
						filter[k] = true
					}
				}
				clear(denied)
				loaded = true
				since = store.now
			case kind < 6:
				hours := time.Duration(r.IntN(4)) * time.Hour
				store.now += hours
				later(g, hours)
			default:
				asked := false
				found, err := g.LookupString(key, func() (bool, error) {
					asked = true
					return store.has(key), nil
				})
				require.NoError(t, err, about)
				must := !loaded || filter[key] && !denied[key]
				require.Equal(t, must, asked, about)
				require.Equal(t, asked && store.has(key), found, about)
				at, inserted := ended[key]
				if loaded && asked && !found && !late(since) && !(inserted && late(at)) {
					denied[key] = cfg.Learn > 0
				}
			}
			require.Equal(t, loaded, g.Ready(), about)
			require.Equal(t, !loaded || filter[key], g.ContainsString(key), about)
		}
	}
}

// keysOfStripes returns n keys, each of another stripe.
func keysOfStripes(g *Guard, n int) (keys []string) {
	seen := map[*stripe]bool{}
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprint("key ", i)
		if s := g.stripe(bloom.SumString(key)); !seen[s] {
			seen[s] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// TestRunModel: beside loads that succeed, fail or panic and a context that ends, in random order,
// Run waits for about Every after a load that succeeded, and for the doubled pauses after others.
// OnError gets each load's error once, and none that the end of the context causes.
func TestRunModel(t *testing.T) {
	defer func() { after = time.After }()
	ready := make(chan time.Time)
	close(ready)
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		about := fmt.Sprint("seed ", seed)
		every := []time.Duration{0, 1, 70 * time.Millisecond, time.Hour, math.MaxInt64}[r.IntN(5)]
		ctx, cancel := context.WithCancel(t.Context())
		var want, told []string // of the errors
		failures := 0           // in a row
		bad := 5 + r.IntN(15)   // of 20 loads
		loads, loaded, ended := 0, false, false
		end := func() {
			ended = true
			cancel()
		}
		g := newGuard(t, Config{
			Every: every,
			N:     100,
			Load: func(context.Context, *Loader) error {
				require.False(t, ended, about)
				loads++
				text := fmt.Sprint("failure ", loads)
				failures++
				switch kind := r.IntN(20); {
				case kind == 0: // an error that the end may have caused
					end()
				case kind == 1:
					want = append(want, "guard: loading: panic: "+text)
					panic(text)
				case kind < bad:
					want = append(want, "guard: loading: "+text)
				default:
					failures = 0
					loaded = true
					return nil
				}
				return errors.New(text)
			},
			OnError: func(err error) {
				text, _, _ := strings.Cut(err.Error(), "\n")
				told = append(told, text)
			},
		})
		after = func(wait time.Duration) <-chan time.Time {
			mean := float64(every)
			require.True(t, every > 0 || failures > 0, "%s: Every is 0, and a load succeeded", about)
			if failures > 0 {
				mean = min(float64(100*time.Millisecond)*math.Pow(2, float64(failures-1)),
					float64(time.Minute))
			}
			require.InDelta(t, mean, float64(wait), 0.1*mean+1, "%s, load %d", about, loads)
			if r.IntN(60) == 0 {
				end()
				return nil
			}
			return ready
		}
		err := g.Run(ctx)
		if ended {
			require.ErrorIs(t, err, context.Canceled, about)
		} else {
			require.NoError(t, err, about)
			require.Zero(t, every, about)
			require.Zero(t, failures, about)
		}
		require.Equal(t, want, told, about)
		require.Equal(t, loaded, g.Ready(), about)
		cancel()
	}
}

// TestRateModel: whatever N, the store's sizes at each load and the inserts between the loads,
// absent keys are found with a probability of at most P.
func TestRateModel(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 6))
		p := math.Pow(10, -0.6-r.Float64())
		n, next := uint64(0), uint64(0)
		g := newGuard(t, Config{
			P: p,
			N: r.Uint64N(3) * 1000,
			Load: func(_ context.Context, keys *Loader) error {
				for next = range n {
					keys.AddHash(bloom.SumUint64(next))
				}
				return nil
			},
		})
		const probes = 2000
		found, asked := 0, 0
		for range 4 {
			n = 500 + r.Uint64N(4000)
			require.NoError(t, g.Rebuild(t.Context()))
			for range r.IntN(300) {
				next++
				g.AddHash(bloom.SumUint64(next))
			}
			for i := range uint64(probes) {
				if g.ContainsHash(bloom.SumUint64(1<<40 + seed<<32 + n<<16 + i)) {
					found++
				}
			}
			asked += probes
		}
		require.LessOrEqual(t, float64(found), filtertest.RateBound(asked, p), "seed %d, P %v", seed, p)
	}
}
