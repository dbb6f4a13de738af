package bloomredis

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// A merge loses nothing that others add at the same time, and leaves nothing behind.
func TestMerge(t *testing.T) {
	s := startServer(t)
	client := s.client()
	const n = 2_000_000 // more than two pieces
	f := openFilter(t, client, n, 0.01)
	local := bloom.Must(bloom.New(n, 0.01))
	local.AddBatch(nil, hashes(0, 100_000))
	stop, added := make(chan struct{}), uint64(0)
	adds := during(t, func() {
		for stopped := false; !stopped; added += 50 {
			from := 1_000_000 + added
			if !assert.NoError(t, firstError(addBatch(ctx, f, hashes(from, from+50)))) {
				return
			}
			select {
			case <-stop:
				stopped = true
			default:
			}
		}
	})
	for range 3 {
		require.NoError(t, f.Merge(ctx, local))
	}
	require.ErrorIs(t, f.Merge(ctx, nil), bloom.ErrMismatch)
	close(stop)
	adds()
	for _, h := range hashes(1_000_000, 1_000_000+added) {
		local.AddHash(h)
	}
	got, err := f.Snapshot(ctx)
	require.NoError(t, err)
	assert.True(t, got.Equal(local))
	assert.EqualValues(t, 3, client.DBSize(ctx).Val(), "the upload is still there")

	for _, other := range []*bloom.Filter{
		bloom.Must(bloom.New(n, 0.02)),
		bloom.Must(bloom.NewSize(local.M(), local.K()+1)),
		bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, n, 0.01)),
		new(bloom.Filter),
	} {
		err := f.Merge(ctx, other)
		require.ErrorIs(t, err, bloom.ErrMismatch)
		require.ErrorContains(t, err, `bloomredis: key "f": `)
	}
}

// uploadOf returns the key of the upload that a command names, if any.
func uploadOf(args []any) string {
	for _, arg := range args {
		if key, ok := arg.(string); ok && strings.HasPrefix(key, "merge-") {
			return key
		}
	}
	return ""
}

// Whatever the client sends again may arrive late and out of order: a merge is
// whole even if after each of its steps all earlier ones arrive once more. What
// stays behind expires.
func TestUploadArrivesAgain(t *testing.T) {
	s := startServer(t)
	direct := s.client()
	const n = 3_000_000 // several pieces
	rng := rand.New(rand.NewPCG(1, 2))
	var sent [][]any
	client := s.client()
	client.AddHook(afterwards(func(args []any) {
		if uploadOf(args) == "" {
			return
		}
		if args[2] == 1 { // a piece, and this is what the client sends that heard nothing
			assert.NoError(t, direct.Do(ctx, args...).Err())
		}
		sent = append(sent, args)
		for _, i := range rng.Perm(len(sent)) {
			_ = direct.Do(ctx, sent[i]...).Err() // may well be refused
		}
	}))
	f := openFilter(t, client, n, 0.01)
	g := bloom.Must(bloom.New(n, 0.01))
	g.AddBatch(nil, hashes(0, 100_000))
	require.NoError(t, f.Merge(ctx, g))
	require.Greater(t, len(sent), 3)
	assert.True(t, stored(t, f).Equal(g))
	for _, i := range rng.Perm(len(sent)) {
		_ = direct.Do(ctx, sent[i]...).Err()
	}
	assertNothingStays(t, direct, f)
}

// assertNothingStays checks that what is beside the filter expires.
func assertNothingStays(t testing.TB, client *redis.Client, f *Filter) {
	t.Helper()
	keys, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	require.Subset(t, keys, f.keys())
	for _, key := range keys {
		ttl := client.PTTL(ctx, key).Val()
		if key == f.key || key == f.stream || key == f.ident {
			assert.Negative(t, ttl)
			continue
		}
		assert.Positive(t, ttl, key)
		assert.LessOrEqual(t, ttl, uploadTime, key)
	}
}

// An upload that expires on its way, as one that stalls for ten minutes does, is
// an error. Each piece gives the upload another ten.
func TestUploadExpires(t *testing.T) {
	s := startServer(t)
	direct := s.client()
	const n = 3_000_000
	for gone := 2; gone <= 7; gone++ { // of four pieces, twice
		require.NoError(t, direct.FlushAll(ctx).Err())
		client := s.client()
		step := 0
		var first []any
		client.AddHook(afterwards(func(args []any) {
			upload := uploadOf(args)
			if upload == "" {
				return
			}
			if step++; step == 1 {
				first = args
			}
			if step == 2+(gone-2)%3 {
				direct.Del(ctx, upload)
				if gone > 4 {
					assert.NoError(t, direct.Do(ctx, first...).Err()) // late
				}
			} else {
				assert.InDelta(t, uploadTime, direct.PTTL(ctx, upload).Val(), float64(time.Minute))
				direct.PExpire(ctx, upload, uploadTime/2)
			}
		}))
		f := openFilter(t, client, n, 0.01)
		g := bloom.Must(bloom.New(n, 0.01))
		g.AddBatch(nil, hashes(0, 1000))
		require.ErrorContains(t, f.Merge(ctx, g), "gone")
		assert.Zero(t, stored(t, f).OnesCount())
		assertNothingStays(t, direct, f)
	}
}
