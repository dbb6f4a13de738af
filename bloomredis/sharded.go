package bloomredis

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/seed79a3ff49/bloom"
)

// Sharded is a filter in several Redis strings, each of which has the keys whose
// digests route to it. It is for more keys than one string has room for, and to
// spread one filter over the nodes of a cluster. Its methods are those of
// [Filter]. They may be called by many goroutines at once. Batches ask all shards
// at once.
type Sharded struct {
	shards []*Filter
}

// OpenSharded opens or creates shards filters under the keys {key:0}, {key:1} and
// so on, each as [Open] does for its part of n. Each has its own hash slot, which
// the braces decide. The key itself must have no braces. The number of shards is
// kept beside the first. Another number is an error that wraps [bloom.ErrMismatch],
// as keys would be looked up where they are not.
func OpenSharded(ctx context.Context, client redis.UniversalClient, key string, shards int, n uint64, p float64) (*Sharded, error) {
	if shards < 1 {
		return nil, fmt.Errorf("bloomredis: shards = %d is below 1", shards)
	}
	if strings.ContainsAny(key, "{}") {
		return nil, fmt.Errorf("bloomredis: key %q of a Sharded has braces", key)
	}
	s := &Sharded{shards: make([]*Filter, shards)}
	for i := range s.shards {
		f, err := Open(ctx, client, shardKey(key, i), n/uint64(shards)+min(n%uint64(shards), 1), p)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			if err := f.pin(ctx, shards); err != nil {
				return nil, err
			}
		}
		s.shards[i] = f
	}
	return s, nil
}

// OpenExistingSharded returns the sharded filter under key, whatever its
// parameters and the number of its shards are; see [OpenExisting].
func OpenExistingSharded(ctx context.Context, client redis.UniversalClient, key string) (*Sharded, error) {
	first, err := OpenExisting(ctx, client, shardKey(key, 0))
	if err != nil {
		return nil, err
	}
	pinned, err := first.pinned(ctx)
	if err != nil {
		return nil, err
	}
	shards, err := strconv.Atoi(pinned)
	if err != nil || shards < 1 {
		return nil, first.errorf("%w: it has %q shards", bloom.ErrFormat, pinned)
	}
	s := &Sharded{shards: []*Filter{first}}
	for i := 1; i < shards; i++ {
		f, err := OpenExisting(ctx, client, shardKey(key, i))
		if err != nil {
			return nil, err
		}
		if f.params != first.params {
			return nil, f.errorf("%w: it holds a filter of %v, others of %v", bloom.ErrMismatch, f.params, first.params)
		}
		s.shards = append(s.shards, f)
	}
	return s, nil
}

func shardKey(key string, i int) string { return fmt.Sprintf("{%s:%d}", key, i) }

// pin keeps the number of shards beside f, or checks it.
func (f *Filter) pin(ctx context.Context, shards int) error {
	found, err := f.pinned(ctx)
	if err == nil && found == "" {
		if err := f.do(ctx, func() error { return f.client.SetNX(ctx, f.pinKey(), shards, 0).Err() }); err != nil {
			return err
		}
		found, err = f.pinned(ctx)
	}
	if err != nil {
		return err
	}
	if found != strconv.Itoa(shards) {
		return f.errorf("%w: it has %s shards, want %d", bloom.ErrMismatch, found, shards)
	}
	return nil
}

// pinned returns the number of shards as it stands beside f.
func (f *Filter) pinned(ctx context.Context) (string, error) {
	cmd := redis.NewStringCmd(ctx, "GETRANGE", f.pinKey(), 0, -1)
	err := f.read(ctx, cmd)
	return cmd.Val(), err
}

func (f *Filter) pinKey() string { return f.key + ":shards" }

// Shards returns the shards, to merge, snapshot and replicate one by one. The
// caller must not change the slice.
func (s *Sharded) Shards() []*Filter { return s.shards }

// Shard returns the shard of a digest. It is the same in all versions of this
// package.
func (s *Sharded) Shard(h bloom.Hash) *Filter { return s.shards[s.route(h)] }

// route mixes both halves of the digest: were it a remainder of H1 alone, the
// first index of all keys of a shard would have the same remainder.
func (s *Sharded) route(h bloom.Hash) int {
	h1, h2 := h.Words()
	x := (h1 ^ bits.RotateLeft64(h2, 32)) * 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	i, _ := bits.Mul64(x, uint64(len(s.shards)))
	return int(i)
}

