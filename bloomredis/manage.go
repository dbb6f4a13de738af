package bloomredis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// counted is how many bytes Redis counts at a time, so that it serves others in
// between.
const counted = 4 << 20

// Stats counts the filter's bits in Redis, without downloading it. Redis serves
// others in between. The time is in proportion to the filter's size.
func (f *Filter) Stats(ctx context.Context) (bloom.Stats, error) {
	id, ones := f.opened(), uint64(0)
	for at := int64(headerSize); at < f.params.size(); at += counted {
		cmd := redis.NewIntCmd(ctx, "BITCOUNT", f.key, at, min(at+counted, f.params.size())-1)
		if _, err := f.readWhole(ctx, id, cmd); err != nil {
			return bloom.Stats{}, err
		}
		ones += uint64(cmd.Val())
	}
	return bloom.StatsOf(f.M(), f.K(), ones), nil
}

// Reset removes all keys, for all processes. Replicas follow. A token of [Filter.AddOnce] that was used
// before Reset is a new one after it.
func (f *Filter) Reset(ctx context.Context) error {
	_, err := f.change(ctx, resetScript, f.keys(), nonce())
	return err
}

// Delete deletes the filter and all that is beside it in Redis, for all
// processes: their calls return errors that wrap [ErrLost]. It returns no error
// if the filter was deleted before. Uploads of a Merge expire by themselves.
func (f *Filter) Delete(ctx context.Context) error {
	_, err := f.change(ctx, deleteScript, f.keys())
	return err
}
