package growing

import (
	"math"
	"sync"

	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/internal/portable"
)

const (
	minP     = limits.GrowingRate
	mostKeys = limits.GrowingKeys
	minRate  = limits.BlockedRate

	// If n is unknown, the first evenLayers layers have the rate p/shares. Each later layer has
	// decline times the rate of the previous one, but at least minRate. Without that limit, the sum
	// of all rates is p/shares * (evenLayers + decline/(1-decline)) = p. If n is known, the first
	// layer has the rate p/2, and the later layers share the other half in the same way.
	evenLayers = 14
	decline    = 0.75
	shares     = 17

	// maxLayers is the largest number of layers in a shard. For 2^40 keys, fewer suffice, even if
	// the first layer has only one block.
	maxLayers = 64

	// firstBits is the number of bits in the smallest first layer if n is unknown. The binary forms
	// of all first layers together then take about 64 KB.
	firstBits = 88 * 256
)

type rates struct {
	p float64
	n uint64 // number of keys, or 0 if it is unknown

	mu    sync.Mutex
	known []sizing // known[i] is the sizing of layer i
}

func (r *rates) check() *form.Param {
	if !(r.p >= minP && r.p < 1) {
		return form.NewParam("p", r.p, "outside [%v, 1)", minP)
	}
	if r.n > mostKeys {
		return form.NewParam("n", r.n, "outside [0, %d]", uint64(mostKeys))
	}
	return nil
}

// rate returns the largest false-positive rate that layer i may have.
func (r *rates) rate(i int) float64 {
	p := r.p
	if r.n > 0 {
		p /= 2
		if i == 0 {
			return p
		}
		i--
	}
	return max(minRate, p/shares*portable.Power(decline, uint64(max(0, i-evenLayers+1))))
}

// first returns the number of bits in the first layer of shard i.
func (r *rates) first(i int) float64 {
	if r.n == 0 {
		return firstBits * stagger(i)
	}
	// If n is large, about one shard in a thousand gets more keys than the mean plus three standard
	// deviations.
	keys := float64(r.n) / shards
	return (keys + float64(3*math.Sqrt(keys))) * r.sizing(0).bits
}

// following returns the number of bits in the next layer of shard i, usually as many as all layers
// in list have together. If n is known, all first layers have the same size, so stagger applies to
// the second layers.
func (r *rates) following(i int, list []*layer) uint64 {
	m := uint64(0)
	for _, l := range list {
		m += l.bits()
	}
	if r.n > 0 && len(list) == 1 {
		return uint64(float64(m) * (float64(math.Sqrt2*stagger(i)) - 1))
	}
	return m
}

// stagger returns a factor for the size of shard i, at least 1 and less than 2. The factors differ,
// so that the shards do not all begin new layers at the same time.
func stagger(i int) float64 { return portable.Exp(float64(i) / shards * math.Ln2) }

type sizing struct {
	lines int
	bits  float64 // for each key
}

// newSizing returns the sizing of a blocked filter for 4096 keys. For so many, rounding up to whole
// blocks adds little.
func newSizing(rate float64) sizing {
	const keys = 4096
	m, lines, err := blocked.Size(keys, rate)
	if err != nil {
		panic(err) // cannot happen: no rate is below minRate
	}
	return sizing{lines, float64(m) / keys}
}

func (r *rates) sizing(i int) sizing {
	r.mu.Lock()
	defer r.mu.Unlock()
	for n := len(r.known); n <= i; n++ {
		if n > 0 && r.rate(n) == r.rate(n-1) { // speed
			r.known = append(r.known, r.known[n-1])
			continue
		}
		r.known = append(r.known, newSizing(r.rate(n)))
	}
	return r.known[i]
}
