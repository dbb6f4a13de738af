package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func checkCommand() *cobra.Command {
	var k checker
	var input inputFlags
	c := &cobra.Command{
		Use:  "check [-v] [-c | -q] FILE ... [file ...]",
		Args: need(1, -1, "the filter's FILE"),
		RunE: likeGrep(func(c *cobra.Command, args []string) error {
			if !k.quiet && stdoutClosed() {
				return errNoStdout
			}
			cfg, err := k.load(c, &input, args)
			if err != nil {
				return err
			}
			missing := dropUnreadable(cfg)
			if len(cfg.Names) == 0 {
				return errShown
			}
			if err := k.open(cfg); err != nil {
				return err
			}
			err = lines.Start(c.Context(), cfg).Each(c.Context(), nil, nil, k.look)
			k.progress.end()
			warnBad(cfg)
			warnings := k.warnings()
			if len(warnings) > 0 && k.certain() && (err == nil || err == errFound) {
				return errors.New(strings.Join(warnings, "; "))
			}
			warnAll(warnings)
			if err == nil && k.count && !k.quiet && c.Context().Err() == nil {
				_, err = fmt.Println(k.wanted)
			}
			return k.outcome(err, missing)
		}),
	}
	c.Flags().BoolVarP(&k.invert, "invert", "v", false,
		"write the lines that are certainly not in FILE")
	c.Flags().BoolVarP(&k.count, "count", "c", false,
		"write only the number of lines")
	c.Flags().BoolVarP(&k.quiet, "quiet", "q", false,
		"write nothing; the exit status is the answer")
	input.register(c.Flags())
	input.addBlank(c.Flags())
	return c
}

type checker struct {
	invert, count, quiet bool

	all      asker
	cfg      *lines.Config
	doubt    *doubt
	foreign  []string // the warning of foreignKeys, if any
	rate     func() float64
	progress *progress
	wanted   uint64 // the number of lines to write or to count
	present  []bool // a buffer for answers
	kept     []int  // a buffer for the indexes of lines
}

func (k *checker) load(c *cobra.Command, input *inputFlags, args []string) (*lines.Config, error) {
	all, list, files, err := loadAll(args)
	if err != nil {
		return nil, filterFirst(c.Name(), err)
	}
	cfg, err := input.config(files)
	if err == nil {
		err = checkStdout(cfg.Names...)
	}
	if err == nil {
		err = list.keyFromInfo(&cfg.Key, c.Flags())
	}
	if err != nil {
		return nil, err
	}
	k.all = all
	k.cfg = cfg
	k.foreign = foreignKeys(list.path, list.Info().Hash)
	k.rate = sync.OnceValue(func() float64 { return list.Stats().FPR })
	k.doubt = newDoubt(list.path, list, cfg.Key)
	return cfg, nil
}

func (k *checker) open(cfg *lines.Config) error {
	out := &output{file: os.Stdout}
	if !k.count && !k.quiet {
		if err := out.openStdout(cfg.Delim); err != nil {
			return err
		}
	}
	verb := "found"
	if k.invert {
		verb = "not found"
	}
	k.progress = newProgress(cfg, verb)
	out.progress = k.progress
	cfg.Out = out
	return nil
}

// errFound ends reading early, because no more lines are needed.
var errFound = errors.New("found")

func (k *checker) look(b *lines.Batch) error {
	k.present = answers(k.present, len(b.Hashes))
	k.all(k.present, b)
	k.doubt.look(b, k.present)
	k.kept = indexesOf(k.kept[:0], k.present, !k.invert)
	k.progress.count(len(b.Ends), len(k.kept))
	k.wanted += uint64(len(k.kept))
	switch {
	case k.quiet && k.wanted > 0 && !(k.invert && k.unclear()):
		return errFound
	case k.count || k.quiet:
		k.kept = k.kept[:0]
	}
	b.Keep(k.kept)
	return nil
}

// warnings returns the reasons to think that the wrong keys were looked up.
func (k *checker) warnings() []string {
	return slices.Concat(unparted(k.cfg), k.foreign, k.doubt.warnings(k.rate))
}

