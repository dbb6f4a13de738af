package orders

import (
	"reflect"
	"slices"
	"testing"
)

// Point lets another thread continue. Cases call it just before steps that other threads can see.
func Point() {
	if s := now; s != nil {
		s.step(false)
	}
}

// oneStep is the directory that [OneStep] was given.
var oneStep string

// OneStep makes each call into the package in a directory, such as "growing", a single step until
// the test ends.
func OneStep(t *testing.T, directory string) {
	oneStep = directory
	t.Cleanup(func() { oneStep = "" })
}

// Enter marks the beginning of a call into the package in a directory. The returned function marks
// the end of the call.
func Enter(directory string) func() {
	s := now
	if s == nil || directory != oneStep {
		return func() {}
	}
	s.step(false)
	s.quiet++
	return func() { s.quiet-- }
}

// Go stands in for a go statement. In a Setup, it runs f to its end, because the goroutine must not
// take part in the orders.
func Go(f func()) {
	if s := now; s != nil {
		s.start(f)
		s.step(false)
	} else {
		f()
	}
}

// wait is a point, and waits until condition returns true. It does nothing if no order runs.
func wait(condition func() bool) {
	if s := now; s != nil {
		s.step(false)
		s.wait(condition)
	}
}

// Recv stands in for <-c. The channel must have a buffer, unless it is only ever closed.
func Recv[T any](c <-chan T) T {
	wait(func() bool { return len(c) > 0 || isClosed(c) })
	return <-c
}

// Close stands in for close(c).
func Close[T any](c chan T) {
	Point()
	close(c)
}

// Arm is a case of a select statement.
type Arm struct {
	ready func() bool
	arm   reflect.SelectCase
}

// Sends returns the Arm for "case c <- v".
func Sends[T any](c chan<- T, v T) Arm {
	return Arm{
		func() bool { return len(c) < cap(c) },
		reflect.SelectCase{Dir: reflect.SelectSend, Chan: reflect.ValueOf(c), Send: reflect.ValueOf(v)},
	}
}

// Receives returns the Arm for "case <-c".
func Receives[T any](c <-chan T) Arm {
	return Arm{
		func() bool { return len(c) > 0 || isClosed(c) },
		reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)},
	}
}

// Select stands in for a select statement, and returns the index of the chosen arm. If several arms
// are ready, it chooses the first, not a random one.
func Select(arms ...Arm) int {
	first := func() int { return slices.IndexFunc(arms, func(a Arm) bool { return a.ready() }) }
	wait(func() bool { return first() >= 0 })
	cases := make([]reflect.SelectCase, len(arms))
	for i, a := range arms {
		cases[i] = a.arm
	}
	if i := first(); i >= 0 {
		reflect.Select(cases[i : i+1])
		return i
	}
	chosen, _, _ := reflect.Select(cases) // no order runs
	return chosen
}

func isClosed[T any](c <-chan T) bool {
	if len(c) > 0 {
		return false
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}
