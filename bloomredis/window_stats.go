package bloomredis

import (
	"context"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"

	"github.com/seed79a3ff49/bloom"
)

// sampled is how many bytes of cells Stats reads at most.
const sampled = 1 << 19

// Stats estimates the window's figures from half a megabyte of it, in one round trip,
// however large the window is. It reads all of a smaller window. M, OnesCount and FillRatio
// are of all Generations + 1 that are remembered. ApproxCount estimates how many keys are
// remembered, and counts a key once in each generation in which it was added. FPR is the
// rate to expect with so many keys.
func (w *Window) Stats(ctx context.Context) (bloom.Stats, error) {
	w.store() // panics if Open was forgotten
	all := int(w.strings * w.cells)
	size := stampSize + w.planes*w.width
	sample := min(all, sampled/size)
	asked := make(map[int][]byte) // by string: keys without positions, which are numbers of cells
	for cell := range sample {
		if sample < all {
			cell = rand.IntN(all)
		}
		of := cell / int(w.cells)
		asked[of] = binary.BigEndian.AppendUint32(asked[of], uint32(cell%int(w.cells)))
	}
	var parts []*part
	for of, keys := range asked {
		parts = append(parts, &part{of: of, call: w.newCall(of, 0, keys)})
	}
	ones := make([]int, w.planes) // by age
	err := w.trip(ctx, windowStatsScript, parts, func(p *part, current int64, cells string) error {
		if cells == "" { // the string is still to be made
			return nil
		}
		if want := len(asked[p.of]) / 4 * size; len(cells) != want {
			return w.errorf("%d bytes in reply, want %d", len(cells), want)
		}
		for ; len(cells) > 0; cells = cells[size:] {
			newest, err := strconv.ParseInt(cells[:stampSize], 10, 64)
			if err != nil { // nothing was ever added
				continue
			}
			for age := range ones {
				if generation := current - int64(age); generation <= newest {
					plane := stampSize + int(generation%int64(w.planes))*w.width
					for _, b := range []byte(cells[plane:][:w.width]) {
						ones[age] += bits.OnesCount8(b)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return bloom.Stats{}, err
	}

	m, plane := float64(8*w.width*sample), float64(8*w.width*all) // bits of a generation: read, and in all
	s := bloom.Stats{M: uint64(plane) * uint64(w.planes), K: 2 * w.half, SizeBytes: int64(w.strings) * w.size()}
	none := 1.0 // the probability that an absent key is in no generation
	for _, ones := range ones {
		fill := float64(ones) / m
		n := -math.Log1p(-min(fill, (m-0.5)/m)) * plane / float64(2*w.half)
		s.OnesCount += uint64(fill * plane)
		s.ApproxCount += uint64(math.Round(n))
		if ones > 0 {
			none *= 1 - rate(w.half, n, float64(all), float64(8*w.width))
		}
	}
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	s.FPR = 1 - none
	return s, nil
}
