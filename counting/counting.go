package counting

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/frame"
	"github.com/seed79a3ff49/bloom/internal/guava"
	"github.com/seed79a3ff49/bloom/internal/memory"
	"github.com/seed79a3ff49/bloom/internal/nocopy"
	"github.com/seed79a3ff49/bloom/internal/param"
)

// maxWords is the largest number of words of bits.
const maxWords = min(guava.MaxWords, frame.MaxWords/perBits)

const errZero = "counting: Add to a zero Filter: make it with New, or decode into it"

type mark = nocopy.Mark

// Filter is a Bloom filter that keys can be removed from. It counts: a key that was
// added twice is there until it is removed twice.
//
// The positions of a key are those in [bloom.New]'s filter. Each has a counter of four
// bits. A counter that reaches 15 is full and stays so, because nobody knows how many
// keys it counts. Its bit is then set for good, which makes false positives a little
// more frequent, and loses no key. In a filter that holds as many keys as New was
// told, a counter is full with a probability of 1.6e-15. Of filters of a hundred million
// keys at 1 %, one in 640,000 has a full counter. Otherwise counters become full only where
// one key is added fifteen times, or where a filter holds many times its n.
//
// Any number of goroutines may use a Filter at once. Look-ups and estimates take no
// lock. Everything else takes the same lock. Remove must look at all of a key's counters
// and change them in one step: otherwise two Removes of one key could both find it, and
// take away what other keys count on. A copy or an encoding must hold each key as a
// whole or not at all.
//
// The zero Filter contains nothing and can be decoded into. Adding to it panics.
// Decoding needs the Filter to itself. A Filter must not be copied; see [Filter.Clone].
type Filter struct {
	info bloom.Info
	mark
	mu       sync.Mutex // held by whoever writes counters, or reads all of them
	counters counters
	ones     atomic.Uint64 // counters that are not zero
	k        int
}

// New returns an empty filter sized for n keys. Holding n keys, it reports a key that is
// not there as present with probability p. Its parameters are those of [bloom.New]'s
// filter. It takes four times the memory of that filter.
//
// It returns an error unless 0 < p < 1 and bloom.New makes a filter of n and p.
func New(n uint64, p float64) (*Filter, error) {
	if err := param.Rate("counting", "p", p); err != nil {
		return nil, err
	}
	m := bloom.OptimalM(n, p)
	k := bloom.OptimalK(m, n)
	words := m/64 + min(m%64, 1)
	switch {
	case words == 0:
		return nil, fmt.Errorf("counting: n = %d, p = %v need no bits at all", n, p)
	case words > maxWords:
		return nil, fmt.Errorf("counting: m = %d is outside [1, %d] (for n = %d, p = %v)", m, uint64(maxWords)*64, n, p)
	case k > guava.MaxK:
		return nil, fmt.Errorf("counting: k = %d is outside [1, %d] (for n = %d, p = %v)", k, guava.MaxK, n, p)
	}
	// Its counters are not read: untouched memory takes none.
	return &Filter{counters: countersOf(memory.Words(int(words) * perBits)), k: k}, nil
}

func newFilter(words []uint64, k int) *Filter {
	f := new(Filter)
	f.set(words, k)
	return f
}

// set makes f the filter of words of counters.
func (f *Filter) set(words []uint64, k int) {
	f.counters, f.k = countersOf(words), k
	f.ones.Store(f.counters.onesCount())
}

// Add adds key. It reports whether any bit of [Filter.Filter] changed: true means that
// key was certainly not there, false that it probably was. Either way the key counts
// once more, and has to be removed once more. Add does not retain key.
func (f *Filter) Add(key []byte) bool { return f.AddHash(bloom.Sum(key)) }

// AddString is Add of key's bytes, without copying them.
func (f *Filter) AddString(key string) bool { return f.AddHash(bloom.SumString(key)) }

// AddHash is Add by digest.
func (f *Filter) AddHash(h bloom.Hash) bool {
	if f.k == 0 {
		panic(errZero)
	}
	f.touch(h)
	f.mu.Lock()
	defer f.mu.Unlock()
	added := f.change(h, 1, 0)
	if added > 0 {
		f.ones.Add(added)
	}
	return added > 0
}

// Remove removes key, which must have been added before and not been removed since. It
// returns false, and changes nothing, if key is certainly not there.
//
// Remove cannot tell a key that was never added from one that was, if Contains reports
// it as present. It then takes away what other keys count on. Contains may then report
// keys as absent that were added, old ones and new ones. So call Remove only with keys
// that are known, from elsewhere, to have been added.
func (f *Filter) Remove(key []byte) bool { return f.RemoveHash(bloom.Sum(key)) }

// RemoveString is Remove of key's bytes, without copying them.
func (f *Filter) RemoveString(key string) bool { return f.RemoveHash(bloom.SumString(key)) }

// RemoveHash is Remove by digest.
func (f *Filter) RemoveHash(h bloom.Hash) bool {
	if !f.ContainsHash(h) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ContainsHash(h) { // any more
		return false
	}
	if removed := f.change(h, -1, 1); removed > 0 {
		f.ones.Add(-removed)
	}
	return true
}

