package counting

import (
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/invariants"
)

// The caller of verifyOnes must hold all stripes.
func (s *state) verifyOnes() {
	n, counted := s.counters.onesCount(), s.onesCount()
	invariants.Require(n == counted, "counting: %d counters above 0, %d counted", n, counted)
}

// The caller of verifyAdded must hold the stripe of h.
func (s *state) verifyAdded(h bloom.Hash) {
	x, step := h.Words()
	for range s.k {
		invariants.Require(s.counters.get(x) != 0, "counting: a counter of %v is 0", h)
		x += step
	}
}

func (c counters) verifySums(a, b counters) {
	for i, w := range c.words {
		for shift := 0; shift < 64; shift += 4 {
			sum := min(full, a.words[i]>>shift&full+b.words[i]>>shift&full)
			invariants.Require(w>>shift&full == sum, "counting: a counter of word %d is no sum", i)
		}
	}
}

func (c counters) verifyBits(dst []uint64) {
	for i := range uint64(len(dst)) * 64 {
		word := i/64*perBits | i%perBits
		got, want := dst[i/64]>>(i%64)&1 != 0, c.words[word]>>(i%64/perBits*4)&full != 0
		invariants.Require(got == want, "counting: bit %d differs from its counter", i)
	}
	n := 0
	for _, w := range dst {
		n += bits.OnesCount64(w)
	}
	invariants.Require(uint64(n) == c.onesCount(), "counting: %d bits", n)
}

func (c counters) copied() counters {
	if !invariants.On {
		return counters{}
	}
	return counters{words: bitwords.Clone(c.words)}
}
