package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/foreign"
)

func mergeCommand() *cobra.Command {
	var file holder
	c := &cobra.Command{
		Use:  "merge -o FILE FILE ...",
		Args: need(1, -1, "at least one FILE to read"),
		RunE: func(c *cobra.Command, args []string) error {
			return file.produce(c, func() (saver, error) {
				all, err := loadAny(args[0])
				for i := 1; i < len(args) && err == nil; i++ {
					if c.Context().Err() != nil {
						return nil, errInterrupted
					}
					next, err := loadAny(args[i])
					if err != nil {
						return nil, err
					}
					if err := union(all, next); err != nil {
						return nil, fmt.Errorf("%s and %s: %w", all.path, args[i], err)
					}
				}
				return all, err
			})
		},
	}
	file.addOutput(c.Flags())
	return c
}

// union adds to a what b has.
func union(a, b *loaded) error {
	x, y := a.Info(), b.Info()
	if a.kind.name != b.kind.name {
		return fmt.Errorf("a %s and a %s do not merge", a.kind.name, b.kind.name)
	}
	if x.Hash != y.Hash && x.Hash != "" && y.Hash != "" {
		return fmt.Errorf("keys of %s and keys of %s do not mix", printable(x.Hash), printable(y.Hash))
	}
	err := fmt.Errorf("filters of type %s do not merge", a.kind.name)
	switch f := a.filter.(type) {
	case *bloom.Filter:
		err = f.Merge(b.filter.(*bloom.Filter))
	case *blocked.Filter:
		err = f.Merge(b.filter.(*blocked.Filter))
	case *counting.Filter:
		err = f.Merge(b.filter.(*counting.Filter))
	case theirKeys:
		if dcso, ok := f.theirFilter.(*foreign.DCSO); ok {
			err = dcso.Merge(b.filter.(theirKeys).theirFilter.(*foreign.DCSO))
		}
	}
	if err != nil && a.Stats().M != b.Stats().M {
		err = fmt.Errorf("%w; build both with the same -type, -n and -p", err)
	}
	a.SetInfo(bloom.Info{Hash: cmp.Or(x.Hash, y.Hash), Comment: agreed(x.Comment, y.Comment)}) // N and P stay
	return err
}

func agreed[T comparable](a, b T) (v T) {
	if a == b {
		v = a
	}
	return v
}
