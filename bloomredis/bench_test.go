package bloomredis

import (
	"encoding/binary"
	"strings"
	"testing"

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
	sums := func(keys [][]byte) []bloom.Hash {
		hs := make([]bloom.Hash, len(keys))
		for i, key := range keys {
			hs[i] = bloom.Sum(key)
		}
		return hs
	}

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
			func(keys [][]byte) error { _, err := f.AddBatch(ctx, sums(keys)); return err },
			func(keys [][]byte) error { _, err := f.ContainsBatch(ctx, sums(keys)); return err }},
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
