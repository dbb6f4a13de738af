package filtertest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that its user moves. The zero Clock is a billion seconds after 1970.
type Clock struct{ ns atomic.Int64 }

// Now returns the clock's time.
func (c *Clock) Now() time.Time { return time.Unix(1e9, c.ns.Load()) }

// Advance moves the clock by d.
func (c *Clock) Advance(d time.Duration) { c.ns.Add(int64(d)) }

// Elapsed returns how far the clock has moved.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.ns.Load()) }
