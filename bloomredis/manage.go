package bloomredis

import (
	"context"
	"math"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom/internal/guava"
)

// Stats are figures of a filter. They are those of [bloom.Filter].
type Stats struct {
	OnesCount   uint64  // bits set
	FillRatio   float64 // fraction of bits set
	ApproxCount uint64  // estimated number of distinct keys added
	FPR         float64 // probability that a key that was not added is reported as present
}

// counted is how many bytes Redis counts at a time, so that it serves others in
// between.
const counted = 16 << 20

// Stats counts the filter's bits in Redis, without downloading it. That takes
// Redis about 0.1 ms for each megabyte.
func (f *Filter) Stats(ctx context.Context) (Stats, error) {
	var ones uint64
	for at := int64(guava.HeaderSize); at < f.params.Size(); at += counted {
		cmd := redis.NewIntCmd(ctx, "BITCOUNT", f.key, at, min(at+counted, f.params.Size())-1)
		s := f.newSeal(ctx)
		if err := f.read(ctx, append([]redis.Cmder{cmd}, s.cmds()...)...); err != nil {
			return Stats{}, err
		}
		if err := s.broken(); err != nil {
			return Stats{}, err
		}
		ones += uint64(cmd.Val())
	}
	return f.stats(ones), nil
}

func (f *Filter) stats(ones uint64) Stats {
	m, k := float64(f.M()), float64(f.K())
	fill := float64(ones) / m
	atMost := min(fill, (m-0.5)/m) // a full filter counts as if half a bit were clear
	return Stats{ones, fill, uint64(math.Round(-math.Log1p(-atMost) * m / k)), math.Pow(fill, k)}
}

// Reset removes all keys, for all processes. Replicas follow.
func (f *Filter) Reset(ctx context.Context) error {
	return f.change(ctx, resetScript, f.keys(), nonce())
}

// Delete deletes the filter and all that stands beside it in Redis, for all
// processes: their calls return errors that wrap [ErrLost]. It returns no error
// if the filter was deleted before. Uploads of a Merge expire by themselves.
func (f *Filter) Delete(ctx context.Context) error {
	return f.change(ctx, deleteScript, f.keys())
}
