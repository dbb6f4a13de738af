package bloom

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestViewAnswersAsFilter has filters that are about half full, so that about every other
// probed bit shows a wrong index.
func TestViewAnswersAsFilter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, strategy := range []Strategy{Mitz32, Mitz64} {
		for _, m := range []uint64{64, 128, 640, 4096, 64 * 1021, 1 << 20} {
			for _, k := range []int{1, 2, 7, 30} {
				f := newFilter(strategy, int(m/64), k)
				for range m / uint64(k) {
					f.AddHash(NewHash(rnd.Uint64(), rnd.Uint64()))
				}
				data, err := f.MarshalBinary()
				require.NoError(t, err)
				var v *View
				require.LessOrEqual(t, testing.AllocsPerRun(1, func() { v = Must(NewView(data)) }), 1.0)
				for range 1000 {
					h := NewHash(rnd.Uint64(), rnd.Uint64())
					require.Equal(t, f.ContainsHash(h), v.ContainsHash(h), "%v m=%d k=%d %v", strategy, m, k, h)
				}
			}
		}
	}
}

func TestZeroView(t *testing.T) {
	var v View
	assert.False(t, v.Contains(nil))
	assert.False(t, v.ContainsString("a"))
	assert.False(t, v.ContainsHash(Hash{}))
	assert.Zero(t, v.M())
	assert.Zero(t, v.K())
	assert.Zero(t, v.SizeBytes())
}
