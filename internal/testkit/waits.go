package testkit

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Waits requires that each of calls waits for a lock while another goroutine has it.
func Waits(t *testing.T, lock sync.Locker, calls map[string]func()) {
	t.Helper()
	for name, call := range calls {
		var done atomic.Bool
		ended := make(chan struct{})
		lock.Lock()
		go func() {
			defer close(ended)
			call()
			done.Store(true)
		}()
		waits := WaitFor("testkit.Waits.func1", 1, done.Load)
		lock.Unlock()
		<-ended
		require.True(t, waits, "%s does not wait", name)
	}
}

// WaitFor waits until n goroutines wait for a mutex within a function, or until something
// else has come. It reports whether they wait.
func WaitFor(function string, n int, come func() bool) bool {
	waits := func(stack string) bool {
		state, _, _ := strings.Cut(stack, "\n")
		return strings.Contains(state, "Mutex.") && strings.Contains(stack, function+"(")
	}
	for stacks := make([]byte, 1<<20); !come(); runtime.Gosched() {
		all := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
		if all = slices.DeleteFunc(all, func(stack string) bool { return !waits(stack) }); len(all) == n {
			return true
		}
	}
	return false
}
