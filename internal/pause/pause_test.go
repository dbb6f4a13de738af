package pause

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSpread: a pause stays within a tenth, even if it is the longest of all.
func TestSpread(t *testing.T) {
	for _, d := range []time.Duration{0, time.Second, math.MaxInt64 / 2, math.MaxInt64} {
		least, most := d-d/10, d+min(d/10, math.MaxInt64-d)
		seen := map[bool]bool{}
		for range 1000 {
			got := Spread(d)
			require.GreaterOrEqual(t, got, least-1)
			require.LessOrEqual(t, got, most)
			seen[got > d-d/20] = true
		}
		require.Len(t, seen, 1+int(min(1, d)), "%v does not vary", d)
	}
}
