package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

func dedupeCommand() *cobra.Command {
	var size filterFlags
	var input inputFlags
	var path, out string
	var span, every time.Duration
	var file holder
	var part shard
	c := &cobra.Command{
		Use:   "dedupe [-n N] [-p P] [-state FILE] [file ...]",
		Short: "write each line the first time",
		Long: `dedupe writes each line of its input the first time it appears, in order. No line is
written twice. A new line is taken for an old one, and left out, at a rate of -p or less.

The filter has room for -n different lines, in 4.3 bytes a line at the default -p. With
more, lines are left out more and more often. Without -n it has room for as many lines as
the input seems to have, with -state for half of them, but for 20 million at most. With more
it grows, by as much as it has.

With -state it also leaves out the lines that were written by earlier runs with the same
file. FILE holds exactly the lines that were written: it is saved at the end, now and then
before, at Ctrl-C, SIGTERM, SIGHUP and SIGQUIT, and after an error in the input. A regular
file of output is on the disk before FILE is. FILE may lack the lines that were written
since it was last saved (-save-every) if the run is killed, or if the output fails or takes
no more, as a full disk and head do. The next run writes these again. What the reader of a
pipe loses is lost: dedupe cannot know.

FILE may be a filter of any type, such as one that build made. In a window or a flower
lines are forgotten, and are written again. If another bloom changes FILE, dedupe waits for
its end. With -o lines are appended to OUT. If OUT ends with half a line, as a kill leaves
it, that half is cut off first.

With -span a line is left out only if it came within that time before, such as 24h,
written or left out. -n is the number of different lines that come in it, if they always
came as fast as in its busiest fifteenth. So it is 15 times their number for a file that is
read at once.

With -shard i/n, where i is 0 to n-1, all other lines than those of shard i are left out,
and the filter has room for the n-th part of -n. n runs with the same input write what one
run without -shard does. Each needs the n-th part of its memory.`,
		Example: `  printf 'b\na\nb\n' | bloom dedupe
  bloom dedupe -n 10M -p 1e-9 urls-*.txt.zst > urls.txt
  tail -f access.log | bloom dedupe -state seen.bloom
  bloom dedupe -shard 3/8 -state 3.seen -o 3.txt urls-*.txt.zst`,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := input.config(args)
			if err != nil {
				return err
			}
			if out == lines.Stdin {
				out = ""
			}
			switch {
			case out != "" && path == "":
				return usageError{errors.New("-o needs -state: else write > OUT")}
			case span != 0 && size.n == 0:
				return usageError{errors.New("-span needs -n, the number of lines that come in that time")}
			}
			d := &deduper{arrived: arrivals{total: totalSize(args), read: &cfg.Read, part: part}}
			if path != "" {
				release, err := file.hold(c.Context(), path)
				if err != nil {
					return err
				}
				defer release()
				d.state = &state{path: file.path, every: every, saved: time.Now()}
			}
			wanted := settings{n: uint64(size.n), p: size.p, span: span, part: part}
			wanted.strict = c.Flags().Changed("lines") || c.Flags().Changed("rate") || span != 0
			wanted.anew = file.force && path != "" && (!replaceable(file.path) || empty(file.path))
			if err := d.open(wanted, path); err != nil {
				return err
			}
			if f := d.seen.filter(); f != nil {
				warnKeys(c.Name(), path, f, input.key)
				warnField(c.Name(), path, f, input.key.Field)
				cfg.Sum = sum(f)
				if which := (keys{input.key, part}); d.fresh {
					which.say(f)
				} else {
					which.join(f)
				}
			}
			cfg.Take = part.take()
			d.out = &output{file: os.Stdout}
			if out != "" {
				file, err := goOn(out, cfg)
				if err != nil {
					return err
				}
				defer file.Close()
				d.out.file = file
			}
			return d.run(c.Context(), cfg)
		},
	}
	size.add(c.Flags(), "different lines to expect, those in the state file included; without it the filter grows", "rate of new lines left out by mistake", 1e-6)
	c.Flags().StringVar(&path, "state", "", "`FILE` that remembers lines from run to run; made if it is missing")
	c.Flags().StringVarP(&out, "output", "o", "", "`OUT` to append lines to, with -state; else standard output")
	c.Flags().DurationVar(&every, "save-every", time.Minute, "how long lines may wait until the state file is saved")
	c.Flags().DurationVar(&span, "span", 0, "forget lines after that time, such as 24h")
	part.add(c.Flags())
	file.addForce(c.Flags())
	input.add(c.Flags())
	return c
}

