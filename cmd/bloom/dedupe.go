package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/growing"
)

func dedupeCommand() *cobra.Command {
	var size filterFlags
	var input inputFlags
	var state string
	var file holder
	var every time.Duration
	c := &cobra.Command{
		Use:   "dedupe [-n N] [-p P] [-state FILE] [file ...]",
		Short: "write each line the first time",
		Long: `dedupe writes each line of its input the first time it appears, in order. No line is
written twice. A new line is taken for an old one, and left out, at a rate of -p or less.

The filter has room for -n different lines, in 4.3 bytes a line at the default -p. With
more, lines are left out more and more often. Without -n it grows, and takes up to four
times as much, with -state up to six times.

With -state it also leaves out the lines that were written by earlier runs with the same
file. FILE holds exactly the lines that were written: it is saved at the end, now and then
before, at Ctrl-C and SIGTERM, and after an error in the input. It may be a filter of any
type, such as one that build made. If another bloom changes it, dedupe waits for its end.`,
		Example: `  printf 'b\na\nb\n' | bloom dedupe
  bloom dedupe -n 10M -p 1e-9 urls-*.txt.zst > urls.txt
  tail -f access.log | bloom dedupe -state seen.bloom`,
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := input.config(args)
			if err != nil {
				return err
			}
			d := &deduper{p: size.p, total: totalSize(args), state: state, every: every, saved: time.Now(), enough: leastEarly}
			if state != "" {
				release, err := file.hold(c.Context(), state)
				if err != nil {
					return err
				}
				defer release()
			}
			if err := d.open(c, size); err != nil {
				return err
			}
			warnKeys(c.Name(), state, d.set, input.key)
			return d.run(c.Context(), cfg)
		},
	}
	size.add(c.Flags(), "different lines to expect, those in the state file included; without it the filter grows", "rate of new lines left out by mistake", 1e-6)
	c.Flags().StringVar(&state, "state", "", "`FILE` that remembers lines from run to run; made if it is missing")
	c.Flags().DurationVar(&every, "save-every", time.Minute, "how long lines may wait until the state file is saved")
	file.add(c.Flags())
	input.add(c.Flags())
	return c
}

// deduper is a run of dedupe.
type deduper struct {
	set      filter  // nil without -n and -state
	batch    batcher // set, or layers instead; nil if set has no batches
	state    string  // path of the file that set is saved to, or ""
	every    time.Duration
	saved    time.Time     // when state was last what set is
	took     time.Duration // saving it
	dirty    bool          // set has lines that state lacks
	unsized  bool          // set is a growing.Filter to make anew once its size is known
	early    []bloom.Hash  // the digests of all lines in set, while unsized
	enough   int           // with so many of them it is made anew
	p        float64
	total    int64         // bytes of input, if known
	read     *atomic.Int64 // of them, which may be ahead of what is in use
	used     int64         // bytes in use, decompressed
	lines    uint64        // in use
	room     uint64        // lines that set is made for, if known
	held     uint64        // lines that set has
	warned   bool
	fresh    fresh
	kept     []int
	progress *progress
}

