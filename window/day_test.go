package window

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestDay has a day and a half of events pass, 10,000 a second, of which one in ten
// repeats an id of the last day. It prints what they took, a quarter of a day at a
// time, beside a SyncFilter. It takes
// BLOOM_BILLION=1 in the environment, 2 GB and many minutes; 0.1 takes a tenth of
// the ids, and of both.
func TestDay(t *testing.T) {
	scale, err := strconv.ParseFloat(os.Getenv("BLOOM_BILLION"), 64)
	if err != nil {
		t.Skip("BLOOM_BILLION is not set")
	}
	day := uint64(864e6 * scale) // ids
	const span, quarters = 24 * time.Hour, 6
	var hand testkit.Clock
	f := bloom.Must(New(Config{Capacity: day, FPR: 0.01, Span: span, Generations: 31, Now: hand.Now}))
	t.Logf("%d ids a day, %.3f GB", day, float64(f.SizeBytes())/1e9)

	random := func(i uint64) uint64 { h1, _ := bloom.SumUint64(^i).Words(); return h1 }
	repeats := func(i uint64) bool { return i > day/100 && random(i)%10 == 0 }
	for q := range uint64(quarters) {
		var events, again, missed, dropped uint64
		start := time.Now()
		for i := q * day / 4; i < (q+1)*day/4; i++ {
			if i%1024 == 0 {
				hand.Advance(time.Duration(float64(span)*float64(i)/float64(day)) - hand.Elapsed())
			}
			events++
			if !repeats(i) {
				if !f.AddHash(bloom.SumUint64(i)) {
					dropped++
				}
				continue
			}
			// An id of the last day, less the 1024 ids that the clock may be behind.
			j := i - 1 - random(i)/10%(min(i, day)-2048)
			for repeats(j) {
				j++
			}
			again++
			if j < i && f.AddHash(bloom.SumUint64(j)) {
				missed++
			}
		}
		took := time.Since(start)
		start = time.Now()
		const probes = 1 << 20
		for i := range uint64(probes) {
			f.ContainsHash(bloom.SumUint64(1<<60 + i))
		}
		lookup := time.Since(start)
		debug.FreeOSMemory()
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.Logf("hours %2d to %2d: %.2f million ids/s (%.0f ns an Add, %.0f a Contains of an absent id), %d repeats, %d missed, %.4f %% of new ids dropped, FPR says %.4f %%, %.2f GB from the system",
			6*q, 6*q+6, float64(events)/took.Seconds()/1e6, float64(took.Nanoseconds())/float64(events),
			float64(lookup.Nanoseconds())/probes, again, missed, 100*float64(dropped)/float64(events-again), 100*f.FPR(), float64(mem.Sys-mem.HeapReleased)/1e9)
		require.Zero(t, missed)
		require.LessOrEqual(t, float64(dropped), testkit.RateBound(int(events-again), 0.01))
	}

	// The same for batches, and for a SyncFilter of as many ids, a quarter full.
	perKey := func(n uint64, do func(uint64)) float64 {
		start := time.Now()
		for i := range n {
			do(i)
		}
		return float64(time.Since(start).Nanoseconds()) / float64(n)
	}
	hs := make([]bloom.Hash, 0, 256)
	batched := func(do func()) func(uint64) {
		return func(i uint64) {
			if hs = append(hs, bloom.SumUint64(1<<61+i)); len(hs) == cap(hs) {
				do()
				hs = hs[:0]
			}
		}
	}
	dst := make([]bool, 0, 256)
	t.Logf("in batches: %.0f ns an Add, %.0f a Contains of an absent id",
		perKey(1<<20, batched(func() { f.AddBatch(nil, hs) })), perKey(1<<20, batched(func() { f.ContainsBatch(dst, hs) })))
	s := bloom.Must(bloom.NewSync(day, 0.01))
	t.Logf("a SyncFilter: %.0f ns an Add, %.0f a Contains of an absent id; in batches %.0f and %.0f",
		perKey(day/4, func(i uint64) { s.AddHash(bloom.SumUint64(i)) }),
		perKey(1<<20, func(i uint64) { s.ContainsHash(bloom.SumUint64(1<<60 + i)) }),
		perKey(1<<20, batched(func() { s.AddBatch(nil, hs) })), perKey(1<<20, batched(func() { s.ContainsBatch(dst, hs) })))
}
