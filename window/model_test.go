package window

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// model is what Config says of each key, if fewer than N/2 keys come.
type model struct {
	c    Config
	keys map[uint64]*kept
}

// kept is how long a key is found: until least at least, and until most at most.
type kept struct{ least, most int64 }

func (m *model) add(key uint64, now int64) (mayBeNew, mayBeSeen bool) {
	k := m.keys[key]
	mayBeNew, mayBeSeen = k == nil || now >= k.least, k != nil && now < k.most
	if mayBeNew || m.c.Renew {
		longest := now + int64(m.c.evenly())
		m.keys[key] = &kept{now + int64(m.c.Span), longest}
		if mayBeSeen && !m.c.Renew { // perhaps it was not written again
			m.keys[key].least = k.least
			m.keys[key].most = max(longest, k.most)
		}
	}
	return mayBeNew, mayBeSeen
}

// see forgets what ends by now: it does not come back if the clock steps back.
func (m *model) see(now int64) {
	for key, k := range m.keys {
		if now >= k.least {
			k.least = math.MinInt64
		}
		if now >= k.most {
			delete(m.keys, key)
		}
	}
}

func (m *model) stepBack(now int64) {
	for _, k := range m.keys {
		k.least = min(k.least, now+int64(m.c.Span))
		k.most = 1 << 62 // at most twice as long, which TestKeysGoAfterStepsBack holds
	}
}

// TestModel: under a random schedule of adds, look-ups, saves, leaps, steps back and moments
// without a time, each field of Config means what its comment says.
func TestModel(t *testing.T) {
	rounds := uint64(400)
	if testing.Short() {
		rounds = 60
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 0))
		var hand filtertest.Clock
		unset := false
		c := Config{N: 4000, P: 1e-12, Span: time.Duration(1+r.IntN(48)) * time.Hour,
			Renew: r.IntN(2) == 0}
		c.Generations = []int{1, 2, 3, 7, 15, 31}[r.IntN(6)]
		c.Now = func() time.Time {
			if unset {
				return time.Time{}
			}
			return hand.Now()
		}
		steps := r.IntN(2) == 0 // the clock of half of the rounds never steps back
		f := bloom.Must(New(c))
		m := &model{c, map[uint64]*kept{}}
		for event := range 600 {
			now, key := int64(hand.Elapsed()), r.Uint64N(40)
			mayBeFound, mustBeFound := false, false
			if k := m.keys[key]; k != nil {
				mayBeFound, mustBeFound = now < k.most, now < k.least
			}
			about := []any{"seed %d, event %d: key %d, %s", seed, event, key, c.text()}
			switch what := r.IntN(20); {
			case what < 8:
				mayBeNew, mayBeSeen := m.add(key, now)
				if f.AddHash(bloom.SumUint64(key)) {
					require.True(t, mayBeNew, about...)
				} else {
					require.True(t, mayBeSeen, about...)
				}
			case what < 14:
				if f.ContainsHash(bloom.SumUint64(key)) {
					require.True(t, mayBeFound, about...)
				} else {
					require.False(t, mustBeFound, about...)
				}
			case what < 17:
				hand.Advance(time.Duration(r.Int64N(int64(c.Span) / 4)))
			case what == 17:
				data := bloom.Must(f.MarshalBinary())
				require.NoError(t, f.UnmarshalBinary(data))
				unset = true // asked before it has a time
				f.ContainsHash(bloom.SumUint64(key))
				f.Reach()
				unset = false
			case what == 18 && steps && event%3 == 0:
				hand.Advance(-time.Duration(r.Int64N(2 * int64(c.Span))))
				f.ContainsHash(bloom.SumUint64(key)) // sees the step
				m.stepBack(int64(hand.Elapsed()))
			case what == 18:
				hand.Advance(time.Duration(r.Int64N(2 * int64(c.Span))))
			case event%5 == 0:
				f.Reset()
				clear(m.keys)
			}
			require.Equal(t, c.Span, f.Reach(), about...)
			m.see(int64(hand.Elapsed()))
		}
	}
}
