package bloombenthos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// TestFieldsModel: beside a filter that is made with the fields' values, a cache bloom gives the
// same answers to random calls, while the machine's time or that of the messages moves. A restart
// keeps the ids exactly if there is a path.
func TestFieldsModel(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 11))
		c := window.Config{
			N: r.Uint64N(3) * 30, P: math.Pow(10, -5-4*r.Float64()),
			Span: time.Duration(r.IntN(3)) * time.Hour,
		}
		hasTime := false
		conf := fmt.Sprintf("capacity: %d, fpr: %v, span: %v, save_every: 1h", c.N, c.P, c.Span)
		if c.Span > 0 {
			c.N += 10
			c.Renew = r.IntN(2) == 0
			hasTime = r.IntN(2) == 0
			conf = fmt.Sprintf("capacity: %d, fpr: %v, span: %v, renew: %v", c.N, c.P, c.Span, c.Renew)
		}
		if hasTime {
			conf += `, time: 'root = this.split("@").index(1)'`
		}
		path := ""
		if r.IntN(2) == 0 {
			path = filepath.Join(t.TempDir(), "ids")
			conf += ", path: " + path
		}
		clock, newest := past, time.Time{} // of the machine, and of the messages
		c.Now = func() time.Time { return clock }
		machine := c.Now
		if hasTime {
			c.Now = func() time.Time { return newest }
		}
		fresh := func() filter {
			if c.Span > 0 {
				return bloom.Must(window.New(c))
			}
			return bloom.Must(growing.New(c.N, c.P))
		}
		model, cache := fresh(), testCache(t, "{"+conf+"}", machine)
		var ids []string
		for event := range 150 {
			about := fmt.Sprintf("seed %d, event %d, {%s}", seed, event, conf)
			if r.IntN(2) == 0 || len(ids) == 0 { // a new id, some of them without a time
				id := fmt.Sprintf("%d@%s", len(ids), clock.Format(time.RFC3339Nano))
				if r.IntN(10) == 0 {
					id = fmt.Sprint(len(ids))
				}
				ids = append(ids, id)
			}
			// The newest ids come most often.
			id := ids[len(ids)-1-min(r.IntN(len(ids)), r.IntN(len(ids)))]
			see := func() {
				var number int
				var stamp string
				if _, err := fmt.Sscanf(id, "%d@%s", &number, &stamp); err == nil {
					at := bloom.Must(time.Parse(time.RFC3339Nano, stamp))
					if at.After(newest) {
						newest = at
					}
				}
			}
			h := bloom.SumString(id)
			switch kind := r.IntN(20); {
			case kind == 0:
				require.NoError(t, cache.Close(ctx), about)
				cache = testCache(t, "{"+conf+"}", machine)
				if path == "" {
					newest = time.Time{}
					model = fresh()
				}
			case kind < 5:
				clock = clock.Add(time.Duration(r.Int64N(int64(40 * time.Minute))))
			case kind < 12:
				see()
				isNew := model.AddHash(h)
				err := cache.Add(ctx, id, nil, nil)
				require.Equal(t, !isNew, errors.Is(err, service.ErrKeyAlreadyExists), about)
				require.Equal(t, isNew, err == nil, about)
			case kind < 14:
				see()
				model.AddHash(h)
				require.NoError(t, cache.Set(ctx, id, nil, nil), about)
			default:
				see()
				found := model.ContainsHash(h)
				_, err := cache.Get(ctx, id)
				require.Equal(t, !found, errors.Is(err, service.ErrKeyNotFound), about)
				require.Equal(t, found, err == nil, about)
			}
			stats, reach, err := cache.set.figures(ctx)
			require.NoError(t, err, about)
			want := model.Stats()
			require.Equal(t, [2]uint64{want.M, uint64(want.K)}, [2]uint64{stats.M, uint64(stats.K)}, about)
			if w, ok := model.(*window.Filter); ok {
				require.Equal(t, w.Reach(), reach, about)
			}
		}
		require.NoError(t, cache.Close(ctx))
	}
}
