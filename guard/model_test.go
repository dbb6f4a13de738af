package guard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
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
