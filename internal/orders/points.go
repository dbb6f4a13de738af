package orders

// Point is a point without a lock or an atomic. It stands before a step that other threads can see.
func Point() {
	if s := now; s != nil {
		s.step(false)
	}
}

// Quiet runs f as one step, and returns its result.
func Quiet[T any](f func() T) T {
	Point()
	if s := now; s != nil {
		s.quiet++
		defer func() { s.quiet-- }()
	}
	return f()
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
func wait(until func() bool) {
	if s := now; s != nil {
		s.step(false)
		s.wait(until)
	}
}

// Recv is <-c of a channel that holds a value or gets one.
func Recv[T any](c chan T) T {
	wait(func() bool { return len(c) > 0 })
	return <-c
}

// Close is close(c).
func Close(c chan struct{}) {
	Point()
	close(c)
}

// Either waits until one of two channels is closed.
func Either(c, d <-chan struct{}) {
	wait(func() bool { return isClosed(c) || isClosed(d) })
	select {
	case <-c:
	case <-d:
	}
}

// Acquire puts a token into c and reports true, unless done is closed first. It prefers the token,
// where a select chooses at random.
func Acquire(c chan struct{}, done <-chan struct{}) bool {
	wait(func() bool { return len(c) < cap(c) || isClosed(done) })
	if now != nil && len(c) < cap(c) {
		c <- struct{}{}
		return true
	}
	select {
	case c <- struct{}{}:
		return true
	case <-done:
		return false
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
