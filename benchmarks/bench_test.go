package main

import (
	"fmt"
	"sync"
	"testing"
)

// Benchmark measures the Go rows, the loop included: each iteration is a pass
// over n keys, reported per key. With -short, n = 1e7 is left out.
func Benchmark(b *testing.B) {
	sizes := []int{1e4, 1e5, 1e7}
	if testing.Short() {
		sizes = sizes[:2]
	}
	for _, n := range sizes {
		for _, k := range kinds {
			work := sync.OnceValue(func() workload { return newWorkload(k, n) })
			for _, lib := range libraries {
				for op, name := range opNames {
					b.Run(fmt.Sprintf("lib=%s/op=%s/n=%s/key=%s", lib.name, name, power(n), k.name), func(b *testing.B) {
						f := lib.make(n)
						if op != add && f.count == nil {
							b.Skip("as another row")
						}
						benchmark(b, f, op, work())
					})
				}
			}
		}
	}
}

func benchmark(b *testing.B, f filter, op int, w workload) {
	r := f.describe("", w)
	perPass := w.window
	if op == add {
		perPass = w.n
	}
	for pass := 0; b.Loop(); pass++ {
		if op == add {
			b.StopTimer()
			f.reset()
			b.StartTimer()
			f.add(w.added)
		} else {
			f.count(w.lookups(op, 0, pass))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(perPass), "ns/key")
	if f.bits > 0 {
		b.ReportMetric(r.bitsPerKey, "bits/key")
		if op == absent {
			b.ReportMetric(100*r.rate, "%false")
		}
	}
}
