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

// Merge adds the keys of g to f. Afterwards f has the false-positive rate of a filter that contains
// the keys of both.
//
// If the filters differ in M or Lines, or have different Hashes in their Infos, Merge leaves f
// unchanged and returns an error that wraps [bloom.ErrMismatch]. If only g has a Hash, f gets it.
func (f *Filter) Merge(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	bitwords.Or(f.b.Words, g.b.Words)
	return nil
}

// Intersect clears all bits of f that are not set in g. Every key that was added to both remains,
// but the false-positive rate is usually higher than that of a filter to which only those keys were
// added. Intersect returns the same errors as [Filter.Merge].
func (f *Filter) Intersect(g *Filter) error {
	if err := f.compatible(g); err != nil {
		return err
	}
	bitwords.And(f.b.Words, g.b.Words)
	return nil
}

// compatible returns an error if g cannot be combined with f. It also gives f the Hash in g's Info,
// if f has none.
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

// Fold returns a new filter with the keys of f in M()/d bits. It equals a filter of that size, with
// the Lines of f, to which the same keys were added. Its false-positive rate is usually higher; see
// [Filter.Stats]. Its Info has no N or P. Fold does not change f.
//
// Fold returns an error if d < 1, if d does not divide M()/256, the number of blocks, or if f is
// zero. It also returns an error if f has more than 2^30 blocks but the result would not, because
// the two use different bits of a digest to select a block.
func (f *Filter) Fold(d int) (*Filter, error) {
	n := int(f.M() / splitblock.Bits)
	if d < 1 || d > n || n%d != 0 {
		return nil, form.NewParam("d", d, "not a divisor of the filter's %d blocks", n).In("blocked")
	}
	if n > splitblock.Narrow && n/d <= splitblock.Narrow {
		bad := form.NewParam("d", d, "too large: it folds the filter's %d blocks to %d or fewer",
			n, splitblock.Narrow)
		return nil, bad.In("blocked")
	}
	// In a filter of n blocks, a line selects block n*x, rounded down, where x depends only on the
	// digest. So blocks d*i to d*i+d-1 become block i.
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

// Clone returns an independent copy of f, including its Info.
func (f *Filter) Clone() *Filter { return &Filter{filter: f.clone()} }

// clone returns a copy of f. Other goroutines may write to f at the same time.
func (f *filter) clone() filter { return filter{f.b.Clone(), f.info.Clone()} }

// Reset removes all keys. f keeps its memory, parameters and Info.
func (f *Filter) Reset() {
	bitwords.Clear(f.b.Words)
}

// Equal reports whether f and g have the same parameters and bits. It ignores their Infos. If the
// Infos are equal too, and f is not zero, reflect.DeepEqual and testify's assert.Equal give the
// same answer. Equal panics if g is nil.
func (f *Filter) Equal(g *Filter) bool {
	if g == nil {
		panic("blocked: Equal to a nil Filter")
	}
	return f.b.Lines == g.b.Lines && slices.Equal(f.b.Words, g.b.Words)
}

func (f *filter) m() uint64 { return uint64(len(f.b.Words)) * 64 }

// M returns the number of bits, which is a multiple of 256.
func (f *Filter) M() uint64 { return f.m() }

// Lines returns the number of lines of a key: 1 to 4, or 0 for the zero Filter. Each line selects a
// block, which lies in one cache line.
func (f *Filter) Lines() int { return f.b.Lines }

// String returns the name of f's type and its parameters.
func (f filter) String() string { return describe("blocked.Filter", f.m(), f.b.Lines) }

func describe(name string, m uint64, lines int) string {
	if m == 0 {
		return name + "(zero)"
	}
	return fmt.Sprintf("%s(m=%d, lines=%d)", name, m, lines)
}

// Stats returns the statistics of f. It reads the whole filter. M is the number of bits, a multiple
// of 256. K is the largest number of bits that a key sets: 8 for each line.
//
// ApproxCount is a sum over all blocks, divided by Lines. For each block, it estimates, from the
// number of ones, how many lines were added: ln(1 - ones/256) / ln(31/32). If all bits of a block
// are set, it computes as if half a bit were clear. When the filter contains the n keys of [New],
// and p is at most 10 %, the estimate is too high by less than 0.4 % on average.
//
// The rate of a block is the product of the fill ratios of its eight words. With one line, FPR is
// the mean rate of all blocks. With more lines, FPR is this mean to the power of Lines, as if lines
// were independent.
func (f *filter) Stats() bloom.Stats { return f.b.Stats(f.size()) }

// LogValue implements slog.LogValuer. The value is the result of String.
func (f *filter) LogValue() slog.Value { return slog.StringValue(f.String()) }
