package blocked

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/format"
	"github.com/seed79a3ff49/bloom/internal/memory"
)

// Merge adds the keys of g to f. It returns an error, which wraps [bloom.ErrMismatch],
// and leaves f as it was, unless the two agree in M and Lines.
func (f *Filter) Merge(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	memory.Or(f.words, g.words)
	return nil
}

// Intersect clears all bits of f that are not set in g. f then contains every key
// that was added to both, and reports more others than a filter made of those keys
// alone. It returns an error as Merge does.
func (f *Filter) Intersect(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	memory.And(f.words, g.words)
	return nil
}

// compatible returns an error unless f and g have the same parameters.
func (f *Filter) compatible(g *Filter) error {
	switch {
	case g == nil:
		return format.MismatchNil("blocked")
	case f.M() != g.M():
		return format.Mismatch("blocked", "m", f.M(), g.M())
	case f.lines != g.lines:
		return format.Mismatch("blocked", "lines", f.lines, g.lines)
	}
	return nil
}

// Fold returns a new filter of M()/d bits with the keys of f. Its bits are those of a
// filter that was made with M()/d bits and f's lines and given the same keys. Its
// false-positive rate is higher; see [Filter.FPR]. Fold leaves f as it was.
//
// It returns an error unless d divides M()/256, the number of blocks. A filter of more
// than 2^30 blocks, which picks blocks by more bits of the digest, folds only to one
// that still has more.
func (f *Filter) Fold(d int) (*Filter, error) {
	blocks := len(f.words) / blockWords
	if d < 1 || d > blocks || blocks%d != 0 {
		return nil, fmt.Errorf("blocked: d = %d does not divide the filter's %d blocks", d, blocks)
	}
	if blocks > narrowBlocks && blocks/d <= narrowBlocks {
		return nil, fmt.Errorf("blocked: d = %d takes the filter's %d blocks to %d or fewer", d, blocks, narrowBlocks)
	}
	// A block's number is a fraction of the number of blocks, rounded down. So blocks
	// d*i to d*i+d-1 become block i.
	g := newFilter(uint64(blocks/d), f.lines)
	for i := range g.words {
		from := i/blockWords*blockWords*d + i%blockWords
		for j := range d {
			g.words[i] |= f.words[from+j*blockWords]
		}
	}
	return g, nil
}

// Clone returns an independent copy.
func (f *Filter) Clone() *Filter {
	g := new(Filter)
	if f.lines > 0 {
		g.set(memory.Clone(f.words), f.lines)
	}
	return g
}

// Reset removes all keys. It keeps the memory and the parameters.
func (f *Filter) Reset() { memory.Clear(f.words) }

// Equal reports whether f and g have the same parameters and the same bits. It panics
// if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("blocked: Equal to a nil Filter")
	}
	return f.lines == g.lines && slices.Equal(f.words, g.words)
}

// M returns the number of bits, a multiple of 256.
func (f *Filter) M() uint64 { return uint64(len(f.words)) * 64 }

// Lines returns the number of blocks, each in one cache line, in which a key has bits:
// 1 to 4, or 0 for the zero Filter.
func (f *Filter) Lines() int { return f.lines }

// String describes f by its parameters.
func (f *Filter) String() string {
	return fmt.Sprintf("blocked.Filter(m=%d, lines=%d)", f.M(), f.lines)
}

// FillRatio returns the fraction of bits set, from 0 to 1; see [Filter.Stats].
func (f *Filter) FillRatio() float64 { return f.Stats().FillRatio }

// ApproxCount estimates the number of distinct keys added. For each block it takes the
// number of lines for which the block's count of ones is likeliest, ln(1 - ones/256) /
// ln(31/32). The sum over all blocks, divided by the lines of a key, is 0.1 % too high
// at the number of keys that [New] was given, besides chance. A block with every bit
// set counts as if half a bit were clear. See [Filter.Stats].
func (f *Filter) ApproxCount() uint64 { return f.Stats().ApproxCount }

// FPR returns the probability that a key which was not added is reported as
// present, as things are now. For one line that is the mean over all blocks of the
// product of the fills of its eight words. The lines of a key are independent. See
// [Filter.Stats].
func (f *Filter) FPR() float64 { return f.Stats().FPR }

// Stats returns all figures of f at once, for metrics. It reads the whole filter once,
// as each of FillRatio, ApproxCount and FPR does. K is the number of bits that a key
// sets, which is 8*Lines.
func (f *Filter) Stats() bloom.Stats {
	s := bloom.Stats{M: f.M(), K: 8 * f.lines, SizeBytes: f.SizeBytes()}
	if f.lines == 0 {
		return s
	}
	var blocks [blockBits + 1]uint64 // by ones
	var products float64
	for i := 0; i < len(f.words); i += blockWords {
		ones, product := 0, 1.0
		for j := range blockWords {
			w := atomic.LoadUint64(&f.words[i+j]) // a SyncFilter's may change meanwhile
			low, high := bits.OnesCount32(uint32(w)), bits.OnesCount32(uint32(w>>32))
			ones += low + high
			product *= float64(low * high)
		}
		blocks[ones]++
		products += product
	}
	var lines float64
	for ones, n := range blocks {
		s.OnesCount += uint64(ones) * n
		fill := min(float64(ones), blockBits-0.5) / blockBits
		lines += float64(n) * math.Log1p(-fill) / math.Log1p(-1.0/32)
	}
	s.FillRatio = float64(s.OnesCount) / float64(s.M)
	s.ApproxCount = uint64(math.Round(lines / float64(f.lines)))
	line := products / (1 << 40) / float64(len(f.words)/blockWords) // 32^8 = 2^40
	s.FPR = math.Pow(line, float64(f.lines))
	return s
}
