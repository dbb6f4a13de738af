package orders

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// now is the running order. While now is nil, nothing is a point, and package sync does the
// locking.
var now *order

type order struct {
	threads []*thread
	running int      // index of the running thread
	path    []choice // the given choices, and then the choices of this run
	made    int      // number of choices made so far
	bound   int      // number of preemptions left
	steps   int
	quiet   int // while this is above 0, only waits are points; see Enter
	ended   chan struct{}
	failure error

	traced bool
	trace  []string
}

// thread is a goroutine of an order. A message on resume lets it run until another thread is
// chosen.
type thread struct {
	resume chan struct{}
	done   bool
	until  func() bool // the condition that the thread waits for, or nil
}

func (t *thread) ready() bool { return !t.done && (t.until == nil || t.until()) }

const mostSteps = 200_000 // an order with more steps counts as endless

func (s *order) start(f func()) {
	t := &thread{resume: make(chan struct{})}
	s.threads = append(s.threads, t)
	go func() {
		<-t.resume
		defer func() {
			if v := recover(); v != nil {
				s.fail(fmt.Errorf("panic: %v", v))
			}
			if s.failure == nil {
				t.done = true
				s.step(true)
			}
		}()
		f()
	}()
}

// After fail, threads that have not ended wait forever.
func (s *order) fail(err error) {
	if s.failure == nil {
		s.failure = err
		close(s.ended)
	}
}

// choose returns a number below n: the next choice in path, or 0 if path has no more or n is 1.
func (s *order) choose(n int) int {
	if n == 1 {
		return 0
	}
	if s.made == len(s.path) {
		s.path = append(s.path, choice{total: n})
	}
	s.made++
	return s.path[s.made-1].taken
}

// step is a point: it lets any thread continue. If stops is true, the running thread has ended or
// waits, so it cannot continue itself.
func (s *order) step(stops bool) {
	if s.quiet > 0 && !stops {
		return
	}
	me := s.running
	s.steps++
	if s.traced && !s.threads[me].done {
		s.note(stops)
	}
	if s.steps > mostSteps {
		s.fail(errors.New("no end"))
		select {}
	}
	if s.bound == 0 && !stops {
		return
	}
	var ready []int // indexes of threads, the running one first
	if !stops {
		ready = append(ready, me)
	}
	for i, t := range s.threads {
		if (stops || i != me) && t.ready() {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		s.finish()
		return
	}
	taken := s.choose(len(ready))
	if !stops && taken > 0 {
		s.bound--
	}
	s.running = ready[taken]
	if s.running == me {
		return
	}
	t := s.threads[me]
	done := t.done // t.done must not be read after the next statement
	s.threads[s.running].resume <- struct{}{}
	if !done {
		<-t.resume
	}
}

// finish ends the order when no thread can continue: all have ended, or there is a deadlock.
func (s *order) finish() {
	for i, t := range s.threads {
		if !t.done {
			s.fail(fmt.Errorf("deadlock: thread %d waits", i))
			select {}
		}
	}
	close(s.ended)
}

func (s *order) wait(condition func() bool) {
	for !condition() {
		t := s.threads[s.running]
		t.until = condition
		s.step(true)
		t.until = nil
	}
}

// note adds the running thread's step to the trace: up to three calls in the module, innermost
// first.
func (s *order) note(stops bool) {
	const module = "github.com/seed79a3ff49/bloom"
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var lines []string
	for more := true; more && len(lines) < 3; {
		var f runtime.Frame
		f, more = frames.Next()
		ours := strings.HasPrefix(f.Function, module+"/internal/orders.")
		if !ours && strings.HasPrefix(f.Function, module) {
			folder := filepath.Base(filepath.Dir(f.File))
			lines = append(lines, fmt.Sprintf("%s/%s:%d", folder, filepath.Base(f.File), f.Line))
		}
	}
	if stops {
		lines = append(lines, "(waits)")
	}
	s.trace = append(s.trace, fmt.Sprintf("thread %d  %s", s.running, strings.Join(lines, " < ")))
}
