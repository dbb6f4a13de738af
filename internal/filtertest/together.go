package filtertest

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Together runs all functions concurrently. They start at the same time.
func Together(functions ...func()) { AtOnce(len(functions), func(i int) { functions[i]() }) }

// AtOnce runs f(0) to f(n-1) concurrently. The calls start at the same time.
func AtOnce(n int, f func(i int)) {
	var ready atomic.Int32
	var done sync.WaitGroup
	for i := range n {
		done.Add(1)
		go func() {
			defer done.Done()
			for ready.Add(1); int(ready.Load()) < n; {
				runtime.Gosched()
			}
			f(i)
		}()
	}
	done.Wait()
}

// Waits reports whether f waits while lock is held. If should is true, f is expected to wait, so
// Waits gives it 25 ms to return, and otherwise a minute.
func Waits(lock sync.Locker, should bool, f func()) (waited bool) {
	patience := time.Minute
	if should {
		patience = 25 * time.Millisecond
	}
	done := make(chan struct{})
	lock.Lock()
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		waited = true
	}
	lock.Unlock()
	<-done
	return waited
}

// Becomes waits until condition returns true, and reports whether it did within a minute. If not,
// the test fails with a message that ends with the string what.
func Becomes(t testing.TB, what string, condition func() bool) bool {
	t.Helper()
	for began := time.Now(); !condition(); runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Errorf("within a minute: %s", what)
			return false
		}
	}
	return true
}

// Receive returns the next value from c, or the zero value once c is closed. If there is neither
// within a minute, the test fails and ends, with a message that ends with the string what. Call
// Receive only from the test's own goroutine.
func Receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(time.Minute):
		t.Fatalf("within a minute: %s", what)
	}
	return v
}

// Wait waits for group, as Receive waits for a channel.
func Wait(t testing.TB, what string, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		group.Wait()
	}()
	Receive(t, what, done)
}

// Minute returns a context that ends after a minute, or with the test. A test that waits for
// something that never happens then fails instead of running forever.
func Minute(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// EndsInWait returns a context that is cancelled when code begins to wait for it. Its Done method
// cancels it, and calls the given function unless that is nil.
func EndsInWait(t testing.TB, then func()) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	return endsInWait{ctx, cancel, then}
}

type endsInWait struct {
	context.Context
	cancel, then func()
}

func (c endsInWait) Done() <-chan struct{} {
	c.cancel()
	if c.then != nil {
		c.then()
	}
	return c.Context.Done()
}
