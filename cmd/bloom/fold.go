package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

func foldCommand() *cobra.Command {
	var file holder
	var asJSON *bool
	var d int
	var p float64
	c := &cobra.Command{
		Use:   "fold [-d D | -p P] [-json] -o FILE FILE",
		Short: "make a filter smaller, with the same lines",
		Long: `fold writes the filter that is D times smaller and has the same lines: the one that would
have been built at that size. Its rate is higher. D must divide the filter's size.

With -p, D is the largest that leaves the rate at P or below. It is an error if there is
none.

FILE may be - for standard output and standard input. With -json fold also writes what info
-json does of the new file. The new file says that it was made for the rate -p, or without -p
for the rate of the old file, and for the number of lines at which it has that rate.`,
		Example: `  printf 'apple\n' | bloom build -n 1M -o large.bloom && bloom fold -p 0.01 -o small.bloom large.bloom`,
		Args:    need(1, 1, "one FILE to read"),
		RunE: func(c *cobra.Command, args []string) error {
			byRate := c.Flags().Changed("rate")
			if byRate == c.Flags().Changed("divisor") {
				return usageError{fmt.Errorf("fold needs either -d or -p; see bloom help fold")}
			}
			if byRate && !(p > 0 && p < 1) {
				return usageError{fmt.Errorf("p = %v is outside (0, 1)", p)}
			}
			return file.produce(c, *asJSON, func() (saver, error) {
				f, err := loadAny(args[0])
				if err != nil {
					return nil, err
				}
				var small filter
				if byRate {
					small, err = foldToRate(f, p)
				} else {
					small, err = fold(f, d)
				}
				if err != nil {
					return nil, fmt.Errorf("%s: %w", args[0], err)
				}
				if small, ok := small.(*bloom.Filter); ok {
					info := f.Info()
					if byRate {
						info.P = p
					}
					if info.P > 0 {
						info.N = small.Capacity(info.P)
					}
					small.SetInfo(info)
				}
				return small, nil
			})
		},
	}
	c.Flags().IntVarP(&d, "divisor", "d", 0, "how many times smaller")
	c.Flags().VarP((*rate)(&p), "rate", "p", "largest rate of other lines that are reported")
	asJSON = addJSON(c.Flags())
	file.addOutput(c.Flags())
	return c
}

// fold returns the filter that is d times smaller.
func fold(f *loaded, d int) (filter, error) {
	switch f := f.filter.(type) {
	case *bloom.Filter:
		return checked(f.Fold(d))
	case *blocked.Filter:
		return checked(f.Fold(d))
	}
	return nil, fmt.Errorf("filters of type %s do not fold", f.kind.name)
}

// foldToRate returns the smallest filter whose rate is at most p.
func foldToRate(f *loaded, p float64) (filter, error) {
	if _, err := fold(f, 1); err != nil {
		return nil, err
	}
	now := f.Stats()
	if now.FPR > p {
		return nil, fmt.Errorf("its rate is %.3g already", now.FPR)
	}
	// About 1 - (1-fill)^d of the bits are set after folding by d. Where that is 99.9 %
	// there is nothing to try.
	words := now.M / 64
	most := int(min(words, math.MaxInt32))
	if now.FillRatio > 0 {
		most = int(min(float64(most), math.Ceil(math.Log(0.001)/math.Log1p(-min(now.FillRatio, 0.9)))))
	}
	for d := most; d > 1; d-- {
		if words%uint64(d) != 0 {
			continue
		}
		if small, err := fold(f, d); err == nil && small.Stats().FPR <= p {
			return small, nil
		}
	}
	return nil, fmt.Errorf("it does not fold: no divisor of its %d words leaves the rate at %v or below. A filter that is built with -foldable does", words, p)
}