// settings say what filter is wanted.
type settings struct {
	n      uint64
	p      float64
	span   time.Duration
	part   shard
	strict bool // a filter with others is an error
	anew   bool // whatever is in the file
}

// deduper is a run of dedupe.
type deduper struct {
	seen     memory
	fresh    bool   // seen is new
	state    *state // nil without -state
	out      *output
	arrived  arrivals
	room     uint64 // lines that seen is made for, if known
	held     uint64 // lines that seen has
	warned   bool
	kept     []int
	progress *progress
}

// open makes or loads the filter.
func (d *deduper) open(s settings, path string) error {
	fresh, err := s.memory(d.state != nil, &d.arrived)
	if err != nil {
		return usage(err)
	}
	d.seen, d.fresh = fresh, true
	if s.span == 0 { // a window's number is that of a span
		d.room = s.part.part(s.n)
	}
	if d.state == nil || s.anew {
		return nil
	}
	old, err := load(d.state.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case old.compressed:
		return fmt.Errorf("%s %w", path, errCompressed)
	case s.strict && !sameSize(old.filter, fresh.filter()):
		return fmt.Errorf("%s holds a %s of another size or rate than -n, -p and -span make; leave them out to go on with it", path, old.kind.name)
	}
	if err := s.part.check(path, old.filter); err != nil {
		return err
	}
	d.seen, d.fresh = memoryOf(old.filter), false
	if e, ok := old.filter.(estimator); ok {
		d.held = e.ApproxCount()
	}
	return nil
}

// memory returns an empty one.
func (s *settings) memory(saved bool, arrived *arrivals) (memory, error) {
	n := s.part.part(s.n)
	switch {
	case s.span != 0:
		f, err := checked(window.New(window.Config{Capacity: n, FPR: s.p, Span: s.span}))
		return memoryOf(f), err
	case n > 0:
		f, err := fitting(maker(blocked.New), n, s.p)
		return memoryOf(f), err
	}
	return newGrower(s.p, saved, arrived.left)
}

// sameSize reports whether a and b were made alike.
func sameSize(a, b filter) bool {
	switch a := a.(type) {
	case *blocked.Filter:
		b, ok := b.(*blocked.Filter)
		return ok && a.M() == b.M() && a.Lines() == b.Lines()
	case *growing.Filter:
		b, ok := b.(*growing.Filter)
		return ok && a.P() == b.P()
	case *window.Filter:
		b, ok := b.(*window.Filter)
		return ok && a.Config().Capacity == b.Config().Capacity && a.Config().FPR == b.Config().FPR && a.Config().Span == b.Config().Span
	}
	return false
}

func (d *deduper) run(ctx context.Context, cfg *lines.Config) error {
	d.progress = newProgress(cfg, "written", d.held, d.room)
	d.out.progress = d.progress
	cfg.Out = d.out
	var ticks <-chan time.Time
	if d.state != nil {
		ticker := time.NewTicker(min(time.Second, max(d.state.every, time.Millisecond)))
		defer ticker.Stop()
		ticks = ticker.C
	}
	err := lines.Start(ctx, cfg).Each(ctx, ticks, func() error { return d.state.autosave(d.seen, d.out) }, func(b *lines.Batch) error {
		d.use(b)
		return nil
	})
	// Lines that did not get out are in seen after errors of the output.
	if d.state != nil && !d.out.failed && err != lines.ErrStuck && (d.state.dirty || err == nil) {
		if serr := d.state.save(d.seen, d.out); err == nil {
			err = serr
		}
	}
	d.progress.end()
	if f := d.seen.filter(); f != nil && !d.warned && full(f) {
		fmt.Fprintln(os.Stderr, "bloom: warning: the filter is fuller than it was made for: new lines are left out by mistake more and more often")
	}
	warnBad(cfg)
	if err == lines.ErrStuck && d.state != nil {
		return fmt.Errorf("%w: %s is as it was last saved", err, d.state.path)
	}
	return err
}

// use writes the new lines of b.
func (d *deduper) use(b *lines.Batch) {
	d.arrived.add(b)
	d.kept = d.seen.add(d.kept[:0], b.Hashes)
	kept := len(d.kept)
	d.progress.add(len(b.Ends), kept, kept)
	d.held += uint64(kept)
	if kept == 0 {
		return
	}
	if d.state != nil {
		d.state.dirty = true
	}
	if d.room > 0 && d.held > d.room && !d.warned {
		d.warned = true
		d.progress.hide()
		fmt.Fprintf(os.Stderr, "bloom: warning: more than %d different lines (-n): new ones are left out by mistake more and more often\n", d.room)
	}
	b.Keep(d.kept)
}
