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
	var file holder
	var asJSON *bool
	c := &cobra.Command{
		Use:   "merge [-json] -o FILE FILE ...",
		Short: "make the union of filters",
		Long: `merge writes a filter that has all lines of all the given ones, which must be of one type
and size: made with the same -type, -n and -p. The output may be one of them, or - for
standard output. A FILE to read may be - for standard input. With -json merge writes what
info -json would of the new file.`,
		Example: `  for i in 1 2; do echo day $i | bloom build -n 1000 -o day$i.bloom; done; bloom merge -o days.bloom day1.bloom day2.bloom`,
		Args:    need(1, -1, "at least one FILE to read"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := oneStream(*asJSON, &file); err != nil {
				return err
			}
			release, err := file.holdOutput(c)
			if err != nil {
				return err
			}
			defer release()
			union, err := loadAny(args[0])
			if err != nil {
				return err
			}
			for _, path := range args[1:] {
				next, err := loadAny(path)
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
			if err := file.save(union.filter); err != nil {
				return err
			}
			return file.report(*asJSON)
		},
	}
	asJSON = addJSON(c.Flags())
	file.addOutput(c.Flags())
	return c
}

// merge adds to a what b has.
func merge(a, b *loaded) error {
	if a.kind.name != b.kind.name {
		return fmt.Errorf("a %s and a %s do not merge", a.kind.name, b.kind.name)
	}
	if x, y := a.Info().Hash, b.Info().Hash; x != y && x != "" && y != "" {
		return fmt.Errorf("keys of %s and keys of %s do not mix", printable(x), printable(y))
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
	if err != nil && a.Stats().M != b.Stats().M {
		return fmt.Errorf("%w; build both with the same -type, -n and -p", err)
	}
	a.SetInfo(common(a.Info(), b.Info()))
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
