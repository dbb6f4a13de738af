package orders

import "time"

// Clock is the time of [Now], in nanoseconds since 1970. 0 is the system's time, whose readings are
// not points.
var Clock Int64

// Now stands in for time.Now.
func Now() time.Time {
	if Clock.v == 0 {
		return time.Now()
	}
	return time.Unix(0, Clock.Load())
}

// timers has the functions that were passed to AfterFunc while no order was running.
var timers []func()

// AfterFunc stands in for time.AfterFunc, with a thread as its timer, which may fire at any moment.
func AfterFunc(_ time.Duration, call func()) {
	if now != nil {
		Go(call)
	} else {
		timers = append(timers, call)
	}
}

// Fire calls the functions that were passed to AfterFunc while no order was running.
func Fire() {
	for len(timers) > 0 {
		call := timers[0]
		timers = timers[1:]
		call()
	}
}
