package testkit

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Stops stops all goroutines, as a garbage collection does, while call is at work, and
// looks after each stop how far it is. If call cannot be interrupted, a stop that begins
// while it is at work ends after it: then no two stops of one call find it half done.
// It calls prepare before each call. As half reads what call writes, it is nothing for
// the race detector.
//
// It does so in a process of its own, which runs t alone and without asynchronous
// preemption: that would interrupt the Go between two calls of assembly, now and then.
func Stops(t *testing.T, prepare, call func(), half func() bool) {
	t.Helper()
	const variable = "BLOOM_TEST_STOPS"
	if os.Getenv(variable) == "" {
		name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
		cmd := exec.Command(os.Args[0], "-test.run="+name, "-test.timeout=10m") // it may outlive its parent
		cmd.Env = append(os.Environ(), variable+"=1", "GODEBUG=asyncpreemptoff=1,"+os.Getenv("GODEBUG"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
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
