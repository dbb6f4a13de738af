// Package pause computes the pauses between repetitions of work that many processes do.
package pause

import (
	"math"
	"math/rand/v2"
	"time"
)

// Spread returns a duration up to a tenth longer or shorter than d, so that processes that started
// together do not stay in step.
func Spread(d time.Duration) time.Duration {
	spread := float64(d) * (0.9 + 0.2*rand.Float64())
	if spread >= math.MaxInt64 { // the conversion would overflow
		return math.MaxInt64
	}
	return time.Duration(spread)
}