// Contains reports whether key may be there: false is certain, true is wrong with
// probability [Filter.FPR] for a key that is not.
func (f *Filter) Contains(key []byte) bool { return f.ContainsHash(bloom.Sum(key)) }

// ContainsString is Contains of key's bytes, without copying them.
func (f *Filter) ContainsString(key string) bool { return f.ContainsHash(bloom.SumString(key)) }

// ContainsHash is Contains by digest.
func (f *Filter) ContainsHash(h bloom.Hash) bool {
	x, step := h.Words()
	for range f.k {
		if f.counters.get(x) == 0 {
			return false
		}
		x += step
	}
	return f.k != 0
}

// change adds by, which is 1 or -1, to the counters of h that are not full. It returns
// how many of them were at from.
//
// Where two of the k indexes are one, which is rare, their counter counts the key once.
// If it counted it twice, Remove of a key that is not there could find a counter that is
// not zero, and yet too small to give back two.
func (f *Filter) change(h bloom.Hash, by int64, from uint64) (n uint64) {
	var seen uint64 // the low six bits of the indexes
	x, step := h.Words()
	for i := 0; i < f.k; x, i = x+step, i+1 {
		word, shift := f.counters.find(x)
		low := uint64(1) << (x & 63)
		if seen&low != 0 && f.repeated(h, i, word, shift) {
			continue
		}
		seen |= low
		w := f.counters.words[word]
		switch w >> shift & full {
		case full:
			continue
		case from:
			n++
		}
		memory.Store(&f.counters.words[word], w+uint64(by)<<shift)
	}
	return n
}

// repeated reports whether one of the first i indexes of h is the given counter's.
func (f *Filter) repeated(h bloom.Hash, i int, word, shift uint64) bool {
	x, step := h.Words()
	for range i {
		if w, s := f.counters.find(x); w == word && s == shift {
			return true
		}
		x += step
	}
	return false
}

// touch reads the counters of h. Nothing waits for these reads, so that their cache
// misses overlap; and nobody else waits for them, as they hold no lock. It is not
// inlined because then the reads, whose values nobody uses, would go.
//
//go:noinline
func (f *Filter) touch(h bloom.Hash) (sum uint64) {
	x, step := h.Words()
	for range f.k {
		sum += f.counters.get(x)
		x += step
	}
	return sum
}

// Merge adds the counters of g to those of f. A key then counts as often in f as it did
// in both together. A sum of 15 or more is full. Merge returns an error, which
// wraps [bloom.ErrMismatch], and leaves f as it was, unless the two agree in M and K.
// Nothing may write to g meanwhile.
func (f *Filter) Merge(g *Filter) error {
	switch {
	case g == nil:
		return format.MismatchNil("counting")
	case f.M() != g.M():
		return format.Mismatch("counting", "m", f.M(), g.M())
	case f.k != g.k:
		return format.Mismatch("counting", "k", f.k, g.k)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ones.Store(f.counters.add(g.counters))
	return nil
}

// Clone returns an independent copy.
func (f *Filter) Clone() *Filter {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.k == 0 {
		return new(Filter)
	}
	return newFilter(memory.Clone(f.counters.words), f.k)
}

// Equal reports whether f and g have the same parameters and the same counters. It
// panics if g is nil. Nothing may write to g meanwhile.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("counting: Equal to a nil Filter")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.k == g.k && f.counters.equal(g.counters)
}

// Reset removes all keys, full counters too. It keeps the memory and the parameters.
func (f *Filter) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counters.clear()
	f.ones.Store(0)
}

// M returns the number of counters, which is the number of bits of [Filter.Filter].
func (f *Filter) M() uint64 { return uint64(len(f.counters.words)/perBits) * 64 }

// K returns the number of hashes, which is how many counters a key has.
func (f *Filter) K() int { return f.k }

// FillRatio returns the fraction of counters that are not zero, from 0 to 1.
func (f *Filter) FillRatio() float64 { return f.Stats().FillRatio }

// ApproxCount estimates the number of distinct keys that are there; see
// [bloom.Filter.ApproxCount].
func (f *Filter) ApproxCount() uint64 { return f.Stats().ApproxCount }

// FPR returns the probability that a key which is not there is reported as present, as
// things are now; see [bloom.Filter.FPR].
func (f *Filter) FPR() float64 { return f.Stats().FPR }

// Stats returns all figures of f at one moment, for metrics. They are those of
// [Filter.Filter], except for SizeBytes. Stats takes constant time.
func (f *Filter) Stats() bloom.Stats {
	s := bloom.Stats{M: f.M(), K: f.k, OnesCount: f.ones.Load(), SizeBytes: f.SizeBytes()}
	if f.k > 0 {
		s.FillRatio = float64(s.OnesCount) / float64(s.M)
		s.ApproxCount = guava.ApproxCount(s.M, s.K, s.OnesCount)
		s.FPR = guava.FPR(s.M, s.K, s.OnesCount)
	}
	return s
}

// String describes f by its parameters, without its keys.
func (f *Filter) String() string { return fmt.Sprintf("counting.Filter(m=%d, k=%d)", f.M(), f.k) }
