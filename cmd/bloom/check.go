package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func checkCommand() *cobra.Command {
	var input inputFlags
	var invert, count, quiet bool
	c := &cobra.Command{
		Use:   "check [-v] [-c | -q] FILE ... [file ...]",
		Short: "write the lines that may be in a filter",
		Long: `check writes the lines of its input that may be in the filter FILE, in order: all that are
in it, and others at the filter's rate. With -v it writes those that certainly are not in it.
With -c it writes how many they are instead. With -q it writes nothing, and ends at the first.

If FILE was made with -shard i/n, the files of the other shards follow it, in any order, and
each line is looked up in its own.

A file that build made says whether -hex, -fold-case or -keep-cr made its keys. They need not be
given again, and it is an error if others are. So it is with add, remove, dedupe and serve.

Blank lines, whose key is empty, are left out: with -v they are not written either. With -blank
they are looked up. In a full filter of type guava or counting the empty line is then found with
a probability of a half, though it is not in the list: all bits of its key are the first one.

The exit status is grep's: 0 if there was such a line, 1 if there was none, 2 after an error.`,
		Example: `  printf 'apple\nbanana\n' | bloom build -o fruit.bloom && printf 'banana\ncherry\n' | bloom check fruit.bloom
  sha1sum * | cut -c 1-40 | tr a-f A-F | bloom check hashlookup-full.bloom`,
		Args: need(1, -1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			all, f, files, err := loadAll(args)
			if err != nil {
				return err
			}
			cfg, err := input.config(files)
			if err == nil {
				err = stdoutApart(inputs(files)...)
			}
			if err != nil {
				return err
			}
			if err := f.match(cfg, c.Flags()); err != nil {
				return err
			}
			cfg.Take = nil // the lines of all shards
			verb := "found"
			if invert {
				verb = "not found"
			}
			progress := newProgress(cfg, verb, 0, 0)
			cfg.Out = &output{file: os.Stdout, progress: progress}
			var present []bool
			var kept []int
			var found uint64
			err = lines.Start(c.Context(), cfg).Each(c.Context(), nil, nil, func(b *lines.Batch) error {
				present = answers(present, len(b.Hashes))
				all(present, b)
				kept = where(kept[:0], present, !invert)
				progress.add(len(b.Ends), len(kept))
				found += uint64(len(kept))
				switch {
				case quiet && found > 0:
					return errFound
				case count || quiet:
					kept = kept[:0]
				}
				b.Keep(kept)
				return nil
			})
			progress.end()
			warnBad(cfg)
			if err == nil && count && c.Context().Err() == nil {
				_, err = fmt.Println(found)
			}
			switch {
			case err == errFound:
				return nil
			case err == nil && found == 0:
				return errNothing
			}
			return err
		},
	}
	c.Flags().BoolVarP(&invert, "invert", "v", false, "write the lines that certainly are not in the filter")
	c.Flags().BoolVarP(&count, "count", "c", false, "write how many lines there are, not the lines")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "write nothing: the exit status says whether there is such a line")
	input.add(c.Flags())
	input.addBlank(c.Flags())
	return c
}

// errFound ends check -q.
var errFound = errors.New("found")
