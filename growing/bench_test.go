package growing

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// BenchmarkGrowth fills a filter for an unknown number of keys, in batches. It reports the price of
// the last tenth of the keys, the memory, and how many layers a new key asks. Run it with
// -benchtime 1x.
func BenchmarkGrowth(b *testing.B) {
	for _, n := range []int{1e5, 1e6, 1e7} {
		b.Run(fmt.Sprintf("n=%.0e", float64(n)), func(b *testing.B) {
			const size = 8192
			var f *Filter
			var last time.Duration
			for b.Loop() {
				f = bloom.Must(New(0, 0.01))
				last = 0
				for done := 0; done < n; done += size {
					hs := filtertest.Digests(uint64(done), min(size, n-done))
					began := time.Now()
					f.AddBatch(nil, hs)
					if done >= n/10*9 {
						last += time.Since(began)
					}
				}
			}
			b.ReportMetric(float64(last.Nanoseconds())/float64(n/10), "ns/key")
			b.ReportMetric(float64(f.SizeBytes())*8/float64(n), "bits/key")
			layers := 0
			for i := range f.shards {
				layers += len(f.shards[i].list())
			}
			b.ReportMetric(float64(layers)/shards, "layers")
		})
	}
}
