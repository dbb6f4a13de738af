package bloomredis

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// Sharded is a filter for more keys than fit into one Redis string. Its strings are spread over the
// nodes of a cluster, and the digest of a key decides which string has the key.
//
// It has the methods of [Filter], except Info, UpdateInfo, Merge, Snapshot, Source, M and K: call
// these on each of its [Sharded.Shards]. Many goroutines may call the methods.
type Sharded struct {
	keyMethods
	key    string
	shards []*Filter
}

// ShardedConfig configures a [Sharded]. All processes that share a key must use the same values.
type ShardedConfig struct {
	Shards int     // number of strings, from 1 to 16,384; each needs three Redis keys
	N      uint64  // distinct keys expected in all shards together
	P      float64 // false-positive rate; see bloom.New
}

const maxShards = 16384

// OpenSharded opens or creates c.Shards filters under the keys {key:0}, {key:1} and so on, each as
// [Open] does for its part of c.N. The braces spread the shards over the hash slots; key itself
// must have no braces. Redis keeps the number of shards with each shard. If that number differs
// from c.Shards, the error wraps [bloom.ErrMismatch], because keys would be looked up in the wrong
// shards.
func OpenSharded(
	ctx context.Context, client redis.UniversalClient, key string, c ShardedConfig,
) (*Sharded, error) {
	params, n, err := c.shardParams()
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(key, "{}") {
		return nil, fmt.Errorf("bloomredis: key %q has braces, which a Sharded does not allow", key)
	}
	if err := (caller{client, shardKey(key, 0)}).readsMasters(ctx); err != nil {
		return nil, err
	}
	s := &Sharded{key: key}
	s.impl = s
	for i := range c.Shards {
		initial := &record{bloom.Info{N: n, P: c.P}, c.Shards}
		f, err := open(ctx, client, shardKey(key, i), params, initial)
		if err != nil {
			return nil, err
		}
		s.shards = append(s.shards, f)
	}
	return s, nil
}

// OpenExistingSharded returns the sharded filter under key, whatever its parameters and its number
// of shards; see [OpenExisting].
func OpenExistingSharded(
	ctx context.Context, client redis.UniversalClient, key string,
) (*Sharded, error) {
	s := &Sharded{key: key}
	s.impl = s
	first, err := OpenExisting(ctx, client, shardKey(key, 0))
	if err != nil {
		return nil, err
	}
	if first.shards < 1 || first.shards > maxShards {
		return nil, first.errorf("%w: it holds a filter of %d shards",
			bloom.ErrMismatch, first.shards)
	}
	s.shards = append(s.shards, first)
	for i := 1; i < first.shards; i++ {
		f, err := open(ctx, client, shardKey(key, i), header{}, nil)
		if err != nil {
			return nil, err
		}
		if f.shards != first.shards || f.params != first.params {
			return nil, f.errorf("%w: it holds a filter of %v, one of %d shards; "+
				"the first one is a filter of %v, one of %d",
				bloom.ErrMismatch, f.params, f.shards, first.params, first.shards)
		}
		s.shards = append(s.shards, f)
	}
	return s, nil
}

func shardKey(key string, i int) string { return fmt.Sprintf("{%s:%d}", key, i) }

// String names the key and the parameters. It sends no command.
func (s *Sharded) String() string {
	var each header
	if len(s.shards) > 0 {
		each = s.shards[0].params
	}
	return fmt.Sprintf("bloomredis.Sharded(%q, %d shards of %v)", s.key, len(s.shards), each)
}

// Shards returns all shards. Each can be merged into, downloaded and replicated on its own.
func (s *Sharded) Shards() []*Filter { return slices.Clone(s.shards) }

// Shard returns the shard of a digest, which is the same in all versions of this package.
func (s *Sharded) Shard(h bloom.Hash) *Filter { return s.shards[s.route(h)] }

// route returns the number of the shard of h, computed from both halves of the digest. If it were
// H1 modulo the number of shards, the keys of a shard would use the bits of the shard unevenly.
func (s *Sharded) route(h bloom.Hash) int {
	h1, h2 := h.Words()
	x := (h1 ^ bits.RotateLeft64(h2, 32)) * 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	i, _ := bits.Mul64(x, uint64(len(s.shards)))
	return int(i)
}

func (s *Sharded) addKeys(ctx context.Context, token string, hs []bloom.Hash) ([]bool, error) {
	return s.batch(hs, func(f *Filter, hs []bloom.Hash) ([]bool, error) {
		return f.addKeys(ctx, token, hs)
	})
}

func (s *Sharded) contains(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return s.batch(hs, func(f *Filter, hs []bloom.Hash) ([]bool, error) {
		return f.contains(ctx, hs)
	})
}

// SizeBytes returns the total length of the strings.
func (s *Sharded) SizeBytes() int64 {
	size := int64(0)
	for _, f := range s.shards {
		size += f.SizeBytes()
	}
	return size
}

// Stats counts the bits of all shards; see [Filter.Stats]. K is the same in all shards.
func (s *Sharded) Stats(ctx context.Context) (bloom.Stats, error) {
	var all bloom.Stats
	err := s.each(func(f *Filter) error {
		stats, err := f.Stats(ctx)
		all.M += stats.M
		all.K = stats.K
		all.OnesCount += stats.OnesCount
		all.ApproxCount += stats.ApproxCount
		all.SizeBytes += stats.SizeBytes
		// Shards are equally large, and get about the same number of keys.
		all.FillRatio += stats.FillRatio / float64(len(s.shards))
		all.FPR += stats.FPR / float64(len(s.shards))
		return err
	})
	return all, err
}

// Reset removes all keys; see [Filter.Reset].
func (s *Sharded) Reset(ctx context.Context) error {
	return s.each(func(f *Filter) error { return f.Reset(ctx) })
}

// Reopen opens the filters that are now under the keys of the shards; see [Filter.Reopen]. After an
// error it can be called again.
func (s *Sharded) Reopen(ctx context.Context) error {
	return s.each(func(f *Filter) error { return f.Reopen(ctx) })
}

// Delete deletes all shards with their streams and identities; see [Filter.Delete]. After an error
// it can be called again.
func (s *Sharded) Delete(ctx context.Context) error {
	return s.each(func(f *Filter) error { return f.Delete(ctx) })
}

func (s *Sharded) each(visit func(*Filter) error) error {
	s.store() // panics if OpenSharded was forgotten
	for _, f := range s.shards {
		if err := visit(f); err != nil {
			return err
		}
	}
	return nil
}

// batch calls ask once, in parallel, for each shard that has some of hs. It returns the answers in
// the order of hs.
func (s *Sharded) batch(
	hs []bloom.Hash, ask func(*Filter, []bloom.Hash) ([]bool, error),
) ([]bool, error) {
	return batch(hs, len(hs), len(hs), s.route, func(calls []*call) error {
		errs := make([]error, len(calls))
		var wg sync.WaitGroup
		for i, c := range calls {
			wg.Add(1)
			go func() {
				defer wg.Done()
				c.answers, errs[i] = ask(s.shards[c.place], c.hs)
			}()
		}
		wg.Wait()
		return errors.Join(errs...)
	})
}
