// Package pause has the pauses in work that many processes repeat.
package pause

import (
	"math"
	"math/rand/v2"
	"time"
)

// Spread returns a pause up to a tenth longer or shorter than d, so that processes which began
// together spread out.
func Spread(d time.Duration) time.Duration {
	spread := float64(d) * (0.9 + 0.2*rand.Float64())
	if spread >= math.MaxInt64 { // the conversion would overflow
		return math.MaxInt64
	}
	return time.Duration(spread)
}
