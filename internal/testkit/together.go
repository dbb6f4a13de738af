package testkit

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Together runs all functions from one start.
func Together(functions ...func()) {
	var ready atomic.Int32
	var done sync.WaitGroup
	for _, do := range functions {
		done.Add(1)
		go func() {
			defer done.Done()
			for ready.Add(1); int(ready.Load()) < len(functions); {
				runtime.Gosched()
			}
			do()
		}()
	}
	done.Wait()
}

// AtOnce runs do n times from one start, with the numbers from 0 on.
func AtOnce(n int, do func(i int)) {
	functions := make([]func(), n)
	for i := range functions {
		functions[i] = func() { do(i) }
	}
	Together(functions...)
}
