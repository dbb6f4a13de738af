package testkit

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Billion fills a filter with 1e9 keys, for which it was made, and prints
// time, memory, rate and estimate. It takes minutes, up to 2 GB of memory, and
// BLOOM_BILLION=1 in the environment.
func Billion[H any](t *testing.T, sum func(uint64) H, set Stat[H]) {
	if os.Getenv("BLOOM_BILLION") == "" {
		t.Skip("BLOOM_BILLION is not set")
	}
	const n, p, probes, chunk = 1_000_000_000, 0.01, 10_000_000, 10_000
	s := set.Make(n, p).(interface {
		StatSet[H]
		M() uint64
		AddBatch([]bool, []H) []bool
		ContainsBatch([]bool, []H) []bool
		ApproxCount() uint64
	})
	hs := make([]H, chunk)
	dst := make([]bool, 0, chunk)
	start := time.Now()
	for i := uint64(0); i < n; i += chunk {
		for j := range hs {
			hs[j] = sum(i + uint64(j))
		}
		s.AddBatch(dst[:0], hs)
	}
	adding := time.Since(start)

	// search looks up probes keys from first on, at such a distance.
	search := func(first, distance uint64) (found int, took time.Duration) {
		start := time.Now()
		for i := uint64(0); i < probes; i += chunk {
			for j := range hs {
				hs[j] = sum(first + distance*(i+uint64(j)))
			}
			for _, yes := range s.ContainsBatch(dst, hs) {
				if yes {
					found++
				}
			}
		}
		return found, time.Since(start)
	}
	present, hitTime := search(0, n/probes)
	absent, missTime := search(n, 1)
	count := s.ApproxCount()
	debug.FreeOSMemory()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("%s, n = %d, p = %v: %.2f GB of bits, %.2f GB from the system", set.Name, uint64(n), p, float64(s.M())/8e9, float64(mem.Sys-mem.HeapReleased)/1e9)
	t.Logf("AddBatch %.1f ns a key, %v in all; ContainsBatch %.1f ns present, %.1f ns absent; hashing included",
		float64(adding.Nanoseconds())/n, adding.Round(time.Second), float64(hitTime.Nanoseconds())/probes, float64(missTime.Nanoseconds())/probes)
	t.Logf("false positives %.4f %%, FPR says %.4f %%; ApproxCount %d, off by %+.5f %%",
		100*float64(absent)/probes, 100*s.FPR(), count, 100*(float64(count)/n-1))
	require.Equal(t, probes, present)
	want := probes * s.FPR()
	require.InDelta(t, want, absent, StatZ*math.Sqrt(want))
	bias, sigma := set.Count(s, n)
	require.InDelta(t, n+bias, count, 1+StatZ*sigma)
}
