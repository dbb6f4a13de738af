package counting

import (
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestHundredMillion fills a filter with the 1e8 keys that it was made for, and prints
// CPU times, memory and full counters. It takes two minutes, 700 MB of memory, and
// BLOOM_BILLION=1 in the environment.
func TestHundredMillion(t *testing.T) {
	if os.Getenv("BLOOM_BILLION") == "" {
		t.Skip("BLOOM_BILLION is not set")
	}
	const n, some = 100_000_000, 2_000_000
	f := bloom.Must(New(n, 0.01))
	timed := func(what string, n uint64, do func(i uint64)) {
		start := testkit.CPUTime()
		for i := range n {
			do(i)
		}
		t.Logf("%s: %.0f ns", what, float64((testkit.CPUTime()-start).Nanoseconds())/float64(n))
	}
	timed("add", n, func(i uint64) { f.AddHash(bloom.SumUint64(i)) })
	// Keys in another order than they were added in.
	timed("contains, present", some, func(i uint64) {
		if !f.ContainsHash(bloom.SumUint64(i * 48271 % n)) {
			t.Fatal("a key is missing")
		}
	})
	found := 0.0
	timed("contains, absent", some, func(i uint64) {
		if f.ContainsHash(bloom.SumUint64(n + i)) {
			found++
		}
	})
	t.Logf("rate %.5f, FPR %.5f, ApproxCount %d, fill %.4f", found/some, f.FPR(), f.ApproxCount(), f.FillRatio())
	require.InDelta(t, some*f.FPR(), found, 5*math.Sqrt(some*f.FPR()))

	var counts [full + 1]uint64
	for _, w := range f.counters.words {
		for i := 0; i < 64; i += 4 {
			counts[w>>i&full]++
		}
	}
	t.Logf("counters at 0 to 15: %d", counts)

	start := testkit.CPUTime()
	g := f.Filter()
	took := testkit.CPUTime() - start
	t.Logf("Filter: %v, %.1f GB/s of counters", took, float64(f.SizeBytes())/float64(took.Nanoseconds()))
	require.Equal(t, f.ApproxCount(), g.ApproxCount())

	timed("remove", some, func(i uint64) {
		if !f.RemoveHash(bloom.SumUint64(i * 48271 % n)) {
			t.Fatal("a key is missing")
		}
	})
	timed("add again", some, func(i uint64) { f.AddHash(bloom.SumUint64(i * 48271 % n)) })
	require.True(t, f.Filter().Equal(g))
	timed("remove, never added", some, func(i uint64) { f.RemoveHash(bloom.SumUint64(2*n + i)) })

	timed("bloom.Filter contains, present", some, func(i uint64) { g.ContainsHash(bloom.SumUint64(i * 48271 % n)) })
	timed("bloom.Filter contains, absent", some, func(i uint64) { g.ContainsHash(bloom.SumUint64(n + i)) })
	timed("bloom.Filter add", some, func(i uint64) { g.AddHash(bloom.SumUint64(2*n + i)) })
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	t.Logf("%d bytes, %.1f bits a key; %d from the system", f.SizeBytes(), 8*float64(f.SizeBytes())/n, memory.Sys)
}
