package orders

import (
	"reflect"
	"slices"
	"testing"
)

// Point is a point without a lock or an atomic. It stands before a step that other threads can see.
func Point() {
	if s := now; s != nil {
		s.step(false)
	}
}

// oneStep is the directory of a package whose calls are one step; see [OneStep].
var oneStep string

// OneStep makes each call of a package, such as "growing", one step until the test ends.
func OneStep(t *testing.T, directory string) {
	oneStep = directory
	t.Cleanup(func() { oneStep = "" })
}

// Enter begins a call of a package, and returns the function that ends it.
func Enter(directory string) func() {
	s := now
	if s == nil || directory != oneStep {
		return func() {}
	}
	s.step(false)
	s.quiet++
	return func() { s.quiet-- }
}

// Go is a go statement. In a setup, the goroutine ends before Go returns, because it must not run
// into the orders.
func Go(f func()) {
	if s := now; s != nil {
		s.start(f)
		s.step(false)
	} else {
		f()
	}
}

// wait is a point, and then waits until the condition is true. It does nothing while no order
// runs.
func wait(condition func() bool) {
	if s := now; s != nil {
		s.step(false)
		s.wait(condition)
	}
}

// Recv is <-c of a channel that has a buffer, or is closed without having had a value.
func Recv[T any](c <-chan T) T {
	wait(func() bool { return len(c) > 0 || isClosed(c) })
	return <-c
}

// Close is close(c).
func Close[T any](c chan T) {
	Point()
	close(c)
}

// Arm is an arm of a select.
type Arm struct {
	ready func() bool
	arm   reflect.SelectCase
}

// Sends is the arm "case c <- v".
func Sends[T any](c chan<- T, v T) Arm {
	return Arm{
		func() bool { return len(c) < cap(c) },
		reflect.SelectCase{Dir: reflect.SelectSend, Chan: reflect.ValueOf(c), Send: reflect.ValueOf(v)},
	}
}

// Receives is the arm "case <-c".
func Receives[T any](c <-chan T) Arm {
	return Arm{
		func() bool { return len(c) > 0 || isClosed(c) },
		reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)},
	}
}

// Select is a select, and returns the number of its arm. If several arms are ready, it takes the
// first, where a select chooses at random.
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
