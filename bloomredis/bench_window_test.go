package bloomredis

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// setNX adds keys as Redis keys that expire, the way to do it without a filter.
func setNX(client *redis.Client, keys []uint64, span time.Duration) error {
	pipe := client.Pipeline()
	for _, key := range keys {
		pipe.SetNX(ctx, fmt.Sprintf("visit:%016x", key), 1, span)
	}
	_, err := pipe.Exec(ctx)
	return err
}

func sums(keys []uint64) []bloom.Hash {
	return bloom.SumUint64Batch(nil, keys)
}

// New keys, alone, by the 256 and by the 10,000, into a window and as keys of Redis.
func BenchmarkWindow(b *testing.B) {
	client := startServer(b, "--appendonly", "no").client()
	w := openWindow(b, client, WindowConfig{Capacity: 1_000_000, FPR: 0.01, Span: time.Hour})
	next := uint64(0)
	take := func(n int) []uint64 {
		keys := make([]uint64, n)
		for i := range keys {
			keys[i] = next
			next++
		}
		return keys
	}
	for _, n := range []int{1, 256, 10_000} {
		b.Run("op=add/keys="+strconv.Itoa(n)+"/by=Window", func(b *testing.B) {
			for b.Loop() {
				_, err := w.AddBatch(ctx, sums(take(n)))
				require.NoError(b, err)
			}
		})
		b.Run("op=contains/keys="+strconv.Itoa(n)+"/by=Window", func(b *testing.B) {
			for b.Loop() {
				_, err := w.ContainsBatch(ctx, sums(take(n)))
				require.NoError(b, err)
			}
		})
		b.Run("op=add/keys="+strconv.Itoa(n)+"/by=SETNX", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, setNX(client, take(n), time.Hour))
			}
		})
	}
}

// A million keys in a window, evenly over its generations, and as keys of Redis:
// memory as INFO tells it, and time in batches of 256.
func TestMillionKeys(t *testing.T) {
	if os.Getenv("BLOOM_MILLION") == "" {
		t.Skip("BLOOM_MILLION=1 measures a million keys, which takes a minute")
	}
	const n, span, generations = 1_000_000, 28 * time.Second, 7
	client := startServer(t, "--appendonly", "no").client()
	used := func() (bytes int) {
		for _, line := range strings.Split(client.Info(ctx, "memory").Val(), "\r\n") {
			if value, ok := strings.CutPrefix(line, "used_memory:"); ok {
				bytes, _ = strconv.Atoi(value)
			}
		}
		return bytes
	}
	keys := make([]uint64, n)
	for i := range keys {
		keys[i] = binary.LittleEndian.Uint64([]byte(nonce()))
	}
	batches := slices.Collect(slices.Chunk(keys, 256))

	w := openWindow(t, client, WindowConfig{Capacity: n, FPR: 0.01, Span: span, Generations: generations})
	before := used()
	var took time.Duration
	new := 0
	start := time.Now()
	for i, batch := range batches {
		time.Sleep(time.Until(start.Add(span * time.Duration(i) / time.Duration(len(batches)))))
		from := time.Now()
		added, err := w.AddBatch(ctx, sums(batch))
		took += time.Since(from)
		require.NoError(t, err)
		for _, yes := range added {
			if yes {
				new++
			}
		}
	}
	t.Logf("Window: %d bytes, %v a key, %.4f reported as seen, %d strings", used()-before, took/n, 1-float64(new)/n, len(dump(client))-1)

	require.NoError(t, client.FlushAll(ctx).Err())
	before = used()
	start = time.Now()
	for _, batch := range batches {
		require.NoError(t, setNX(client, batch, time.Hour))
	}
	t.Logf("SET NX EX: %d bytes, %v a key", used()-before, time.Since(start)/n)
}
