package bloomredis

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestOnLostModel: three processes call a window that is lost, deleted and created again, while
// time passes, in random order. A call returns ErrLost, and calls OnLost once, exactly if the
// string that the process knows is no longer there although it has remembered keys.
func TestOnLostModel(t *testing.T) {
	client, set := startClock(t)
	seen := 0 // losses of the first process
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 9))
		require.NoError(t, client.FlushAll(ctx).Err())
		now := 1000 * time.Hour
		set(now)
		var windows [3]*Window
		var told [3]int
		for i := range windows {
			c := WindowConfig{N: 1000, P: 1e-6, Span: time.Hour, Renew: seed%2 == 0}
			if i < 2 { // the third process has no OnLost
				c.OnLost = func(err error) {
					assert.ErrorIs(t, err, ErrLost)
					told[i]++
				}
			}
			windows[i] = openWindow(t, client, c)
		}
		made, current := 0, 0 // the number of strings so far, and of the one that is there, or 0
		var known, losses [3]int
		for event := range 80 {
			i := r.IntN(len(windows))
			w := windows[i]
			w.reopened = time.Time{} // as if the last loss were a second ago
			h := bloom.SumUint64(r.Uint64N(50))
			kind := r.IntN(10)
			about := fmt.Sprintf("seed %d, event %d, process %d, call %d", seed, event, i, kind)
			var err error
			switch kind {
			case 0: // the server loses the string
				require.NoError(t, client.Del(ctx, "w").Err())
				current = 0
				continue
			case 1: // all keys are forgotten, and the string expires
				now += 3 * time.Hour
				set(now)
				require.NoError(t, client.Del(ctx, "w").Err())
				current = 0
				clear(known[:])
				continue
			case 2:
				require.NoError(t, w.Delete(ctx), about)
				current, known[i] = 0, 0
				continue
			case 3:
				_, err = w.ContainsHash(ctx, h)
			case 4:
				_, err = w.Stats(ctx)
			case 5:
				_, err = w.Reach(ctx)
			case 6:
				err = w.Reset(ctx)
			case 7:
				_, err = w.AddOnce(ctx, nonce(), h)
			default:
				_, err = w.AddHash(ctx, h)
			}
			if known[i] != 0 && known[i] != current {
				require.ErrorIs(t, err, ErrLost, about)
				known[i] = 0
				losses[i]++
			} else {
				require.NoError(t, err, about)
				if kind > 6 && current == 0 {
					made++
					current = made
				}
				known[i] = current
			}
			require.Equal(t, losses[:2], told[:2], about)
		}
		seen += losses[0]
	}
	require.Greater(t, seen, 25)
}

// TestShardedModel: beside filters of package bloom for an equal part of N each, a Sharded gives
// the same answers under random calls, and another ShardedConfig is refused unless it makes shards
// of the same number and size.
func TestShardedModel(t *testing.T) {
	client := startServer(t, "--appendonly", "no").client()
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 10))
		random := func() ShardedConfig {
			return ShardedConfig{Shards: 1 + r.IntN(5), N: 1 + r.Uint64N(300),
				P: math.Pow(10, -0.1-4*r.Float64())}
		}
		part := func(c ShardedConfig) uint64 {
			return uint64(math.Ceil(float64(c.N) / float64(c.Shards)))
		}
		c := random()
		key := fmt.Sprint("s", seed)
		s := bloom.Must(OpenSharded(ctx, client, key, c))
		var model []*bloom.Filter
		for range c.Shards {
			model = append(model, bloom.Must(bloom.New(part(c), c.P)))
		}
		require.Len(t, s.Shards(), c.Shards)
		for event := range 40 {
			about := fmt.Sprintf("seed %d, event %d, %+v", seed, event, c)
			hs := hashes(r.Uint64N(300), 300)
			hs = hs[:min(len(hs), r.IntN(8))]
			shard := func(h bloom.Hash) *bloom.Filter {
				return model[slices.Index(s.Shards(), s.Shard(h))]
			}
			var want, got []bool
			var err error
			switch kind := r.IntN(12); {
			case kind == 0:
				require.NoError(t, s.Reset(ctx), about)
				for _, f := range model {
					f.Reset()
				}
			case kind == 1:
				s = bloom.Must(OpenExistingSharded(ctx, client, key))
			case kind == 2:
				s = bloom.Must(OpenSharded(ctx, client, key, c))
			case kind == 3:
				other := c
				switch random := random(); r.IntN(4) {
				case 0:
					other.Shards = random.Shards
				case 1:
					other.N = c.N + 1
				case 2:
					other.P = random.P
				default:
					other = random
				}
				m, k, err := bloom.Size(part(other), other.P)
				require.NoError(t, err)
				fits := other.Shards == c.Shards && m == model[0].M() && k == model[0].K()
				_, err = OpenSharded(ctx, client, key, other)
				require.Equal(t, fits, err == nil, "%s, and then %+v: %v", about, other, err)
				require.Equal(t, !fits, errors.Is(err, bloom.ErrMismatch), "%s, and then %+v", about, other)
			case kind < 8:
				for _, h := range hs {
					want = append(want, shard(h).AddHash(h))
				}
				if kind == 4 {
					got, err = s.AddOnce(ctx, nonce(), hs...)
				} else {
					got, err = addBatch(ctx, s, hs)
				}
			default:
				for _, h := range hs {
					want = append(want, shard(h).ContainsHash(h))
				}
				got, err = containsBatch(ctx, s, hs)
			}
			require.NoError(t, err, about)
			require.True(t, slices.Equal(want, got), about)
		}
		for i, f := range s.Shards() {
			require.True(t, bloom.Must(f.Snapshot(ctx)).Equal(model[i]), "seed %d, shard %d", seed, i)
			info := bloom.Must(f.Info(ctx))
			require.Equal(t, bloom.Info{N: part(c), P: c.P}, info, "seed %d, shard %d", seed, i)
		}
		require.NoError(t, s.Delete(ctx))
	}
}
