package orders

import (
	"fmt"
	"time"
)

// Setup creates the state of a case. It returns the functions to run as threads, and a check to
// call when all have ended.
type Setup func() (check func() error, threads []func())

// Result is the result of [Explore].
type Result struct {
	Orders  int      // number of orders that were run
	Stopped bool     // the time limit passed before all orders were run
	Failure error    // error of the first order that failed, or nil
	Trace   []string // steps of the order that failed
}

// choice is a step at which several threads could continue.
type choice struct{ total, taken int }

// Explore runs a case in every order with at most bound preemptions, depth first. It stops when an
// order fails, or when limit has passed.
func Explore(bound int, limit time.Duration, setup Setup) (r Result) {
	start := time.Now()
	var path []choice
	for {
		s, err := once(path, bound, false, setup)
		r.Orders++
		if err != nil {
			again, second := once(s.path, bound, true, setup)
			r.Failure, r.Trace = err, again.trace
			if second == nil || second.Error() != err.Error() {
				r.Failure = fmt.Errorf(
					"%w; the same order again: %v: the case is not deterministic", err, second)
			}
			return r
		}
		path = nextPath(s.path)
		if path == nil {
			return r
		}
		if time.Since(start) > limit {
			r.Stopped = true
			return r
		}
	}
}

// nextPath returns the beginning of the order that follows path, or nil after the last order.
func nextPath(path []choice) []choice {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].taken+1 < path[i].total {
			path[i].taken++
			return path[:i+1]
		}
	}
	return nil
}

// once runs one order: it follows the choices in path, and then always takes the first choice.
func once(path []choice, bound int, traced bool, setup Setup) (*order, error) {
	check, functions := setup()
	s := &order{path: path, bound: bound, traced: traced, ended: make(chan struct{})}
	for _, f := range functions {
		s.start(f)
	}
	now = s
	s.running = s.choose(len(s.threads)) // any thread may run first
	s.threads[s.running].resume <- struct{}{}
	<-s.ended
	now = nil
	if s.failure != nil {
		return s, s.failure
	}
	return s, check()
}
