package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func addCommand() *cobra.Command {
	return changeCommand("add FILE [file ...]", addToLoaded)
}

func addToLoaded(ctx context.Context, cfg *lines.Config, f *loaded) error {
	if hash := f.Info().Hash; ownHash(hash) {
		warn("%s says that its keys are %q, but bloom adds lines as the flags say", f.path, hash)
	}
	keyRule{cfg.Key, shardIn(f)}.mergeInfo(f)
	err := addLines(ctx, cfg, f.filter, 0)
	if cfg.Blank && cfg.Blanks > 0 {
		recordBlank(f)
	}
	return err
}

func removeCommand() *cobra.Command {
	return changeCommand("remove FILE [file ...]", removeLines)
}

func removeLines(ctx context.Context, cfg *lines.Config, f *loaded) error {
	if f.kind.remove == nil {
		return fmt.Errorf("%s is a %s: "+
			"lines can be removed only from a %s", f.path, f.kind.name, namesOf(removable, "or a"))
	}
	var absent uint64
	err := scan(ctx, cfg, "removed", func(b *lines.Batch) (removed int, _ error) {
		for _, h := range b.Hashes {
			if f.kind.remove(f.filter, h) {
				removed++
			}
		}
		absent += uint64(len(b.Hashes) - removed)
		return removed, nil
	})
	recordBlankRemoved(f.filter)
	if err == nil && absent > 0 {
		warn("%s did not occur in %s", counted(absent, "line"), f.path)
	}
	return err
}

func removable(k kind) string {
	if k.remove != nil {
		return k.name
	}
	return ""
}

// changeCommand returns a command that loads a filter, calls change with the filter and the input,
// and saves the filter.
func changeCommand(
	use string, change func(context.Context, *lines.Config, *loaded) error,
) *cobra.Command {
	var input inputFlags
	var file target
	var force bool
	c := &cobra.Command{Use: use, Args: need(1, -1, "the filter's FILE")}
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := input.config(args[1:])
		if err != nil {
			return err
		}
		release, err := file.lock(c.Context(), args[0], cfg.Names...)
		if err != nil {
			return err
		}
		defer release()
		if err := file.reads(); err != nil {
			return err
		}
		f, err := loadKeys(args[0])
		if err != nil {
			return filterFirst(c.Name(), err)
		}
		if f.compressed {
			return fmt.Errorf("%s %w", args[0], errCompressed)
		}
		cfg.Select = shardIn(f).selector()
		if err := f.keyFromInfo(&cfg.Key, c.Flags()); err != nil {
			return err
		}
		if err := f.checkPlace(cfg.Key.Place); err != nil && !force {
			return err
		}
		defer endProgress()
		err = change(c.Context(), cfg, f)
		warnInput(cfg)
		if err != nil {
			return err
		}
		doing("writing the filter", 0)
		return file.save(f)
	}
	file.register(c.Flags())
	input.register(c.Flags())
	input.addBlank(c.Flags())
	c.Flags().BoolVar(&force, "force", false, "accept a FILE that was made with another -f")
	return c
}

func mergeCommand() *cobra.Command {
	var file target
	c := &cobra.Command{
		Use:  "merge -o FILE FILE ...",
		Args: need(1, -1, "at least one FILE to read"),
		RunE: func(c *cobra.Command, args []string) error {
			return file.produce(c, func() (saver, error) {
				all, err := unionOf(c.Context(), args)
				if err != nil {
					return nil, err
				}
				return all, file.checkEmpty("the filters have", all.Stats().ApproxCount == 0)
			})
		},
	}
	file.addOutput(c.Flags())
	return c
}

func unionOf(ctx context.Context, names []string) (*loaded, error) {
	all, err := loadAny(names[0])
	if err != nil {
		return nil, err
	}
	type spared struct { // a filter's path, and how many names it never reports
		path  string
		names uint64
	}
	nevers := []spared{{all.path, neverOf(all)}}
	for _, name := range names[1:] {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		next, err := loadAny(name)
		if err != nil {
			return nil, err
		}
		if err := union(all, next); err != nil {
			return nil, fmt.Errorf("%s and %s: %w", all.path, name, err)
		}
		never := spared{next.path, neverOf(next)}
		if !slices.Contains(nevers, never) {
			nevers = append(nevers, never)
		}
	}
	for _, never := range nevers {
		if never.names > 0 && len(names) > 1 {
			warnNever(never.path, never.names)
		}
	}
	return all, nil
}

// union adds the keys of b to a. It returns an error if their types or sizes cannot be merged, if
// both have a Hash and these differ, or if their facts are incompatible. If their Comments differ,
// a gets mixedComment.
func union(a, b *loaded) error {
	x, y := a.Info(), b.Info()
	if a.kind.name != b.kind.name {
		return fmt.Errorf("a %s and a %s cannot be merged", a.kind.name, b.kind.name)
	}
	if x.Hash != y.Hash && x.Hash != "" && y.Hash != "" {
		return fmt.Errorf("keys of %s and keys of %s do not mix",
			printable(x.Hash), printable(y.Hash))
	}
	if a.kind.merge == nil {
		return fmt.Errorf("filters of type %s cannot be merged", a.kind.name)
	}
	facts, err := joinFacts(a, b)
	if err != nil {
		return err
	}
	err = a.kind.merge(a.filter, b.filter)
	if err != nil && a.Stats().M != b.Stats().M {
		err = fmt.Errorf("%w; build both with the same --type, -n and -p", err)
	}
	comment := x.Comment
	if x.Comment != y.Comment {
		comment = mixedComment
	}
	a.UpdateInfo(func(i *bloom.Info) {
		i.Comment = comment
		i.Meta = facts.Encode()
	})
	return err
}

const mixedComment = "merged from several filters"
