package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func checkCommand() *cobra.Command {
	var input inputFlags
	var invert bool
	c := &cobra.Command{
		Use:   "check [-v] FILE ... [file ...]",
		Short: "write the lines that may be in a filter",
		Long: `check writes the lines of its input that may be in the filter FILE, in order: all that
are, and others at the filter's rate. With -v it writes those that certainly are not.

If FILE was made with -shard i/n, the files of the other shards follow it, in any order, and
each line is looked up in its own.

A file that build made tells whether -hex or -fold-case made its keys. check does what its
own flags say, and warns if the file tells otherwise; so do add, bench, dedupe and serve.

The exit status is grep's: 0 if a line was written, 1 if none was, 2 after an error.`,
		Example: `  printf 'apple\nbanana\n' | bloom build -o fruit.bloom && printf 'banana\ncherry\n' | bloom check fruit.bloom
  sha1sum * | cut -c 1-40 | tr a-f A-F | bloom check hashlookup-full.bloom`,
		Args: need(1, -1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			all, f, files, err := loadAll(args)
			if err != nil {
				return err
			}
			cfg, err := input.config(files)
			if err != nil {
				return err
			}
			warnKeys(c.Name(), args[0], f, input.key)
			cfg.Sum = sum(f)
			verb := "found"
			if invert {
				verb = "not found"
			}
			progress := newProgress(cfg, verb, 0, 0)
			cfg.Out = &output{file: os.Stdout, progress: progress}
			var present []bool
			var kept []int
			written := false
			err = lines.Start(c.Context(), cfg).Each(c.Context(), nil, nil, func(b *lines.Batch) error {
				present = all.contains(present[:0], b.Hashes)
				kept = where(kept[:0], present, !invert)
				progress.add(len(b.Ends), len(kept), 0)
				written = written || len(kept) > 0
				b.Keep(kept)
				return nil
			})
			progress.end()
			warnBad(cfg)
			if err == nil && !written {
				return errNothing
			}
			return err
		},
	}
	c.Flags().BoolVarP(&invert, "invert", "v", false, "write the lines that certainly are not in the filter")
	input.add(c.Flags())
	return c
}
