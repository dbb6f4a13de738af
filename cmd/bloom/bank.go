package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/bank"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/form"
)

func bankCommand() *cobra.Command {
	c := &cobra.Command{Use: "bank"}
	group(c, "bank needs build, info or which")
	c.AddCommand(bankBuildCommand(), bankInfoCommand(), bankWhichCommand())
	return c
}

func bankBuildCommand() *cobra.Command {
	var o makeFlags
	c := &cobra.Command{
		Use:  "build [-n N] [-p P] -o BANK FILE ...",
		Args: need(1, -1, "at least one FILE"),
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := o.config(args)
		if err != nil {
			return err
		}
		if err := checkRepeats(args); err != nil {
			return err
		}
		if o.size.n == 0 {
			if err := checkTwice(args); err != nil {
				return err
			}
		}
		if err := o.size.check(0, ""); err != nil {
			return err
		}
		defer endProgress()
		return o.file.produce(c, func() (saver, error) {
			b, err := buildBank(c.Context(), cfg, uint64(o.size.n), min(o.size.p, 0.5))
			warnInput(cfg)
			if err != nil {
				return nil, o.size.outside(err, shard{})
			}
			doing("writing the bank", 0)
			keyRule{Key: o.input.key}.setInfo(b, o.comment, false)
			return b, o.file.checkEmpty("the input has", cfg.Keys == 0)
		})
	}
	o.register(c.Flags(), "most different lines in a file; else counted",
		"files named by mistake")
	return c
}

// checkRepeats returns an error if a file is given twice: it would become two members.
func checkRepeats(names []string) error {
	given := map[string]bool{}
	for _, name := range names {
		path := filepath.Clean(name)
		if real, err := filepath.EvalSymlinks(path); err == nil && name != lines.Stdin {
			path = real
		}
		if given[path] {
			return usageError{fmt.Errorf("%s is given twice", name)}
		}
		given[path] = true
	}
	return nil
}

func checkTwice(names []string) error {
	for _, name := range names {
		info, err := os.Stat(name)
		if name == lines.Stdin || err == nil && !info.Mode().IsRegular() {
			return usageError{fmt.Errorf("%s can be read only once: give -n", name)}
		}
	}
	return nil
}

// buildBank returns a bank with a filter for each file of cfg. Each filter has room for n different
// lines or, if n is 0, for about as many as the file with the most different lines has.
func buildBank(ctx context.Context, cfg *lines.Config, n uint64, p float64) (*bank.Bank, error) {
	if n == 0 {
		var err error
		if n, err = mostLines(ctx, cfg); err != nil {
			return nil, err
		}
	}
	n = max(n, 1)
	m, k, err := bloom.StrictSize(n, p)
	if err != nil {
		return nil, err
	}
	b, err := bank.NewSize(m, k)
	if err != nil {
		return nil, err
	}
	b.UpdateInfo(func(i *bloom.Info) {
		i.N = n
		i.P = p
	})
	// Members are stored in groups of 64. One more filter collects the lines of the current file.
	groups := float64((len(cfg.Names) + 63) / 64)
	what := fmt.Sprintf("a bank of %s for %s each, at a rate of %v,",
		counted(uint64(len(cfg.Names)), "file"), counted(n, "line"), p)
	if err := fits(what, float64(m)/8+groups*8*float64(m)); err != nil {
		return nil, err
	}
	f := bloom.Must(bloom.NewSize(m, k))
	update := func(hs []bloom.Hash) { f.AddBatch(nil, hs) }
	return b, eachFile(ctx, cfg, "added", update, func(name string) error {
		i, err := b.AppendFilter(f)
		if err != nil {
			return err
		}
		b.SetName(i, name)
		if held := f.ApproxCount(); held > n+n/20+1 { // the count is an estimate
			warn("%s has about %d different lines, but filters have room for %d: "+
				"bank which names it for other lines at a rate of %.2g", name, held, n, f.FPR())
		}
		f.Reset()
		return nil
	})
}

// mostLines estimates the largest number of different lines in a file of cfg.
func mostLines(ctx context.Context, cfg *lines.Config) (largest uint64, err error) {
	var different sample
	err = eachFile(ctx, cfg.Again(), "counted", different.addBatch, func(string) error {
		largest = max(largest, different.count())
		different = sample{}
		return nil
	})
	return largest, err
}

// eachFile calls update with the digests of each file, in batches, and then calls finish with the
// file's name. verb, such as "added", is for the progress line.
func eachFile(ctx context.Context, cfg *lines.Config, verb string, update func([]bloom.Hash),
	finish func(name string) error,
) error {
	file := 0
	err := scan(ctx, cfg, verb, func(b *lines.Batch) (_ int, err error) {
		for ; file < b.File && err == nil; file++ {
			err = finish(cfg.Names[file])
		}
		update(b.Hashes)
		return len(b.Hashes), err
	})
	for ; file < len(cfg.Names) && err == nil; file++ {
		err = finish(cfg.Names[file])
	}
	return err
}

