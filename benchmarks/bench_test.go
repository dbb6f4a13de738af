package main

import (
	"fmt"
	"sync"
	"testing"
)

// Benchmark measures the Go rows, the loop included: each iteration is a pass
// over n keys, reported per key. With -short, n is 1e4 only.
func Benchmark(b *testing.B) {
	sizes := []int{1e4, 1e5, 1e7}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, n := range sizes {
		for _, k := range kinds {
			for _, p := range []float64{1e-2, 1e-4, 1e-6} {
				work := sync.OnceValue(func() workload { return newWorkload(k, n, p, n) })
				for _, lib := range libraries {
					if p != rate && (lib.fixed || k.width != 8) {
						continue
					}
					for op, name := range opNames {
						b.Run(fmt.Sprintf("lib=%s/op=%s/n=%s/p=%g/key=%s", lib.name, name, short(n), p, k.name), func(b *testing.B) {
							f := lib.make(n, p)
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
}

// BenchmarkShared lets goroutines share a filter.
func BenchmarkShared(b *testing.B) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	w := newWorkload(kinds[0], n, rate, n)
	for _, s := range sharers {
		for _, g := range goroutines() {
			for op, name := range opNames {
				b.Run(fmt.Sprintf("lib=%s/op=%s/n=%s/goroutines=%d", s.name, name, short(n), g), func(b *testing.B) {
					benchmark(b, parallel(s.make(n, rate), g), op, w)
				})
			}
		}
	}
}

// BenchmarkBuilt looks up keys that were just put together, the building included, and
// the same keys when they lie ready.
func BenchmarkBuilt(b *testing.B) {
	const n = 10_000
	for _, r := range recipes {
		for _, f := range makeAsked(n) {
			stored := make([][]byte, n)
			for id := range stored {
				stored[id] = r.build(nil, uint64(id))
				f.add(stored[id])
			}
			buf := make([]byte, 0, 64)
			run := func(name string, key func(id int) []byte) {
				b.Run(fmt.Sprintf("lib=%s/key=%s/made=%s", f.name, r.name, name), func(b *testing.B) {
					for id := 0; b.Loop(); id++ {
						if !f.contains(key(id % n)) {
							b.Fatal("not found")
						}
					}
				})
			}
			run("before", func(id int) []byte { return stored[id] })
			run("now", func(id int) []byte { return r.build(buf, uint64(id)) })
		}
	}
}

func benchmark(b *testing.B, f filter, op int, w workload) {
	perPass := w.window
	if op == add {
		perPass = w.n
	} else {
		f.add(w.added)
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
		b.ReportMetric(float64(f.bits)/float64(w.n), "bits/key")
	}
}
