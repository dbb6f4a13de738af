package window

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// BenchmarkFilter adds new keys, adds them again, and looks up absent keys, with N keys in a Span.
func BenchmarkFilter(b *testing.B) {
	for _, c := range []Config{
		{N: 1e4, P: 0.01}, {N: 1e5, P: 1e-6}, {N: 7e7, P: 0.01}, {N: 2.5e7, P: 1e-9},
	} {
		if testing.Short() && c.N > 1e6 {
			continue
		}
		c.Span = 24 * time.Hour
		f := bloom.Must(New(c))
		hs, answers, key := make([]bloom.Hash, 256), make([]bool, 256), uint64(0)
		next := func() {
			for i := range hs {
				hs[i] = bloom.SumUint64(key)
				key++
			}
		}
		for key < c.N {
			next()
			f.AddBatch(nil, hs)
		}
		each := func(do func(bloom.Hash) bool) {
			for _, h := range hs {
				do(h)
			}
		}
		for _, op := range []struct {
			name string
			do   func()
		}{
			{"add/batch=1", func() { next(); each(f.AddHash) }},
			{"add/batch=256", func() { next(); f.AddBatch(answers, hs) }},
			{"repeat/batch=1", func() { each(f.AddHash) }},
			{"absent/batch=1", func() { next(); each(f.ContainsHash) }},
			{"absent/batch=256", func() { next(); f.ContainsBatch(answers, hs) }},
		} {
			b.Run(fmt.Sprintf("n=%.0e/p=%v/op=%s", float64(c.N), c.P, op.name), func(b *testing.B) {
				for b.Loop() {
					op.do()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(hs)), "ns/key")
			})
		}
	}
}

// BenchmarkDay has two days of N keys each. As on a real day, the traffic goes from 0.3 to 1.7
// times the mean. It reports the time of a key, the slowest batch of 256, the share of refused keys
// divided by P, and the least Reach in Spans. The largest N is a tenth of 864 million.
func BenchmarkDay(b *testing.B) {
	for _, n := range []uint64{1e5, 8_640_000, 86_400_000} {
		if testing.Short() && n > 1e5 {
			continue
		}
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			const p, day = 1e-3, 24 * time.Hour
			refused, slowest, reach := 0, time.Duration(0), day
			for b.Loop() {
				var clock filtertest.Clock
				f := bloom.Must(New(Config{N: n, P: p, Span: day, Now: clock.Now}))
				hs, added := make([]bloom.Hash, 256), make([]bool, 256)
				now, key := 0.0, uint64(0)
				for key < 2*n {
					for i := range hs {
						hs[i] = bloom.SumUint64(key)
						key++
					}
					now += float64(len(hs)) / float64(n) / (1 - 0.7*math.Cos(2*math.Pi*now)) // in days
					clock.Advance(time.Duration(now*float64(day)) - clock.Elapsed())
					start := time.Now()
					f.AddBatch(added, hs)
					slowest = max(slowest, time.Since(start))
					refused += len(hs) - filtertest.Count(added)
				}
				reach = min(reach, f.Reach())
			}
			keys := 2 * float64(n) * float64(b.N)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/keys, "ns/key")
			b.ReportMetric(float64(slowest.Microseconds()), "slowest-µs")
			b.ReportMetric(float64(refused)/keys/p, "refused/p")
			b.ReportMetric(float64(reach)/float64(day), "reach")
		})
	}
}
