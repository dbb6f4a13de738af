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
		RunE: likeGrep(func(c *cobra.Command, args []string) error {
			if !quiet && stdoutClosed() {
				return errNoStdout
			}
			all, f, files, err := loadAll(args)
			if err != nil {
				return filterFirst(c.Name(), err)
			}
			cfg, err := input.config(files)
			if err == nil {
				err = checkStdout(cfg.Names...)
			}
			if err != nil {
				return err
			}
			if err := f.keyFromInfo(&cfg.Key, c.Flags()); err != nil {
				return err
			}
			verb := "found"
			if invert {
				verb = "not found"
			}
			missing := dropUnreadable(cfg)
			if len(cfg.Names) == 0 {
				return errShown
			}
			out := &output{file: os.Stdout}
			if !count && !quiet {
				if err := out.openStdout(cfg.Delim); err != nil {
					return err
				}
			}
			progress := newProgress(cfg, verb)
			out.progress = progress
			cfg.Out = out
			var present []bool
			var kept []int
			var found, hits uint64 // lines to write or count, and lines that the filter may have
			var misses bool        // whether some lines need another -f
			reader := lines.Start(c.Context(), cfg)
			err = reader.Each(c.Context(), nil, nil, func(b *lines.Batch) error {
				present = answers(present, len(b.Hashes))
				all(present, b)
				hits += uint64(trues(present))
				misses = misses || hits == 0 && missesField(f, cfg.Key.Field, b.Data)
				kept = indexesOf(kept[:0], present, !invert)
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
			if hits == 0 {
				warnHash(f.path, f.Info().Hash)
				if misses {
					f.warnField(cfg.Key.Field)
				}
			}
			if err == nil && count && c.Context().Err() == nil {
				_, err = fmt.Println(found)
			}
			switch {
			case err == errFound:
				return nil
			case err == nil && missing:
				return errShown
			case err == nil && found == 0:
				return errNothing
			}
			return err
		}),
	}
	c.Flags().BoolVarP(&invert, "invert", "v", false,
		"write the lines that are certainly not in it")
	c.Flags().BoolVarP(&count, "count", "c", false,
		"write how many there are, not the lines")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false,
		"write nothing; the exit status tells")
	input.add(c.Flags())
	input.addBlank(c.Flags())
	return c
}

// dropUnreadable removes files from cfg if they cannot be read, writes an error for each, and
// reports whether there were any.
func dropUnreadable(cfg *lines.Config) (dropped bool) {
	var names []string
	for _, name := range cfg.Names {
		if err := readable(name); err != nil {
			say("%s: %v", name, cause(err))
			continue
		}
		names = append(names, name)
	}
	dropped = len(names) < len(cfg.Names)
	cfg.Names = names
	return dropped
}

// errFound ends check -q at the first line that check would otherwise write.
var errFound = errors.New("found")

// asker looks up the keys of a batch, as contains does.
type asker func(found []bool, b *lines.Batch)

// loadAll loads the filter that args[0] names. If that is one of n shards, the first n args must
// name all shards, in any order. all looks keys up in all of these; rest has the other args.
func loadAll(args []string) (all asker, first *loaded, rest []string, err error) {
	first, err = loadKeys(args[0])
	if err != nil {
		return nil, nil, nil, err
	}
	part := partOf(first)
	if part.n <= 1 {
		all = func(found []bool, b *lines.Batch) { contains(first.filter, found, b) }
		return all, first, args[1:], nil
	}
	s := make(sharded, part.n)
	s[part.i] = first
	for n := 1; n < int(part.n); n++ {
		if n == len(args) {
			return nil, nil, nil, s.missing(args[0])
		}
		next, err := load(args[n])
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%w; the files of all shards come first: %w",
				err, s.missing(args[0]))
		}
		nextPart := partOf(next)
		sameList := nextPart.n == part.n && next.Info().Hash == first.Info().Hash &&
			factsOf(next).Get(fieldFact) == factsOf(first).Get(fieldFact) &&
			next.kind.name == first.kind.name
		if !sameList {
			return nil, nil, nil, fmt.Errorf("%s belongs to another list than %s: %w",
				args[n], args[0], s.missing(args[0]))
		}
		if s[nextPart.i] != nil {
			return nil, nil, nil, fmt.Errorf("%s is shard %v, which is given twice: %w",
				args[n], &nextPart, s.missing(args[0]))
		}
		s[nextPart.i] = next
	}
	return s.contains, first, args[part.n:], nil
}

// sharded has the filter of shard i at index i.
type sharded []*loaded

// contains sets found[i] to whether the filter of its shard may have the key of b.Hashes[i].
func (s sharded) contains(found []bool, b *lines.Batch) {
	for i, h := range b.Hashes {
		found[i] = s[shardOf(h, uint64(len(s)))].filter.(hashFilter).ContainsHash(h)
	}
}

// missing returns an error if s lacks the filter of a shard. The error names path, the file of a
// shard that s has.
func (s sharded) missing(path string) error {
	for i, f := range s {
		if f == nil {
			return usageError{fmt.Errorf("%s is one of %d shards, and shard %d/%d is missing",
				path, len(s), i, len(s))}
		}
	}
	return nil
}
