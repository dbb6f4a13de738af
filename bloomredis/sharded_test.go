package bloomredis

import (
	"fmt"
	"math"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/replica"
)

func TestSharded(t *testing.T) { testSharded(t, startServer(t).client()) }

func testSharded(t *testing.T, client redis.UniversalClient) {
	const n, p, shards = 10_000, 0.01, 7
	s := bloom.Must(OpenSharded(ctx, client, "s", ShardedConfig{shards, n, p}))
	added, err := addBatch(ctx, s, hashes(0, n/2))
	require.NoError(t, err)
	news := 0
	for _, isNew := range added {
		if isNew {
			news++
		}
	}
	assert.Greater(t, news, n/2*99/100)

	// Another process finds the same, one by one and in a batch that keeps order.
	s = bloom.Must(OpenSharded(ctx, client, "s", ShardedConfig{shards, n, p}))
	keys := append(hashes(n/2-100, n/2), hashes(1<<40, 1<<40+100)...)
	found, err := containsBatch(ctx, s, keys)
	require.NoError(t, err)
	for i, h := range keys {
		one, err := s.ContainsHash(ctx, h)
		require.NoError(t, err)
		assert.Equal(t, one, found[i])
	}
	assert.NotContains(t, found[:100], false)
	assert.Contains(t, found[100:], false)
	requireAdded(t, s, false, keys[:100]...)
	// Shards are filters, which can be replicated and merged.
	for _, f := range s.Shards() {
		r := replica.New(f.Source(), replica.Config{})
		require.NoError(t, r.Refresh(ctx))
		g := r.Snapshot()
		g.AddString("merged")
		require.NoError(t, f.Merge(ctx, g))
		require.NoError(t, r.Refresh(ctx))
		assert.True(t, r.ContainsString("merged"))
	}

	same, err := OpenExistingSharded(ctx, client, "s")
	require.NoError(t, err)
	assert.Equal(t, s.String(), same.String())
	var ones, count uint64
	var fpr float64
	for _, f := range s.Shards() {
		g := stored(t, f)
		ones += g.OnesCount()
		count += g.ApproxCount()
		fpr += g.FPR() / shards
	}
	stats, err := same.Stats(ctx)
	require.NoError(t, err)
	first := s.Shards()[0]
	assert.Equal(t, bloom.Stats{M: shards * first.M(), K: first.K(), OnesCount: ones, FillRatio: stats.FillRatio, ApproxCount: count, FPR: stats.FPR, SizeBytes: s.SizeBytes()}, stats)
	assert.InEpsilon(t, fpr, stats.FPR, 1e-9)
	assert.InEpsilon(t, float64(ones)/float64(shards*first.M()), stats.FillRatio, 1e-9)
	assert.EqualValues(t, shards*(6+first.M()/8), s.SizeBytes())

	_, err = OpenSharded(ctx, client, "s", ShardedConfig{shards, 2 * n, p})
	require.ErrorIs(t, err, bloom.ErrMismatch)

	require.NoError(t, s.Delete(ctx))
	for i := range shards {
		assert.Zero(t, client.Exists(ctx, fmt.Sprintf("{s:%d}", i), fmt.Sprintf("adds:{s:%d}", i), fmt.Sprintf("id:{s:%d}", i)).Val())
	}
	_, err = OpenExistingSharded(ctx, client, "s")
	require.ErrorIs(t, err, redis.Nil)
}

// The number of shards is what the first OpenSharded said, or nobody knows it. All are alike.
func TestShardedNumber(t *testing.T) {
	client := startServer(t).client()
	s := bloom.Must(OpenSharded(ctx, client, "s", ShardedConfig{3, 1000, 0.01}))
	for _, shards := range []int{2, 4} {
		_, err := OpenSharded(ctx, client, "s", ShardedConfig{shards, uint64(shards) * 334, 0.01})
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, fmt.Sprintf("it is one of 3 shards, want %d", shards))
	}
	for shard, shards := range map[int]string{0: "0", 1: "2", 2: "-1"} {
		f := s.shards[shard]
		require.NoError(t, client.Set(ctx, f.ident, identityMark+nonce()+`{"Shards":`+shards+`}`, 0).Err())
		_, err := OpenExistingSharded(ctx, client, "s")
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.NoError(t, client.Set(ctx, f.ident, identityMark+nonce()+`{"Shards":3}`, 0).Err())

		require.NoError(t, client.Rename(ctx, f.key, "saved").Err())
		require.NoError(t, client.Set(ctx, f.key, bloom.Must(bloom.Must(bloom.New(1000, 0.01)).MarshalBinary()), 0).Err())
		_, err = OpenExistingSharded(ctx, client, "s")
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.NoError(t, client.Rename(ctx, "saved", f.key).Err())
	}
	require.NoError(t, firstError(OpenExistingSharded(ctx, client, "s")))
	// A number of keys that does not divide is rounded up.
	for n, each := range map[uint64]uint64{99: 33, 100: 34, 101: 34, 102: 34} {
		s := bloom.Must(OpenSharded(ctx, client, fmt.Sprint(n), ShardedConfig{3, n, 1e-6}))
		assert.Equal(t, bloom.Must(bloom.New(each, 1e-6)).M(), s.Shards()[2].M(), n)
	}
}

// Routing spreads keys evenly, says nothing about indexes, and stays as it is.
func TestRoute(t *testing.T) {
	const shards, n = 8, 80_000
	s := &Sharded{shards: make([]*Filter, shards)}
	var count, odd [shards]int
	for _, h := range hashes(0, n) {
		count[s.route(h)]++
		h1, _ := h.Words()
		odd[s.route(h)] += int(h1 & 1)
	}
	for i := range shards {
		sigma := math.Sqrt(n / shards * (1 - 1.0/shards))
		assert.InDelta(t, n/shards, count[i], 5*sigma)
		assert.InDelta(t, count[i]/2, odd[i], 5*math.Sqrt(float64(count[i]))/2)
	}
	s = &Sharded{shards: make([]*Filter, 1000)}
	var routes []int
	for _, h := range hashes(0, 8) {
		routes = append(routes, s.route(h))
	}
	assert.Equal(t, []int{604, 848, 674, 355, 261, 841, 701, 152}, routes)
}
