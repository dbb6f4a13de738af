package bloombenthos

import (
	"context"
	"errors"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/seed79a3ff49/bloom"
)

var errDelete = errors.New("bloom: a key cannot be deleted from a Bloom filter; it is forgotten after the span")

// set is what remembers ids.
type set interface {
	// add reports whether id was new.
	add(ctx context.Context, id string) (bool, error)
	contains(ctx context.Context, id string) (bool, error)
	// stats returns the fraction of bits set and the false-positive rate. ok is false if
	// they are not known.
	stats(ctx context.Context) (stats bloom.Stats, ok bool)
	close(ctx context.Context) error
}

// cache makes a set the engine's cache.
type cache struct {
	set          set
	hits, misses *service.MetricCounter
	closed       func() // called at the end, if not nil
}

func newCache(s set, metrics *service.Metrics) *cache {
	return &cache{set: s, hits: metrics.NewCounter("bloom_hits"), misses: metrics.NewCounter("bloom_misses")}
}

func (c *cache) count(present bool) {
	if present {
		c.hits.Incr(1)
	} else {
		c.misses.Incr(1)
	}
}

func (c *cache) Add(ctx context.Context, key string, _ []byte, _ *time.Duration) error {
	isNew, err := c.set.add(ctx, key)
	if err != nil {
		return err
	}
	c.count(!isNew)
	if !isNew {
		return service.ErrKeyAlreadyExists
	}
	return nil
}

func (c *cache) Get(ctx context.Context, key string) ([]byte, error) {
	present, err := c.set.contains(ctx, key)
	if err != nil {
		return nil, err
	}
	c.count(present)
	if !present {
		return nil, service.ErrKeyNotFound
	}
	return []byte{}, nil
}

func (c *cache) Set(ctx context.Context, key string, _ []byte, _ *time.Duration) error {
	_, err := c.set.add(ctx, key)
	return err
}

func (c *cache) Delete(context.Context, string) error { return errDelete }

func (c *cache) Close(ctx context.Context) error {
	if c.closed != nil {
		defer c.closed()
	}
	return c.set.close(ctx)
}

// gauges shows a set's fill and rate.
type gauges struct{ fill, rate *service.MetricGauge }

func newGauges(metrics *service.Metrics) gauges {
	return gauges{metrics.NewGauge("bloom_fill"), metrics.NewGauge("bloom_rate")}
}

func (g gauges) show(ctx context.Context, s set) {
	if stats, ok := s.stats(ctx); ok {
		g.fill.SetFloat64(stats.FillRatio)
		g.rate.SetFloat64(stats.FPR)
	}
}
