package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func addCommand() *cobra.Command {
	return changeCommand(&cobra.Command{
		Use: "add FILE [file ...]",
	}, func(ctx context.Context, cfg *lines.Config, f *loaded) error {
		keys{cfg.Key, partOf(f)}.join(f)
		err := addLines(ctx, cfg, f.filter, 0)
		if cfg.Blank && cfg.Blanks > 0 {
			sayBlank(f)
		}
		return err
	})
}

func removeCommand() *cobra.Command {
	return changeCommand(&cobra.Command{
		Use: "remove FILE [file ...]",
	}, removeLines)
}

func removeLines(ctx context.Context, cfg *lines.Config, f *loaded) error {
	set, ok := f.filter.(interface{ RemoveHash(bloom.Hash) bool })
	if !ok {
		return fmt.Errorf("%s is a %s: lines can be removed from a counting.Filter or a cuckoo.Filter only", f.path, f.kind.name)
	}
	var absent uint64
	err := scan(ctx, cfg, newProgress(cfg, "removed", 0, 0), func(b *lines.Batch) (removed int, _ error) {
		for _, h := range b.Hashes {
			if set.RemoveHash(h) {
				removed++
			}
		}
		absent += uint64(len(b.Hashes) - removed)
		return removed, nil
	})
	if err == nil && absent > 0 {
		fmt.Fprintf(os.Stderr, "bloom: warning: %s did not occur in %s\n", counted(absent, "line"), f.path)
	}
	return err
}

// changeCommand has c load a filter, change it with the lines of the input, and save it.
func changeCommand(c *cobra.Command, change func(context.Context, *lines.Config, *loaded) error) *cobra.Command {
	var input inputFlags
	var file holder
	c.Args = need(1, -1, "the filter's FILE")
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := input.config(args[1:])
		if err != nil {
			return err
		}
		if info, err := os.Stat(args[0]); err == nil {
			if err := apart(args[0], info, args[1:]); err != nil {
				return err
			}
		}
		release, err := file.hold(c.Context(), args[0])
		if err != nil {
			return err
		}
		defer release()
		f, err := loadKeys(args[0])
		if err != nil {
			return err
		}
		if f.compressed {
			return fmt.Errorf("%s %w", args[0], errCompressed)
		}
		if err := f.match(cfg, c.Flags()); err != nil {
			return err
		}
		if err := change(c.Context(), cfg, f); err != nil {
			return err
		}
		return f.SaveFile(file.path)
	}
	file.add(c.Flags())
	input.add(c.Flags())
	input.addBlank(c.Flags())
	return c
}
