package main

import (
	"runtime"
	"sync"
	"time"

	"github.com/seed79a3ff49/bloom"
)

// scaling is how fast goroutines add n keys of 8 bytes to one SyncFilter.
type scaling struct {
	n        int
	one, two float64 // nanoseconds per key, medians
}

// compareGoroutines lets one goroutine add all keys, then two half of them
// each, and so on in turns.
func compareGoroutines() (all []scaling) {
	const rounds = 7
	for _, n := range []int{1e5, 1e7} {
		f := bloom.Must(bloom.NewSync(uint64(n), rate))
		empty := bloom.Must(f.MarshalBinary())
		added := kinds[0].make(0, n)
		passes := max(1, minKeys/n)
		ns := func(goroutines int) float64 {
			var total time.Duration
			for range passes {
				bloom.Must(0, f.UnmarshalBinary(empty))
				var done sync.WaitGroup
				start := time.Now()
				for g := range goroutines {
					from, to := g*n/goroutines, (g+1)*n/goroutines
					done.Add(1)
					go func() {
						defer done.Done()
						addSync(f, added.part(from, to-from))
					}()
				}
				done.Wait()
				total += time.Since(start)
			}
			return float64(total) / float64(passes*n)
		}
		var one, two []float64
		for range rounds {
			runtime.GC()
			one = append(one, ns(1))
			two = append(two, ns(2))
		}
		all = append(all, scaling{n, quantile(one, 0.5), quantile(two, 0.5)})
	}
	return all
}
