//go:build unix

package window

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestKilled kills processes that add keys and save now and then. The next process finds the keys
// of the last save, and continues from there. The rate is kept.
func TestKilled(t *testing.T) {
	const n, child = 2000, "BLOOM_TEST_KILLED"
	if testing.Short() || filtertest.Race {
		t.Skip("one goroutine in each process")
	}
	checked := 0
	for i, pattern := range patterns(n, 7) {
		config := Config{N: n, P: 1e-9, Span: day}
		if i%2 == 0 {
			config.P, config.Renew = 1e-2, true
		}
		// load also returns the number of keys that had been added when the window was saved.
		load := func(path string, clock *filtertest.Clock) (f *Filter, saved int) {
			config.Now = clock.Now
			f = bloom.Must(LoadOrNew(path, config))
			saved, _ = strconv.Atoi(f.Info().Comment)
			return f, saved
		}
		var times []time.Duration
		var keys []uint64
		for at, key := range pattern.keys {
			times, keys = append(times, at), append(keys, key)
		}
		if path := os.Getenv(child); path != "" {
			if filepath.Base(path) == strconv.Itoa(i) {
				var clock filtertest.Clock
				f, saved := load(path, &clock)
				fmt.Println(saved)
				for count := saved + 1; count <= len(keys); count++ {
					clock.Advance(times[count-1] - clock.Elapsed())
					f.AddHash(bloom.SumUint64(keys[count-1]))
					if count%(n/4) == 0 {
						f.UpdateInfo(func(i *bloom.Info) { i.Comment = strconv.Itoa(count) })
						require.NoError(t, f.SaveFile(path))
						fmt.Println(count)
					}
				}
				os.Stdout.Close()
				time.Sleep(time.Minute)
			}
			continue
		}
		if pattern.jumps {
			continue
		}
		path := filepath.Join(t.TempDir(), strconv.Itoa(i))
		for range 2 {
			cmd := filtertest.Child(t, "TestKilled", child+"="+path)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines, reported, saves := bufio.NewScanner(out), 0, -1
			last := rand.IntN(8) // however fast the machine is
			for lines.Scan() {
				reported, err = strconv.Atoi(lines.Text())
				require.NoError(t, err)
				if saves++; saves == last {
					time.AfterFunc(rand.N(10*time.Millisecond), func() { cmd.Process.Kill() })
				}
			}
			cmd.Process.Kill() // unless it is dead
			require.Error(t, cmd.Wait())
			require.GreaterOrEqual(t, saves, 0)

			var clock filtertest.Clock
			f, saved := load(path, &clock)
			require.GreaterOrEqual(t, saved, reported)
			if saved == 0 {
				continue
			}
			clock.Advance(times[saved-1])
			added := map[uint64]int{}
			for i, key := range keys[:saved] {
				if _, known := added[key]; config.Renew || !known {
					added[key] = i
				}
			}
			for key, i := range added {
				if clock.Elapsed()-times[i] <= day && saved-i <= n {
					require.True(t, f.ContainsHash(bloom.SumUint64(key)), "%s: key %d is lost", pattern.name, key)
					checked++
				}
			}
			// The moment differs from run to run, so the bound is one that no run exceeds by chance.
			others := filtertest.Digests(99, 100_000)
			mean := float64(len(others)) * config.P
			most := mean + 7*math.Sqrt(mean) + 3
			require.LessOrEqual(t, float64(filtertest.Count(filtertest.Found(f, others))), most,
				pattern.name)
		}
	}
	require.True(t, checked > 1000 || os.Getenv(child) != "")
}
