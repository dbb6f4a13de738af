package bloomredis

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spaolacci/murmur3"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// method is a way to keep a filter in Redis. Its add and contains take any
// number of keys, in as few round trips as it can.
type method struct {
	name          string
	add, contains func(keys [][]byte) error
}

// methods returns this package beside go-zero's core/bloom, which runs a script
// with a SETBIT or GETBIT for each of 14 offsets, one call a key, and RedisBloom
// if the server has it.
func methods(b *testing.B, client *redis.Client) []method {
	const n, p = 1_000_000, 0.01
	f, err := Open(ctx, client, "bloomredis", n, p)
	require.NoError(b, err)
	set := redis.NewScript(`
for _, offset in ipairs(ARGV) do
	redis.call("setbit", KEYS[1], offset, 1)
end`)
	test := redis.NewScript(`
for _, offset in ipairs(ARGV) do
	if tonumber(redis.call("getbit", KEYS[1], offset)) == 0 then
		return false
	end
end
return true`)
	script := func(s *redis.Script) func(keys [][]byte) error {
		return func(keys [][]byte) error {
			for _, key := range keys {
				offsets := make([]any, 14)
				for i := range offsets {
					offsets[i] = murmur3.Sum64(append(key[:len(key):len(key)], byte(i))) % f.M()
				}
				if err := s.Run(ctx, client, []string{"go-zero"}, offsets...).Err(); err != nil && err != redis.Nil {
					return err
				}
			}
			return nil
		}
	}

	redisBloom := func(one, many string) func(keys [][]byte) error {
		return func(keys [][]byte) error {
			args := []any{one, "redisbloom"}
			if len(keys) > 1 {
				args[0] = many
			}
			for _, key := range keys {
				args = append(args, key)
			}
			return client.Do(ctx, args...).Err()
		}
	}
	all := []method{
		{"bloomredis",
			func(keys [][]byte) error { _, err := f.AddBatch(ctx, nil, bloom.SumBatch(nil, keys)); return err },
			func(keys [][]byte) error { _, err := f.ContainsBatch(ctx, nil, bloom.SumBatch(nil, keys)); return err }},
		{"go-zero", script(set), script(test)},
		{"RedisBloom", redisBloom("BF.ADD", "BF.MADD"), redisBloom("BF.EXISTS", "BF.MEXISTS")},
	}
	if err := client.Do(ctx, "BF.RESERVE", "redisbloom", p, n).Err(); err != nil {
		require.True(b, strings.HasPrefix(err.Error(), "ERR unknown command"), err)
		b.Log("the server does not have RedisBloom")
		all = all[:2]
	}
	return all
}

// New keys, found keys and absent keys, alone and by the thousand; a filter that
// is half full after a million of the first. Against a server that does not wait
// for the disk.
func BenchmarkRedis(b *testing.B) {
	client := startServer(b, "--appendonly", "no").client()
	all := methods(b, client)
	next := uint64(0)
	take := func(n int) [][]byte {
		keys := make([][]byte, n)
		for i := range keys {
			keys[i] = binary.LittleEndian.AppendUint64(nil, next)
			next++
		}
		return keys
	}
	for _, size := range []struct {
		name string
		n    int
	}{{"1", 1}, {"1000", 1000}} {
		for _, m := range all {
			b.Run("op=add/keys="+size.name+"/by="+m.name, func(b *testing.B) {
				for b.Loop() {
					require.NoError(b, m.add(take(size.n)))
				}
			})
			for _, found := range []string{"yes", "no"} {
				b.Run("op=contains/keys="+size.name+"/found="+found+"/by="+m.name, func(b *testing.B) {
					keys := take(size.n)
					if found == "yes" {
						require.NoError(b, m.add(keys))
					}
					for b.Loop() {
						require.NoError(b, m.contains(keys))
					}
				})
			}
		}
	}
}

// New keys, alone and in batches, into a window and as keys of Redis that expire, which
// is the way to do it without a filter.
func BenchmarkWindow(b *testing.B) {
	client := startServer(b, "--appendonly", "no").client()
	next := uint64(0)
	take := func(n int) []bloom.Hash {
		next += uint64(n)
		return hashes(next-uint64(n), next)
	}
	for _, p := range []float64{1e-2, 1e-9} {
		for _, generations := range []int{7, 15, 63} {
			require.NoError(b, client.FlushAll(ctx).Err())
			w := openWindow(b, client, WindowConfig{Capacity: 1_000_000, FPR: p, Span: time.Hour, Generations: generations})
			for _, n := range []int{1, 256} {
				name := fmt.Sprintf("/keys=%d/p=%v/generations=%d", n, p, generations)
				b.Run("op=add"+name, func(b *testing.B) {
					for b.Loop() {
						_, err := w.AddBatch(ctx, nil, take(n))
						require.NoError(b, err)
					}
				})
				b.Run("op=contains"+name, func(b *testing.B) {
					for b.Loop() {
						_, err := w.ContainsBatch(ctx, nil, take(n))
						require.NoError(b, err)
					}
				})
			}
		}
	}
	for _, n := range []int{1, 256} {
		b.Run(fmt.Sprintf("op=setnx/keys=%d", n), func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, setNX(client, take(n)))
			}
		})
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

// A million new keys in batches of 250, evenly over the generations of a window of that
// capacity, and as keys of Redis: the server's processor time, and its memory. Run it
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
			set(1000*time.Hour + time.Duration(i)*15*time.Hour/n)
			if i == 0 {
				w = openWindow(b, client, WindowConfig{Capacity: n, FPR: p, Span: 15 * time.Hour})
			}
			_, err := w.AddBatch(ctx, nil, hs)
			return err
		})
	}
	run("by=SETNX", func(_ int, hs []bloom.Hash) error { return setNX(client, hs) })
}