func bankInfoCommand() *cobra.Command {
	const use = "info [--json] BANK ..."
	return reportCommand(use, "at least one BANK", func(path string) (*report, error) {
		if err := checkBank(path, "bloom info shows it", ""); err != nil {
			return nil, err
		}
		file, err := bank.OpenFile(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if err := file.Verify(); err != nil {
			return nil, fmt.Errorf("%w (in %s)", err, path)
		}
		stats := file.Stats()
		r := newReport(path, "bank.Bank", stats, file.Info())
		r.Files = file.Len()
		r.Size = stats.SizeBytes
		return r, nil
	})
}

func bankWhichCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:  "which [--all] BANK [LINE ...]",
		Args: need(1, -1, "the BANK"),
		RunE: likeGrep(func(_ *cobra.Command, args []string) error {
			if stdoutClosed() {
				return errNoStdout
			}
			err := checkBank(args[0], "bloom check looks lines up in it",
				" (the bank comes first, then lines: bloom bank which BANK LINE)")
			if err != nil {
				return err
			}
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			asked := args[1:]
			if len(asked) == 0 {
				if asked, err = stdinLines(); err != nil {
					return fmt.Errorf("standard input: %w", err)
				}
			}
			names, err := filesWith(asked, file, all)
			switch {
			case err != nil:
				return fmt.Errorf("%s: %w", args[0], err)
			case len(names) == 0:
				return errNothing
			}
			_, err = fmt.Println(strings.Join(names, "\n"))
			return err
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "name the files that may have all of the lines")
	return c
}

func stdinLines() (asked []string, err error) {
	in, err := lines.Decompress(os.Stdin, lines.DefaultWindow, '\n')
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.TrimSuffix(line, "\r") != "" {
			asked = append(asked, line)
		}
	}
	return asked, err
}

// checkBank returns an error if the file at path does not begin like a bank. The error ends with
// ifFilter if the file begins like a filter, and otherwise with order.
func checkBank(path, ifFilter, order string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	defer file.Close()
	head, err := peek(file)
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	if form.KindOf(head) == form.Bank {
		return nil
	}
	if k, ok := kindOf(head); ok {
		return fmt.Errorf("%s is a %s, not a bank: %s", path, k.name, ifFilter)
	}
	head = head[:min(len(head), 8)]
	return fmt.Errorf("%s is not a bank: it begins with %q%s", path, head, order)
}

// filesWith returns the names of the files in a bank that may have at least one of the lines in
// args or, if all is true, all of these lines.
func filesWith(args []string, file *os.File, all bool) (names []string, err error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r, err := bank.NewReader(file, info.Size())
	if err != nil {
		return nil, err
	}
	key, _, known := keyOf(r.Info().Hash)
	key.KeepCR = key.KeepCR || !known
	d := newDoubt(file.Name(), r, key)
	if err := checkValues(r, d, args); err != nil {
		return nil, err
	}
	hs, err := hashLines(key, args)
	if err != nil {
		return nil, err
	}
	found, err := d.which(r, hs, args, all)
	if err != nil {
		return nil, err
	}
	warnAll(foreignKeys(file.Name(), r.Info().Hash))
	if d.mistaken(r.Info().P, r.Len()) {
		part := "field"
		if d.made.JSON != "" {
			part = "name"
		}
		warn("%s was made with %s: a LINE is the value of that %s",
			file.Name(), placeFlag(d.made), part)
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		name, err := r.Name(i)
		if err != nil {
			return nil, err
		}
		if name == "" { // the program that made the bank gave the member no name
			name = fmt.Sprintf("member %d", i)
		}
		names = append(names, printable(name))
	}
	return names, nil
}

// which returns the indexes of the members of r that may have at least one of the lines in args or,
// if all is true, every line. hs has the digests of the lines. Doubtful lines are counted in d, as
// one line if all is true.
func (d *doubt) which(r *bank.Reader, hs []bloom.Hash, args []string, all bool) (
	found []int, err error,
) {
	if all {
		found, err = r.WhichAll(nil, hs)
		if slices.ContainsFunc(args, func(arg string) bool { return d.doubts([]byte(arg)) }) {
			d.doubted = 1
			d.misled = uint64(len(found))
		}
		return found, err
	}
	for i, h := range hs {
		before := len(found)
		if found, err = r.Which(found, h); err != nil {
			return nil, err
		}
		if d.doubts([]byte(args[i])) {
			d.doubted++
			d.misled += uint64(len(found) - before)
		}
	}
	return found, nil
}

// checkValues returns an error if one of args contains a byte of d.bars: no key of b contains such
// a byte.
func checkValues(b informed, d *doubt, args []string) error {
	for _, arg := range args {
		if hasAny([]byte(arg), d.bars) {
			return usageError{fmt.Errorf("it was made with %s --sep %q: "+
				"a LINE is the value of that field, and %q has the separator",
				placeFlag(d.made), separatorOf(b), arg)}
		}
	}
	return nil
}

func hashLines(key lines.Key, args []string) (hs []bloom.Hash, err error) {
	for _, arg := range args {
		line, _, err := key.Of([]byte(arg), 0, nil)
		if err == nil && len(line) == 0 {
			err = errors.New("a LINE is empty, but banks have no blank lines")
		}
		if err != nil {
			return nil, err
		}
		hs = append(hs, bloom.Sum(line))
	}
	return hs, nil
}
