package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/dcso"
	"github.com/seed79a3ff49/bloom/counting"
)

func mergeCommand() *cobra.Command {
	var out string
	var file holder
	c := &cobra.Command{
		Use:   "merge -o FILE FILE ...",
		Short: "make the union of filters",
		Long: `merge writes a filter that has all lines of all the given ones, which must be of one type
and size: made with the same -type, -n and -p. The output may be one of them.`,
		Example: `  for i in 1 2; do echo day $i | bloom build -n 1000 -o day$i.bloom; done; bloom merge -o days.bloom day1.bloom day2.bloom`,
		Args:    need(1, -1, "at least one FILE to read"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := required(c, "output", "-o FILE"); err != nil {
				return err
			}
			release, err := file.hold(c.Context(), out)
			if err != nil {
				return err
			}
			defer release()
			union, err := load(args[0])
			if err != nil {
				return err
			}
			for _, path := range args[1:] {
				next, err := load(path)
				if err != nil {
					return err
				}
				if err := merge(union, next); err != nil {
					return fmt.Errorf("%s and %s: %w", args[0], path, err)
				}
				if c.Context().Err() != nil {
					return errInterrupted
				}
			}
			return union.SaveFile(file.path)
		},
	}
	file.addForce(c.Flags())
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write")
	return c
}

// merge adds to a what b has.
func merge(a, b *loaded) error {
	if a.kind.name != b.kind.name {
		return fmt.Errorf("a %s and a %s do not merge", a.kind.name, b.kind.name)
	}
	err := fmt.Errorf("filters of type %s do not merge", a.kind.name)
	switch f := a.filter.(type) {
	case *bloom.Filter:
		err = f.Merge(b.filter.(*bloom.Filter))
	case *blocked.Filter:
		err = f.Merge(b.filter.(*blocked.Filter))
	case *counting.Filter:
		err = f.Merge(b.filter.(*counting.Filter))
	case *dcso.Filter:
		err = f.Merge(b.filter.(*dcso.Filter))
	}
	if f, ok := a.filter.(informed); ok && err == nil {
		f.SetInfo(common(infoOf(a), infoOf(b)))
	}
	return err
}

// common returns what two files agree in.
func common(a, b bloom.Info) bloom.Info {
	return bloom.Info{N: agreed(a.N, b.N), P: agreed(a.P, b.P), Hash: agreed(a.Hash, b.Hash), Comment: agreed(a.Comment, b.Comment)}
}

func agreed[T comparable](a, b T) (v T) {
	if a == b {
		v = a
	}
	return v
}
