package bloomredis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// taker returns a function that returns so many new keys.
func taker() func(n int) []bloom.Hash {
	next := uint64(0)
	return func(n int) []bloom.Hash {
		next += uint64(n)
		return hashes(next-uint64(n), next)
	}
}

// New keys, found keys and absent keys, alone and by the thousand; a filter that is half
// full after a million of the first. Against a server that does not wait for the disk.
func BenchmarkFilter(b *testing.B) {
	f := openFilter(b, startServer(b, "--appendonly", "no").client(), 1_000_000, 0.01)
	take := taker()
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("op=add/keys=%d", n), func(b *testing.B) {
			for b.Loop() {
				mustAdd(b, f, take(n)...)
			}
		})
		for _, found := range []string{"yes", "no"} {
			b.Run(fmt.Sprintf("op=contains/keys=%d/found=%s", n, found), func(b *testing.B) {
				hs := take(n)
				if found == "yes" {
					mustAdd(b, f, hs...)
				}
				for b.Loop() {
					_, err := containsBatch(ctx, f, hs)
					require.NoError(b, err)
				}
			})
		}
	}
}

// New keys, alone and in batches, into a window.
func BenchmarkWindow(b *testing.B) {
	client := startServer(b, "--appendonly", "no").client()
	take := taker()
	for _, p := range []float64{1e-2, 1e-9} {
		for _, generations := range []int{7, 15} {
			require.NoError(b, client.FlushAll(ctx).Err())
			w := openWindow(b, client, WindowConfig{N: 1_000_000, P: p, Span: time.Hour, Generations: generations})
			for _, n := range []int{1, 256} {
				name := fmt.Sprintf("/keys=%d/p=%v/generations=%d", n, p, generations)
				b.Run("op=add"+name, func(b *testing.B) {
					for b.Loop() {
						_, err := addBatch(ctx, w, take(n))
						require.NoError(b, err)
					}
				})
				b.Run("op=contains"+name, func(b *testing.B) {
					for b.Loop() {
						_, err := containsBatch(ctx, w, take(n))
						require.NoError(b, err)
					}
				})
			}
		}
	}
}

func setNX(client *redis.Client, hs []bloom.Hash) error {
	pipe := client.Pipeline()
	for _, h := range hs {
		h1, _ := h.Words()
		pipe.SetNX(ctx, fmt.Sprintf("visit:%016x", h1), 1, time.Hour)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// A million new keys in batches of 250, evenly over the Span of a window of that N,
// and as keys of Redis: the server's processor time, and its memory. Run it
// with -benchtime=1x.
func BenchmarkMillion(b *testing.B) {
	if testing.Short() {
		b.Skip("it takes minutes")
	}
	const n = 1_000_000
	client := startServer(b, "--appendonly", "no").client()
	info := func(names ...string) (sum float64) {
		for _, line := range strings.Split(client.Info(ctx, "memory", "cpu").Val(), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			if x, err := strconv.ParseFloat(value, 64); err == nil && slices.Contains(names, name) {
				sum += x
			}
		}
		return sum
	}
	set := setClock(b, client)
	run := func(name string, add func(i int, hs []bloom.Hash) error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, client.FlushAll(ctx).Err())
				memory, time := info("used_memory"), info("used_cpu_user", "used_cpu_sys")
				for i := uint64(0); i < n; i += 250 {
					require.NoError(b, add(int(i), hashes(i, i+250)))
				}
				b.ReportMetric((info("used_memory")-memory)/n, "B/key")
				b.ReportMetric(1e6*(info("used_cpu_user", "used_cpu_sys")-time)/n, "server-us/key")
			}
		})
	}
	for _, p := range []float64{1e-2, 1e-9} {
		var w *Window
		run(fmt.Sprintf("by=Window/p=%v", p), func(i int, hs []bloom.Hash) error {
			set(1000*time.Hour + time.Duration(i)*time.Hour/n)
			if i == 0 {
				w = openWindow(b, client, WindowConfig{N: n, P: p, Span: time.Hour})
			}
			_, err := addBatch(ctx, w, hs)
			return err
		})
	}
	run("by=SETNX", func(_ int, hs []bloom.Hash) error { return setNX(client, hs) })
}