// unclear reports whether there are warnings that later lines may remove.
func (k *checker) unclear() bool {
	return len(k.foreign) == 0 && !k.doubt.mixed && len(k.warnings()) > 0
}

// certain reports whether the exit status alone says that lines are certainly not in the filter.
func (k *checker) certain() bool {
	return k.quiet && k.doubt.lines > 0 && k.invert == (k.wanted > 0)
}

const (
	errNothing = silent(1) // nothing was found
	errShown   = silent(2) // the error was already logged
)

// likeGrep wraps run so that the command exits as grep does: with status 1 if nothing was found,
// and 2 after an error.
func likeGrep(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		err := run(c, args)
		if err == nil || errors.As(err, new(silent)) {
			return err
		}
		return usageError{err}
	}
}

// outcome returns the error that gives check its exit status. err is the error that ended the
// look-ups, if any; missing means that a file could not be read.
func (k *checker) outcome(err error, missing bool) error {
	switch {
	case err == errFound:
		return nil
	case err == nil && missing:
		return errShown
	case err == nil && k.wanted == 0:
		return errNothing
	}
	return err
}

// dropUnreadable removes each unreadable file from cfg and logs its error. It reports whether there
// were any.
func dropUnreadable(cfg *lines.Config) (dropped bool) {
	var names []string
	for _, name := range cfg.Names {
		if err := readable(name); err != nil {
			logf("%s: %v", name, cause(err))
			continue
		}
		names = append(names, name)
	}
	dropped = len(names) < len(cfg.Names)
	cfg.Names = names
	return dropped
}

// asker looks up the keys of a batch, as contains does.
type asker func(found []bool, b *lines.Batch)

// loadAll loads the filter that args[0] names, and returns it as first. If it is one of n shards,
// args[:n] must name all shards, in any order, and ask looks each key up in its shard. others are
// the remaining args.
func loadAll(args []string) (ask asker, first *loaded, others []string, err error) {
	first, err = loadKeys(args[0])
	if err != nil {
		return nil, nil, nil, err
	}
	shard := shardIn(first)
	if shard.n <= 1 {
		ask = func(found []bool, b *lines.Batch) { contains(first.filter, found, b) }
		return ask, first, args[1:], nil
	}
	s := make(sharded, shard.n)
	s[shard.i] = first
	for n := 1; n < int(shard.n); n++ {
		if n == len(args) {
			return nil, nil, nil, s.missing(args[0])
		}
		next, err := load(args[n])
		if err != nil {
			return nil, nil, nil, fmt.Errorf("%w; the files of all shards come first: %w",
				err, s.missing(args[0]))
		}
		nextShard := shardIn(next)
		sameList := nextShard.n == shard.n && next.Info().Hash == first.Info().Hash &&
			factsOf(next).Get(fieldFact) == factsOf(first).Get(fieldFact) &&
			factsOf(next).Get(jsonFact) == factsOf(first).Get(jsonFact) &&
			next.kind.name == first.kind.name
		if !sameList {
			return nil, nil, nil, fmt.Errorf("%s belongs to a different list from %s: %w",
				args[n], args[0], s.missing(args[0]))
		}
		if s[nextShard.i] != nil {
			return nil, nil, nil, fmt.Errorf("%s is shard %v, which is given twice: %w",
				args[n], &nextShard, s.missing(args[0]))
		}
		s[nextShard.i] = next
	}
	return s.contains, first, args[shard.n:], nil
}

// sharded has the filter of shard i at index i.
type sharded []*loaded

func (s sharded) contains(found []bool, b *lines.Batch) {
	for i, h := range b.Hashes {
		hashed, _ := methodsOf(s[shardOf(h, uint64(len(s)))].filter)
		found[i] = hashed.ContainsHash(h)
	}
}

// missing returns an error if s lacks the filter of a shard. path is the file of a shard that s
// has.
func (s sharded) missing(path string) error {
	for i, f := range s {
		if f == nil {
			return usageError{fmt.Errorf("%s is one of %d shards, and shard %d/%d is missing",
				path, len(s), i, len(s))}
		}
	}
	return nil
}
