package main

import "github.com/seed79a3ff49/bloom"

// exact is make, for types with Guava's indexes, but that a filter of few keys is so large
// that its rate is p. Guava's formula knows nothing of double hashing.
func exact[F filter](make func(uint64, float64) (F, error)) func(uint64, float64) (F, error) {
	return func(n uint64, p float64) (F, error) { return make(roomFor(n, p), p) }
}

// roomFor returns the number of keys for which Guava makes a filter of the size that n keys
// need. That is n where the sizes differ by a hundredth or less, so that the filter merges
// with Guava's.
func roomFor(n uint64, p float64) uint64 {
	n = max(n, 1)
	guava := bloom.OptimalM(n, p)
	m, _, err := bloom.StrictSize(n, p)
	if err != nil || m <= guava+max(guava/100, 63) {
		return n
	}
	// Not more than m: some larger sizes are worse.
	room := uint64(float64(n) * float64(m) / float64(guava))
	for ; bloom.OptimalM(room, p) > m; room-- {
	}
	return room
}
