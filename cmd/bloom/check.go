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
		Use:  "check [-v] [-c | -q] FILE ... [file ...]",
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
