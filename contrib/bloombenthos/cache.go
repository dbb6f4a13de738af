package bloombenthos

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"github.com/seed79a3ff49/bloom"
)

var errDelete = errors.New("bloom: a key cannot be deleted from a Bloom filter; " +
	"it is forgotten after the span")

type set interface {
	// addID adds id, and reports whether it was new.
	addID(ctx context.Context, id string) (bool, error)
	contains(ctx context.Context, id string) (bool, error)
	// figures returns the statistics of the filter and, with a span, how far back every id is
	// remembered.
	figures(ctx context.Context) (s bloom.Stats, reach time.Duration, err error)
	// save saves the ids, if the set has a file.
	save() error
	close() error
}

// cache is a service.Cache with its ids in a set. It periodically sets the metrics and saves the
// set.
type cache struct {
	set               set
	span              time.Duration // how long ids are remembered; 0 means forever
	log               *service.Logger
	hits, misses      *service.MetricCounter
	fill, rate, reach *service.MetricGauge
	short             bool // whether the log says that ids are forgotten early

	closed func()        // called at the end of Close
	stop   func()        // ends run
	done   chan struct{} // closed once run has ended
}

// clock is the time that a cache goes by. The zero clock is the machine's.
type clock struct {
	now   func() time.Time // of a window
	ticks func(ctx context.Context, every time.Duration) (next func() bool)
}

// ticks returns a function that waits for the next tick or for the end of ctx. The function reports
// whether a tick came.
func ticks(ctx context.Context, every time.Duration) (next func() bool) {
	ticker := time.NewTicker(every)
	return func() bool {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
			return true
		}
	}
}

// newCache returns a cache that updates its metrics and saves the set every so often.
func newCache(s set, span, every time.Duration, t clock, res *service.Resources) *cache {
	metrics := res.Metrics()
	c := &cache{
		set: s, span: span, log: res.Logger(),
		hits: metrics.NewCounter("bloom_hits"), misses: metrics.NewCounter("bloom_misses"),
		// The gauges are integers, because some exporters show only integers.
		fill:   metrics.NewGauge("bloom_fill_per_million"),
		rate:   metrics.NewGauge("bloom_rate_per_trillion"),
		closed: func() {}, done: make(chan struct{}),
	}
	if span > 0 {
		c.reach = metrics.NewGauge("bloom_reach_seconds")
	}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(context.Background())
	c.show(ctx)
	if t.ticks == nil {
		t.ticks = ticks
	}
	go c.run(ctx, t.ticks(ctx, every))
	return c
}

func (c *cache) run(ctx context.Context, next func() bool) {
	defer close(c.done)
	for next() {
		c.show(ctx)
		if err := c.set.save(); err != nil {
			c.log.Errorf("bloom: the ids are not on disk: %v", err)
		}
	}
}

// show sets the metrics to the set's statistics, unless the set returns an error. It logs when the
// set starts or stops forgetting ids early.
func (c *cache) show(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	stats, reach, err := c.set.figures(ctx)
	if err != nil {
		return
	}
	c.fill.Set(int64(math.Ceil(1e6 * stats.FillRatio)))
	c.rate.Set(int64(math.Ceil(1e12 * stats.FPR)))
	if c.span == 0 {
		return
	}
	c.reach.Set(int64(reach.Seconds()))
	if short := reach < c.span; short != c.short {
		c.short = short
		if short {
			c.log.Warnf("bloom: more ids came than capacity: "+
				"those of the last %v are remembered, not of %v", reach.Round(time.Second), c.span)
		} else {
			c.log.Infof("bloom: the ids of the last %v are remembered again", c.span)
		}
	}
}

func (c *cache) count(present bool) {
	if present {
		c.hits.Incr(1)
	} else {
		c.misses.Incr(1)
	}
}

func (c *cache) Add(ctx context.Context, key string, _ []byte, _ *time.Duration) error {
	isNew, err := c.set.addID(ctx, key)
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
	_, err := c.set.addID(ctx, key)
	return err
}

func (c *cache) Delete(context.Context, string) error { return errDelete }

func (c *cache) Close(context.Context) error {
	defer c.closed()
	c.stop()
	<-c.done
	return c.set.close()
}
