package main

import (
	"math"
	"strconv"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/limits"
	"github.com/seed79a3ff49/bloom/window"
)

// exact returns a variant of create that gives small filters more room. Guava's formula, which
// create uses, ignores that double hashing raises the rate of such filters above p.
func exact[F filter](create func(uint64, float64) (F, error)) func(uint64, float64) (F, error) {
	return func(n uint64, p float64) (F, error) { return create(roomFor(n, p), p) }
}

// roomFor returns a number of keys for which Guava's formula gives about the size that n keys need.
// If Guava's size for n is close enough, roomFor returns n, so that the filter merges with Guava's.
// Close enough means that the size is too small by at most a percent, or by less than a word, and
// that the rate is at most 1.2 p.
func roomFor(n uint64, p float64) uint64 {
	n = max(n, 1)
	guava := bloom.OptimalM(n, p)
	m, _, err := bloom.StrictSize(n, p)
	// StrictSize may assume fewer hashes than Guava's formula gives.
	keeps := func(room uint64) bool { return rateOf(room, p, n) <= 1.2*p }
	if err != nil || m <= guava+max(guava/100, 63) && keeps(n) {
		return n
	}
	// Begin with a size of at most m, because some sizes above m have a higher rate.
	room := uint64(float64(n) * float64(m) / float64(guava))
	for ; bloom.OptimalM(room, p) > m; room-- {
	}
	for !keeps(room) {
		room += 1 + room/50
	}
	return room
}

// rateOf returns the rate of bloom.New(room, p) with n keys, or 0 if there is no such filter.
func rateOf(room uint64, p float64, n uint64) float64 {
	m, k, err := bloom.Size(room, p)
	if err != nil {
		return 0
	}
	fill := -math.Expm1(-float64(k) * float64(n) / float64(m))
	return bloom.StatsOf(m, k, uint64(math.Round(fill*float64(m)))).FPR
}

// A planner returns the size of the file of a filter for n different keys and a rate of p. n is at
// least 1, and p at most a half. k is the number of bits, slots or buckets for a key. err is the
// error of making such a filter.
type planner func(n uint64, p float64) (size uint64, k int, err error)

// madeInfo returns an Info with the Hash that commands write by default. Plans include its size.
func madeInfo() form.Info { return form.Info{Hash: new(lines.Key).Hash()} }

// has reports whether there is a filter for n lines, however much memory it needs.
func (plan planner) has(n uint64, p float64) bool {
	_, _, err := plan(max(n, 1), min(p, 0.5))
	return err == nil
}

func planGuava(n uint64, p float64) (size uint64, k int, err error) {
	m, k, err := bloom.Size(roomFor(n, p), p)
	return form.HeaderSize + m/8 + uint64(form.TrailerSize(madeInfo())), k, err
}

func planCounting(n uint64, p float64) (size uint64, k int, err error) {
	m, k, err := bloom.Size(roomFor(n, p), p)
	return uint64(form.Counting.Size(int(m/16), madeInfo())), k, err // four bits a counter
}

func planBlocked(n uint64, p float64) (size uint64, k int, err error) {
	m, rows, err := blocked.Size(n, p)
	return uint64(form.Blocked.Size(int(m/64), madeInfo())), 8 * rows, err
}

func planWindow(n uint64, p float64) (size uint64, k int, err error) {
	c := dedupeWindow(n, p, time.Hour)
	bytes, err := c.SizeBytes()
	if err != nil {
		return 0, 0, err
	}
	c.N = min(n, 1000) // k does not depend on it
	f, err := window.New(c)
	if err != nil {
		return 0, 0, err
	}
	info := madeInfo()
	info.Meta = fieldFact + "=0"
	return uint64(bytes) + uint64(form.TrailerSize(info)-form.MinTrailer), f.Stats().K, nil
}

func dedupeWindow(n uint64, p float64, span time.Duration) window.Config {
	return window.Config{N: n, P: p, Span: span, Renew: true}
}

// planFlower plans a filter that no command makes, only a Go program.
func planFlower(n uint64, p float64) (size uint64, k int, err error) {
	c, err := flower.Optimal(n, 0.9, p)
	if err != nil {
		return 0, 0, err
	}
	words := (c.Slots*uint64(c.Bits) + 63) / 64
	return uint64(form.Flower.Size(int(words), madeInfo())), c.Ways, nil
}

// Above sampleKeys keys, some plans assume that the size is proportional to the number of keys.
const sampleKeys = 1 << 20

func inProportion(size int64, sample, n uint64) uint64 {
	if n == sample {
		return uint64(size)
	}
	return uint64(float64(size) / float64(sample) * float64(n))
}

func planCuckoo(n uint64, p float64) (size uint64, k int, err error) {
	sample := min(n, sampleKeys)
	f, err := newCuckoo(sample, p)
	if err != nil {
		return 0, 0, err
	}
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = madeInfo().Hash })
	s := f.Stats()
	sizeFor := func(n uint64) uint64 { return inProportion(s.SizeBytes, sample, n) }
	fits := func(n uint64) bool { return sizeFor(n) <= 8*form.MaxFrameWords }
	if bad := form.CheckKeys("n", n, p, fits); bad != nil {
		return 0, 0, bad.In("cuckoo")
	}
	return sizeFor(n), s.K, nil
}

// planGrowing makes a filter and adds keys, because even the last key may begin a new layer.
func planGrowing(n uint64, p float64) (size uint64, k int, err error) {
	sample := min(n, sampleKeys)
	if n > limits.GrowingKeys {
		sample = n // New returns the error
	}
	f, err := growing.New(sample, p)
	if err != nil {
		return 0, 0, err
	}
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = madeInfo().Hash })
	f.AddHash(bloom.SumUint64(0))
	first := f.Stats()
	hs := make([]bloom.Hash, 0, 1024)
	for i := uint64(1); i < sample; i += uint64(len(hs)) {
		hs = hs[:min(uint64(cap(hs)), sample-i)]
		for j := range hs {
			hs[j] = bloom.SumUint64(i + uint64(j))
		}
		f.AddBatch(nil, hs)
	}
	// The number of bits that a key sets depends on the layer.
	return inProportion(f.SizeBytes(), sample, n), int(first.OnesCount), nil
}

// rateOf returns the smallest rate, rounded up to three digits, at which the file of a filter for n
// keys has at most size bytes. It considers rates from max(lowest, leastPlan) to 0.5, and returns 0
// if none is high enough.
func (plan planner) rateOf(size, n uint64, lowest float64) float64 {
	fits := func(p float64) bool {
		needed, _, err := plan(n, p)
		return err == nil && needed <= size
	}
	low, high := max(lowest, leastPlan), 0.5
	switch {
	case !fits(high):
		return 0
	case fits(low):
		return low
	}
	for high > low*1.0001 {
		middle := math.Sqrt(low * high)
		if fits(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	digit := math.Pow10(int(math.Floor(math.Log10(high))) - 2)
	for units := math.Ceil(high / digit); ; units++ {
		// Formatting removes the error of the multiplication.
		p, _ := strconv.ParseFloat(strconv.FormatFloat(units*digit, 'g', 3, 64), 64)
		if p >= 0.5 || fits(p) {
			return min(p, 0.5)
		}
	}
}
