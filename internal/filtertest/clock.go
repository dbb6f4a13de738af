package filtertest

import (
	"sync/atomic"
	"time"
)

// Clock is a clock that a test advances. The zero Clock shows a billion seconds after 1970.
type Clock struct{ ns atomic.Int64 }

func (c *Clock) Now() time.Time { return time.Unix(1e9, c.ns.Load()) }

func (c *Clock) Advance(d time.Duration) { c.ns.Add(int64(d)) }

// Elapsed returns how far the clock is ahead of a zero Clock.
func (c *Clock) Elapsed() time.Duration { return time.Duration(c.ns.Load()) }