// open makes or loads the filter.
func (d *deduper) open(c *cobra.Command, size filterFlags) error {
	var fresh filter
	var err error
	d.room = uint64(size.n)
	switch {
	case size.n > 0:
		fresh, err = checked(blocked.New(d.room, size.p))
		d.set = fresh
	case d.state != "":
		fresh, err = checked(growing.New(size.p))
		d.set = fresh
	default:
		d.batch, err = newLayers(size.p, d.left)
	}
	if err != nil {
		return usageError{err}
	}
	if d.state == "" {
		return nil
	}
	old, err := load(d.state)
	if err == nil {
		if old.compressed {
			return fmt.Errorf("%s %w", d.state, errCompressed)
		}
		if err := sameSize(c, old, fresh, d.state); err != nil {
			return err
		}
		d.set = old.filter
		if e, ok := old.filter.(estimator); ok {
			d.held = e.ApproxCount()
		}
		return nil
	}
	d.unsized = size.n == 0
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// sameSize returns an error if -n or -p were given and make a filter of another size
// than the one that was loaded.
func sameSize(c *cobra.Command, old *loaded, fresh filter, path string) error {
	if !c.Flags().Changed("lines") && !c.Flags().Changed("rate") {
		return nil
	}
	same := false
	switch f := old.filter.(type) {
	case *blocked.Filter:
		g, ok := fresh.(*blocked.Filter)
		same = ok && f.M() == g.M() && f.Lines() == g.Lines()
	case *growing.Filter:
		g, ok := fresh.(*growing.Filter)
		shown := func(f *growing.Filter) string { // its p
			before, _, _ := strings.Cut(f.String(), ",")
			return before
		}
		same = ok && shown(f) == shown(g)
	}
	if !same {
		return fmt.Errorf("%s holds a %s of another size or rate than -n and -p make; leave both out to go on with it", path, old.kind.name)
	}
	return nil
}

func (d *deduper) run(ctx context.Context, cfg *lines.Config) error {
	if d.set != nil {
		cfg.Sum = sum(d.set)
		d.batch = batches(d.set)
		sayHash(d.set, cfg)
	}
	d.read = &cfg.Read
	d.progress = newProgress(cfg, "written", d.held, d.room)
	ticks := time.NewTicker(min(time.Second, max(d.every, time.Millisecond)))
	defer ticks.Stop()
	out := &stdout{progress: d.progress}
	cfg.Out = out
	used := true
	err := lines.Start(ctx, cfg).Each(ctx, ticks.C, d.autosave, func(b *lines.Batch) error {
		err := d.use(b)
		used = err == nil
		return err
	})
	// After an error of the output, set has lines that nobody got.
	if used && !out.failed && d.state != "" && (d.dirty || err == nil) {
		if serr := d.save(); err == nil {
			err = serr
		}
	}
	d.progress.end()
	if d.state != "" && !d.warned && full(d.set) {
		fmt.Fprintln(os.Stderr, "bloom: warning: the filter is fuller than it was made for: new lines are left out by mistake more and more often")
	}
	return err
}

// left estimates how many lines are still to come, at least 1. It returns 0 where nobody
// knows.
func (d *deduper) left() uint64 {
	read := min(d.read.Load(), d.used)
	if d.total == 0 || read == 0 {
		return 0
	}
	return 1 + uint64(float64(d.lines)/float64(read)*float64(max(0, d.total-read)))
}

// learn makes the filter anew, with room for four times the lines that came so far, now
// and then until they are many. So an input whose size nobody knows, such as a pipe, gets
// a filter of few layers, as a file does. b is what came last.
func (d *deduper) learn(b *lines.Batch) error {
	for _, i := range d.kept {
		d.early = append(d.early, b.Hashes[i])
	}
	if len(d.early) < d.enough {
		return nil
	}
	d.enough *= 4
	if err := d.anew(uint64(d.enough)); err != nil {
		return err
	}
	if d.enough > mostEarly {
		d.unsized, d.early = false, nil
		runtime.GC() // else the next layers would get other memory than theirs
		return nil
	}
	d.early = slices.Grow(d.early, d.enough+d.enough/16-len(d.early)) // for a batch more than enough
	return nil
}

// With leastEarly lines the filter is made anew for the first time, and with mostEarly for
// the last time. Until then each line takes 16 bytes more.
const (
	leastEarly = 1 << 14
	mostEarly  = 1 << 20
)

// anew makes the filter anew, for n lines.
func (d *deduper) anew(n uint64) error {
	f, err := growing.NewFor(n, d.p)
	if err != nil {
		return err
	}
	f.AddBatch(nil, d.early)
	d.set, d.batch = f, f
	return nil
}

// add adds hs and appends the numbers of those that were new to kept.
func (d *deduper) add(kept []int, hs []bloom.Hash) []int {
	if d.batch != nil {
		return d.fresh.add(kept, d.batch, hs)
	}
	for i, h := range hs {
		if d.set.AddHash(h) {
			kept = append(kept, i)
		}
	}
	return kept
}

// use writes the new lines of b.
func (d *deduper) use(b *lines.Batch) error {
	d.used += int64(len(b.Data))
	d.lines += uint64(len(b.Ends))
	if left := d.left(); d.unsized && left > 0 {
		d.unsized = false
		if err := d.anew(min(left/2, mostRoom)); err != nil { // as layers do
			return err
		}
	}
	d.kept = d.add(d.kept[:0], b.Hashes)
	kept := len(d.kept)
	if d.unsized {
		if err := d.learn(b); err != nil {
			return err
		}
	}
	d.progress.add(len(b.Ends), kept, kept)
	d.held += uint64(kept)
	if kept == 0 {
		return nil
	}
	d.dirty = true
	if d.room > 0 && d.held > d.room && !d.warned {
		d.warned = true
		d.progress.hide()
		fmt.Fprintf(os.Stderr, "bloom: warning: more than %d different lines (-n): new ones are left out by mistake more and more often\n", d.room)
	}
	b.Keep(d.kept)
	return nil
}

// autosave saves the state now and then, and spends at most a twentieth of the time on
// it.
func (d *deduper) autosave() error {
	if d.state == "" || !d.dirty || time.Since(d.saved) < max(d.every, 20*d.took) {
		return nil
	}
	return d.save()
}

func (d *deduper) save() error {
	start := time.Now()
	if err := d.set.SaveFile(d.state); err != nil {
		return err
	}
	d.dirty, d.saved, d.took = false, time.Now(), time.Since(start)
	return nil
}
