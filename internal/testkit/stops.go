package testkit

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Stops stops all goroutines, as a garbage collection does, while call is at work, and
// looks after each stop how far it is. If call cannot be interrupted, a stop that begins
// while it is at work ends after it: then no two stops of one call find it half done.
// It calls prepare before each call. As half reads what call writes, it is nothing for
// the race detector.
func Stops(t *testing.T, prepare, call func(), half func() bool) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	var calling, done atomic.Bool
	var halves atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !done.Load() {
			runtime.ReadMemStats(new(runtime.MemStats))
			if calling.Load() && half() {
				halves.Add(1)
			}
		}
	}()
	most := int64(0)
	for try := 0; try < 200 && most < 3; try++ {
		prepare()
		halves.Store(0)
		calling.Store(true)
		call()
		calling.Store(false)
		most = max(most, halves.Load())
	}
	done.Store(true)
	<-ended
	require.GreaterOrEqual(t, most, int64(3))
}
