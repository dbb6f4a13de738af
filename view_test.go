package bloom_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestViewAnswersAsFilter uses filters in which about half of the bits are set. So about every
// second wrong index is noticed.
func TestViewAnswersAsFilter(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, strategy := range []bloom.Strategy{bloom.Mitz32, bloom.Mitz64} {
		for _, m := range []uint64{64, 128, 640, 4096, 64 * 1021, 1 << 20} {
			for _, k := range []int{1, 2, 7, 30} {
				f := bloom.NewFilter(strategy, int(m/64), k)
				for range m / uint64(k) {
					f.AddHash(bloom.NewHash(rnd.Uint64(), rnd.Uint64()))
				}
				data, err := f.MarshalBinary()
				require.NoError(t, err)
				var v *bloom.View
				require.LessOrEqual(t, testing.AllocsPerRun(1, func() {
					v = bloom.Must(bloom.NewView(data))
				}), 1.0)
				for range 1000 {
					h := bloom.NewHash(rnd.Uint64(), rnd.Uint64())
					require.Equal(t, f.ContainsHash(h), v.ContainsHash(h), "%v m=%d k=%d %v", strategy, m, k, h)
				}
			}
		}
	}
}
