package testkit

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Together runs all functions from one start.
func Together(functions ...func()) { AtOnce(len(functions), func(i int) { functions[i]() }) }

// AtOnce runs do n times from one start, with the numbers from 0 on.
func AtOnce(n int, do func(i int)) {
	var ready atomic.Int32
	var done sync.WaitGroup
	for i := range n {
		done.Add(1)
		go func() {
			defer done.Done()
			for ready.Add(1); int(ready.Load()) < n; {
				runtime.Gosched()
			}
			do(i)
		}()
	}
	done.Wait()
}
