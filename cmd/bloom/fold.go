package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

func foldCommand() *cobra.Command {
	var out string
	var file holder
	var d int
	var p float64
	c := &cobra.Command{
		Use:   "fold [-d D | -p P] -o FILE FILE",
		Short: "make a filter smaller, with the same lines",
		Long: `fold writes the filter that is D times smaller and has the same lines: the one that would
have been built at that size. It reports more other lines. D must divide the filter's size.

With -p, D is the largest that leaves the rate at P or below.`,
		Example: `  printf 'apple\n' | bloom build -n 1M -o large.bloom && bloom fold -p 0.01 -o small.bloom large.bloom`,
		Args:    need(1, 1, "one FILE to read"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := required(c, "output", "-o FILE"); err != nil {
				return err
			}
			byRate := c.Flags().Changed("rate")
			if byRate == c.Flags().Changed("divisor") {
				return usageError{fmt.Errorf("fold needs either -d or -p; see bloom help fold")}
			}
			if byRate && !(p > 0 && p < 1) {
				return usageError{fmt.Errorf("p = %v is outside (0, 1)", p)}
			}
			release, err := file.hold(c.Context(), out)
			if err != nil {
				return err
			}
			defer release()
			f, err := load(args[0])
			if err != nil {
				return err
			}
			var small filter
			if byRate {
				small, err = foldToRate(f, p)
			} else {
				small, err = fold(f, d)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			return small.SaveFile(file.path)
		},
	}
	c.Flags().IntVarP(&d, "divisor", "d", 0, "how many times smaller")
	c.Flags().Float64VarP(&p, "rate", "p", 0, "largest rate of other lines that are reported")
	file.addForce(c.Flags())
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write")
	return c
}

// fold returns the filter that is d times smaller.
func fold(f *loaded, d int) (filter, error) {
	switch f := f.filter.(type) {
	case *bloom.Filter:
		small, err := f.Fold(d)
		if info := f.Info(); err == nil && info.N > 0 { // its rate with as many keys is another
			info.P = min(bloom.FalsePositiveRate(small.M(), small.K(), info.N), 1-1e-9)
			small.SetInfo(info)
		}
		return checked(small, err)
	case *blocked.Filter:
		return checked(f.Fold(d))
	}
	return nil, fmt.Errorf("filters of type %s do not fold", f.kind.name)
}

// foldToRate returns the smallest filter whose rate is at most p.
func foldToRate(f *loaded, p float64) (filter, error) {
	sized, ok := f.filter.(interface {
		M() uint64
		FillRatio() float64
	})
	r, ok2 := f.filter.(rater)
	if !ok || !ok2 {
		return fold(f, 1)
	}
	if rate := r.FPR(); rate > p {
		return nil, fmt.Errorf("its rate is %.3g already", rate)
	}
	// About 1 - (1-fill)^d of the bits are set after folding by d. Where that is 99.9 %
	// there is nothing to try.
	most := int(min(sized.M()/64, math.MaxInt32))
	if fill := sized.FillRatio(); fill > 0 {
		most = int(min(float64(most), math.Ceil(math.Log(0.001)/math.Log1p(-min(fill, 0.9)))))
	}
	for d := most; d > 1; d-- {
		if (sized.M()/64)%uint64(d) != 0 {
			continue
		}
		small, err := fold(f, d)
		if err == nil && small.(rater).FPR() <= p {
			return small, nil
		}
	}
	return fold(f, 1)
}
