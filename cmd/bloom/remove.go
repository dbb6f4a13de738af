package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
)

func removeCommand() *cobra.Command {
	var input inputFlags
	var file holder
	c := &cobra.Command{
		Use:   "remove FILE [file ...]",
		Short: "remove lines from a counting filter",
		Long: `remove removes all lines of its input from the filter FILE, which must be of type
counting. A line that was added more than once must be removed as often. Remove no line
that was not added: where the filter takes it for one that was, others are lost. Lines that
certainly are not there change nothing, and are counted in a warning. The file is replaced
once all lines are gone; before, and after an error, it is as it was. If another bloom
changes the file, remove waits for its end.`,
		Example: `  printf 'apple\nbanana\n' | bloom build -type counting -o fruit.bloom && printf 'apple\n' | bloom remove fruit.bloom`,
		Args:    need(1, -1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := input.config(args[1:])
			if err != nil {
				return err
			}
			release, err := file.hold(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer release()
			f, err := load(args[0])
			if err != nil {
				return err
			}
			set, ok := f.filter.(*counting.Filter)
			switch {
			case !ok:
				return fmt.Errorf("%s is a %s: lines can be removed from a counting.Filter only", args[0], f.kind.name)
			case f.compressed:
				return fmt.Errorf("%s %w", args[0], errCompressed)
			}
			warnKeys(c.Name(), args[0], f, input.key)
			cfg.Take = partOf(f).take()
			absent := 0
			progress := newProgress(cfg, "removed", 0, 0)
			err = lines.Start(c.Context(), cfg).Each(c.Context(), nil, nil, func(b *lines.Batch) error {
				removed := 0
				for _, h := range b.Hashes {
					if set.RemoveHash(h) {
						removed++
					}
				}
				absent += len(b.Hashes) - removed
				progress.add(len(b.Ends), removed, 0)
				return nil
			})
			progress.end()
			warnBad(cfg)
			switch {
			case err != nil:
				return err
			case c.Context().Err() != nil:
				return errInterrupted
			case absent > 0:
				fmt.Fprintf(os.Stderr, "bloom: warning: %d lines were not in %s\n", absent, args[0])
			}
			return f.SaveFile(file.path)
		},
	}
	file.add(c.Flags())
	input.add(c.Flags())
	return c
}
