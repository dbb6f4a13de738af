package blocked

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/bitwords"
	"github.com/seed79a3ff49/bloom/internal/form"
	"github.com/seed79a3ff49/bloom/internal/splitblock"
)

// Merge adds the keys of g to f. The false-positive rate becomes that of a filter with the keys of
// both.
//
// Unless the two agree in M and Lines, and in Info's Hash if both have one, Merge leaves f
// unchanged and returns an error that wraps [bloom.ErrMismatch]. If f has no Hash, it gets that of
// g.
func (f *Filter) Merge(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	bitwords.Or(f.b.Words, g.b.Words)
	return nil
}

// Intersect clears all bits of f that are not set in g, which leaves every key that was added to
// both, at a higher false-positive rate than a filter built from these keys. It returns an error as
// [Filter.Merge] does.
func (f *Filter) Intersect(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	bitwords.And(f.b.Words, g.b.Words)
	return nil
}

// compatible returns an error unless f can be merged with g. Without an error, f's Info has the
// Hash of g's if it had none.
func (f *filter) compatible(g *Filter) error {
	if g == nil {
		return form.MismatchNil("blocked")
	}
	if err := f.fits(g.M(), g.b.Lines); err != nil {
		return err
	}
	return f.info.Join("blocked", g.info.Get())
}

func (f *filter) fits(m uint64, lines int) error {
	switch {
	case f.m() != m:
		return form.Mismatch("blocked", "m", f.m(), m)
	case f.b.Lines != lines:
		return form.Mismatch("blocked", "lines", f.b.Lines, lines)
	}
	return nil
}

// Fold returns a new filter of M()/d bits with the keys of f: the filter of that size, with f's
// Lines, after the same additions. Its false-positive rate is higher; see [Filter.Stats]. Its Info
// has no N and P. f is unchanged.
//
// Fold returns an error unless d divides M()/256, the number of blocks. It also returns one if f
// has more than 2^30 blocks and the new filter would not, because the two would use different bits
// of a digest to pick a block.
func (f *Filter) Fold(d int) (*Filter, error) {
	n := int(f.M() / splitblock.Bits)
	if d < 1 || d > n || n%d != 0 {
		return nil, form.NewParam("d", d, "no divisor of the filter's %d blocks", n).In("blocked")
	}
	if n > splitblock.Narrow && n/d <= splitblock.Narrow {
		bad := form.NewParam("d", d, "too large: it takes the filter's %d blocks to %d or fewer",
			n, splitblock.Narrow)
		return nil, bad.In("blocked")
	}
	// A block's number is a fraction of the number of blocks, rounded down, so blocks d*i to
	// d*i+d-1 become block i.
	g := newFilter(uint64(n/d), f.b.Lines)
	g.info = form.Keep(f.info.Get().Folded())
	const each = splitblock.Bits / 64
	for i := range g.b.Words {
		first := i/each*each*d + i%each
		for j := range d {
			g.b.Words[i] |= f.b.Words[first+j*each]
		}
	}
	return g, nil
}

// Clone returns an independent copy, with its Info.
func (f *Filter) Clone() *Filter { return &Filter{filter: f.clone()} }

// clone returns a copy of f. Other goroutines may write to f during the call.
func (f *filter) clone() filter { return filter{f.b.Clone(), f.info.Clone()} }

// Reset removes all keys. It keeps the memory, the parameters and the Info.
func (f *Filter) Reset() {
	bitwords.Clear(f.b.Words)
}

// Equal reports whether f and g have the same parameters and bits, whatever their Infos.
// reflect.DeepEqual and testify's assert.Equal agree with it for filters with equal Infos. It
// panics if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("blocked: Equal to a nil Filter")
	}
	return f.b.Lines == g.b.Lines && slices.Equal(f.b.Words, g.b.Words)
}

func (f *filter) m() uint64 { return uint64(len(f.b.Words)) * 64 }

// M returns the number of bits, a multiple of 256.
func (f *Filter) M() uint64 { return f.m() }

// Lines returns the number of blocks, each in one cache line, in which a key has bits: 1 to 4, or 0
// for the zero Filter.
func (f *Filter) Lines() int { return f.b.Lines }

// String describes f by its parameters.
func (f filter) String() string { return describe("blocked.Filter", f.m(), f.b.Lines) }

func describe(name string, m uint64, lines int) string {
	if m == 0 {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(m=%d, lines=%d)", name, m, lines)
}

// Stats returns all statistics of f. It reads the whole filter. M is the number of bits, a multiple
// of 256. K is the number of bits that a key sets: 8 for each of its lines.
//
// ApproxCount adds up blocks. A block counts as the number of lines for which its count of ones is
// likeliest, ln(1 - ones/256) / ln(31/32), as if half a bit were clear if all are set. If the
// filter holds the n keys of [New], the estimate is 0.1 % too high on average.
//
// For one line, FPR is the mean, over all blocks, of the product of the fill ratios of a block's
// eight words. For more lines, which are independent, it is a power of that mean.
func (f *filter) Stats() bloom.Stats { return f.b.Stats(f.size()) }

// LogValue returns what String returns.
func (f *filter) LogValue() slog.Value { return slog.StringValue(f.String()) }
