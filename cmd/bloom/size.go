package main

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// exact is make, for types with Guava's indexes, but that a filter of few keys is larger: so
// large that its rate is p. Guava's formula knows nothing of double hashing, which adds
// 3.5/(n k^2).
func exact[F filter](make func(uint64, float64) (F, error)) func(uint64, float64) (F, error) {
	return func(n uint64, p float64) (F, error) {
		return make(roomFor(n, p), p)
	}
}

// roomFor returns the number of keys for which a filter is to be made so that n keys have the
// rate p. It is n unless that would be wrong by more than a twentieth.
func roomFor(n uint64, p float64) uint64 {
	room := max(n, 1)
	if !(p > 0 && p < 1) || rateWith(n, room, p) <= 1.05*p {
		return room
	}
	for rateWith(n, room, p) > p && room < 1<<40 {
		room += 1 + room/64
	}
	return room
}

// rateWith returns the rate of a filter that was made for room keys at p, and holds n.
func rateWith(n, room uint64, p float64) float64 {
	m := bloom.OptimalM(room, p)
	k := bloom.OptimalK(m, room)
	m = max((m+63)/64, 1) * 64
	return bloom.FalsePositiveRate(m, k, n) + doubleHashing(n, m, k)
}

// doubleHashing returns by how much the rate of n keys exceeds Bloom's formula, within a few
// tenths where there are more than a thousand bits. Keys whose second half is nearly a
// multiple of m have few different indexes: 2.5 f/((1-f)^2 k m) of all keys hit the fraction f
// of the bits that is set with all of these. The rest of the sum is that of sizes with few
// residues, such as powers of two.
func doubleHashing(n, m uint64, k int) float64 {
	f := -math.Expm1(-float64(n) * float64(k) / float64(m))
	odd := float64(m >> bits.TrailingZeros64(m))
	few := min(odd, 2) * (math.Pow(f, odd) + math.Pow(f, 2*odd))
	return (2.5*f/((1-f)*(1-f)*float64(k)) + few) / float64(m)
}

// foldable returns a filter like f, which is empty, that folds by d and by its divisors.
func foldable(f filter, d uint64) (filter, error) {
	if d <= 1 {
		return f, nil
	}
	up := func(m, unit uint64) uint64 { return (m + unit*d - 1) / (unit * d) * (unit * d) }
	var larger filter
	var err error
	switch f := f.(type) {
	case *bloom.Filter:
		larger, err = checked(bloom.NewSize(up(f.M(), 64), f.K()))
	case *blocked.Filter:
		larger, err = checked(blocked.NewSize(up(f.M(), 512), f.Lines()))
	default:
		return nil, fmt.Errorf("-foldable needs -type guava or blocked: others do not fold")
	}
	if err == nil {
		larger.(informed).SetInfo(infoOf(f))
	}
	return larger, err
}
