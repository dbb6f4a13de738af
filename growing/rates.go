package growing

import (
	"fmt"
	"math"
	"sync"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

const (
	minP = 1e-9

	// minRate is the smallest that a blocked filter has. The rates of layers come to
	// it, if p is smallest, at 1e11 keys.
	minRate = 1e-12

	// The rates of layers: evenLayers have the same, p/shares; each later one has
	// decline times that of the one before. The sum is p/shares * (evenLayers +
	// decline/(1-decline)) = p. A billion keys need evenLayers: rates do not decline
	// before, because half the rate takes 1.6 bits more for each key.
	evenLayers = 24
	decline    = 0.75
	shares     = 27

	// growth is the size of a new layer as a fraction of its shard's.
	growth = 0.6
)

func checkP(p float64) error {
	if !(p >= minP && p < 1) {
		return fmt.Errorf("p = %v is outside [%v, 1)", p, minP)
	}
	return nil
}

// rate returns the rate that layer i may have.
func rate(p float64, i int) float64 {
	return max(minRate, p/shares*math.Pow(decline, float64(max(0, i-evenLayers+1))))
}

// stagger returns the relative size of the first layer of shard i. It grows from 1 to
// 1+growth, so that the shards begin their later layers one after the other, evenly
// spread over the time in which the filter grows by this factor.
func stagger(i int) float64 { return math.Pow(1+growth, float64(i)/shards) }

// sizing is how a layer of some rate keeps its keys.
type sizing struct {
	lines int
	bits  float64 // a key
}

// newSizing asks a small filter. The number of its blocks is rounded up by less than
// 1 %.
func newSizing(rate float64) sizing {
	const keys = 4096
	f := bloom.Must(blocked.New(keys, rate))
	return sizing{f.Lines(), float64(f.M()) / keys}
}

// rates are what layers share: their rates and sizings.
type rates struct {
	p float64

	mu    sync.Mutex
	known []sizing // of the last of evenLayers, and of the ones after it
}

// sizing returns the sizing of layer i.
func (r *rates) sizing(i int) sizing {
	r.mu.Lock()
	defer r.mu.Unlock()
	i = max(0, i-evenLayers+1)
	for len(r.known) <= i {
		next := rate(r.p, len(r.known)+evenLayers-1)
		r.known = append(r.known, newSizing(next))
		if next == minRate {
			break
		}
	}
	return r.known[min(i, len(r.known)-1)]
}
