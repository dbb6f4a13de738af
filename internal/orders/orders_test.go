package orders

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOrders: each order is run that needs so many preemptions. Of two threads of two points each,
// 2 orders need none, 4 need at most one, and all 6 need at most two. Where threads end is a point,
// too, so that some are run several times.
func TestOrders(t *testing.T) {
	for bound, want := range []int{2, 4, 6, 6} {
		seen := map[string]bool{}
		r := Explore(bound, time.Hour, func() (func() error, []func()) {
			var x Int64
			order := ""
			thread := func(name string) func() {
				return func() {
					x.Load()
					order += name
					x.Load()
					order += name
				}
			}
			check := func() error {
				seen[order] = true
				return nil
			}
			return check, []func(){thread("a"), thread("b")}
		})
		require.NoError(t, r.Failure)
		require.False(t, r.Stopped)
		require.Len(t, seen, want, "%d preemptions", bound)
		require.LessOrEqual(t, r.Orders, 18, "%d preemptions", bound)
	}
}

// TestFailures: a failure comes with its order, which fails again.
func TestFailures(t *testing.T) {
	counter := func() (func() error, []func()) {
		var x Int64
		add := func() { x.Store(x.Load() + 1) }
		check := func() error {
			if n := x.Load(); n != 2 {
				return fmt.Errorf("%d", n)
			}
			return nil
		}
		return check, []func(){add, add}
	}
	require.NoError(t, Explore(0, time.Hour, counter).Failure, "one after the other")
	r := Explore(1, time.Hour, counter)
	require.EqualError(t, r.Failure, "1")
	require.Len(t, r.Trace, 4)

	deadlock := func() (func() error, []func()) {
		var a, b Mutex
		both := func(x, y *Mutex) func() {
			return func() {
				x.Lock()
				y.Lock()
				Point()
				y.Unlock()
				x.Unlock()
			}
		}
		return func() error { return nil }, []func(){both(&a, &b), both(&b, &a)}
	}
	require.NoError(t, Explore(0, time.Hour, deadlock).Failure)
	require.ErrorContains(t, Explore(1, time.Hour, deadlock).Failure, "deadlock")

	panics := func() (func() error, []func()) {
		return func() error { return nil }, []func(){func() { panic("here") }}
	}
	require.ErrorContains(t, Explore(0, time.Hour, panics).Failure, "here")

	runs := 0
	random := func() (func() error, []func()) {
		return func() error {
			runs++
			if runs == 1 {
				return errors.New("once")
			}
			return nil
		}, []func(){Point}
	}
	require.ErrorContains(t, Explore(0, time.Hour, random).Failure, "not deterministic")

	endless := func() (func() error, []func()) {
		return func() error { return nil }, []func(){func() {
			for {
				Point()
			}
		}}
	}
	require.ErrorContains(t, Explore(0, time.Hour, endless).Failure, "no end")
}

// TestWaiting: locks, channels, timers and goroutines keep their promise in every order.
func TestWaiting(t *testing.T) {
	r := Explore(2, time.Hour, func() (func() error, []func()) {
		var m Mutex
		var rw RWMutex
		var once Once
		var fired Bool
		c, tokens, ended := make(chan int, 1), make(chan struct{}, 1), make(chan struct{})
		inside, calls, sum := 0, 0, 0
		var failure error
		return func() error {
				if calls != 1 || sum != 7 || !fired.Load() || len(tokens) != 0 {
					return fmt.Errorf("%d calls, sum %d", calls, sum)
				}
				return failure
			}, []func(){
				func() {
					m.Lock()
					inside++
					Point()
					if inside != 1 {
						failure = errors.New("two threads have the lock")
					}
					inside--
					m.Unlock()
					once.Do(func() { calls++ })
					AfterFunc(0, func() { fired.Store(true) })
					Go(func() { c <- 7 })
					Close(ended)
				},
				func() {
					for !m.TryLock() {
						Select(Receives(ended))
					}
					inside++
					Point()
					if inside != 1 {
						failure = errors.New("two threads have the lock")
					}
					inside--
					m.Unlock()
					once.Do(func() { calls++ })
					rw.RLock()
					sum += Recv(c)
					rw.RUnlock()
					if Select(Sends(tokens, struct{}{}), Receives(ended)) == 0 {
						Recv(tokens)
					}
				},
			}
	})
	require.NoError(t, r.Failure, "%v", r.Trace)
}
