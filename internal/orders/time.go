package orders

import "time"

// Clock is the time that [Now] returns, in nanoseconds since 1970. If it is 0, Now returns the
// system's time, and is not a point.
var Clock Int64

// Now stands in for time.Now.
func Now() time.Time {
	if Clock.v == 0 {
		return time.Now()
	}
	return time.Unix(0, Clock.Load())
}

// timers has the functions that AfterFunc was given while no order ran.
var timers []func()

// AfterFunc stands in for time.AfterFunc. While an order runs, the timer is a thread, so it may
// fire at any moment. Otherwise it fires when [Fire] is called.
func AfterFunc(_ time.Duration, call func()) {
	if now != nil {
		Go(call)
	} else {
		timers = append(timers, call)
	}
}

// Fire calls the functions that AfterFunc was given while no order ran.
func Fire() {
	for len(timers) > 0 {
		call := timers[0]
		timers = timers[1:]
		call()
	}
}