// Add adds key; see [Filter.Add].
func (s *Sharded) Add(ctx context.Context, key []byte) (bool, error) {
	return s.AddHash(ctx, bloom.Sum(key))
}

// AddString is Add of key's bytes, without copying them.
func (s *Sharded) AddString(ctx context.Context, key string) (bool, error) {
	return s.AddHash(ctx, bloom.SumString(key))
}

// AddHash is Add by digest.
func (s *Sharded) AddHash(ctx context.Context, h bloom.Hash) (bool, error) {
	return s.Shard(h).AddHash(ctx, h)
}

// AddBatch adds hs and returns for each what Add would; see [Filter.AddBatch].
func (s *Sharded) AddBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return s.batch(hs, func(f *Filter, hs []bloom.Hash) ([]bool, error) { return f.AddBatch(ctx, hs) })
}

// Contains reports whether key may have been added; see [Filter.Contains].
func (s *Sharded) Contains(ctx context.Context, key []byte) (bool, error) {
	return s.ContainsHash(ctx, bloom.Sum(key))
}

// ContainsString is Contains of key's bytes, without copying them.
func (s *Sharded) ContainsString(ctx context.Context, key string) (bool, error) {
	return s.ContainsHash(ctx, bloom.SumString(key))
}

// ContainsHash is Contains by digest.
func (s *Sharded) ContainsHash(ctx context.Context, h bloom.Hash) (bool, error) {
	return s.Shard(h).ContainsHash(ctx, h)
}

// ContainsBatch returns Contains of each of hs; see [Filter.ContainsBatch].
func (s *Sharded) ContainsBatch(ctx context.Context, hs []bloom.Hash) ([]bool, error) {
	return s.batch(hs, func(f *Filter, hs []bloom.Hash) ([]bool, error) { return f.ContainsBatch(ctx, hs) })
}

// SizeBytes returns the length of all strings together.
func (s *Sharded) SizeBytes() (size int64) {
	for _, f := range s.shards {
		size += f.SizeBytes()
	}
	return size
}

// Stats counts the bits of all shards; see [Filter.Stats]. K is that of each.
func (s *Sharded) Stats(ctx context.Context) (bloom.Stats, error) {
	var all bloom.Stats
	for _, f := range s.shards {
		one, err := f.Stats(ctx)
		if err != nil {
			return bloom.Stats{}, err
		}
		all.M += one.M
		all.K = one.K
		all.OnesCount += one.OnesCount
		all.ApproxCount += one.ApproxCount
		all.SizeBytes += one.SizeBytes
		// Shards are equally large, and get equally many of the keys.
		all.FillRatio += one.FillRatio / float64(len(s.shards))
		all.FPR += one.FPR / float64(len(s.shards))
	}
	return all, nil
}

// Reset removes all keys; see [Filter.Reset].
func (s *Sharded) Reset(ctx context.Context) error {
	for _, f := range s.shards {
		if err := f.Reset(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes all shards and what stands beside them; see [Filter.Delete]. If
// it returns an error, it can be called again.
func (s *Sharded) Delete(ctx context.Context) error {
	for _, f := range s.shards {
		if err := f.Delete(ctx); err != nil {
			return err
		}
	}
	first := s.shards[0]
	return first.do(ctx, func() error { return first.client.Unlink(ctx, first.pinKey()).Err() })
}

// batch calls do for each shard with its part of hs, in order.
func (s *Sharded) batch(hs []bloom.Hash, do func(*Filter, []bloom.Hash) ([]bool, error)) ([]bool, error) {
	type part struct {
		hs []bloom.Hash
		at []int // places in hs of the whole
	}
	parts := make([]part, len(s.shards))
	for at, h := range hs {
		p := &parts[s.route(h)]
		p.hs, p.at = append(p.hs, h), append(p.at, at)
	}
	dst := make([]bool, len(hs))
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		if len(p.hs) == 0 {
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			answers, err := do(s.shards[i], p.hs)
			for j, answer := range answers {
				dst[p.at[j]] = answer
			}
			errs[i] = err
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return dst, nil
}
