package growing

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestBillion grows a filter to 1e9 keys at 0.1 %, with as many goroutines as there are
// processors, and prints memory, rate and time on the way. It takes minutes, 4 GB of
// memory, and BLOOM_BILLION=1 in the environment, or another number of keys there.
func TestBillion(t *testing.T) {
	n, err := strconv.ParseFloat(os.Getenv("BLOOM_BILLION"), 64)
	if err != nil {
		t.Skip("BLOOM_BILLION is not a number")
	}
	if n <= 1 {
		n = 1e9
	}
	const p, probes = 1e-3, 1_000_000
	f := bloom.Must(New(p))
	goroutines := runtime.GOMAXPROCS(0)
	slowest := make([]time.Duration, goroutines)
	have, began := uint64(0), time.Now()
	for have < uint64(n) {
		next := have + max(100_000, have/2)
		for _, stop := range []uint64{1e5, 1e6, 1e7, 1e8, 5e8, uint64(n)} {
			if have < stop {
				next = min(next, stop)
			}
		}
		var adding sync.WaitGroup
		start := time.Now()
		for g := range goroutines {
			adding.Add(1)
			go func() {
				defer adding.Done()
				const block = 16 // reading the clock takes as long as an Add
				for i := have + uint64(g*block); i < next; i += uint64(goroutines * block) {
					start := time.Now()
					for j := i; j < min(i+block, next); j++ {
						f.AddHash(bloom.SumUint64(j))
					}
					slowest[g] = max(slowest[g], time.Since(start))
				}
			}()
		}
		adding.Wait()
		ns := float64(time.Since(start)) * float64(goroutines) / float64(next-have)
		have = next

		start, found := time.Now(), 0
		for i := range uint64(probes) {
			if f.ContainsHash(bloom.SumUint64(1<<62 + i)) {
				found++
			}
		}
		absent := float64(time.Since(start)) / probes
		for i := range uint64(probes) {
			require.True(t, f.ContainsHash(bloom.SumUint64(i*have/probes)))
		}
		ratio := float64(f.allocated()) / float64(bloom.OptimalM(have, p))
		slow := time.Duration(0)
		for g := range slowest {
			slow = max(slow, slowest[g])
			slowest[g] = 0
		}
		t.Logf("%10d keys: %7.1f MB, %.3f of a classic filter's, %4.1f layers, %.3f p false positives, count off by %+.3f %%, add %4.0f ns, absent %4.0f ns, slowest add < %v",
			have, float64(f.allocated())/8e6, ratio, float64(f.layers())/shards, float64(found)/probes/p, 100*(float64(f.ApproxCount())/float64(have)-1), ns, absent, slow)
		require.LessOrEqual(t, float64(found), testkit.RateBound(probes, p))
		require.InEpsilon(t, have, f.ApproxCount(), 0.01)
		require.LessOrEqual(t, ratio, 2.6)
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%v in all, with look-ups, by %d goroutines; %.0f MB from the system", time.Since(began).Round(time.Second), goroutines, float64(mem.Sys-mem.HeapReleased)/1e6)
}
