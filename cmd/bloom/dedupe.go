package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// dedupeFlags are those of dedupe.
type dedupeFlags struct {
	size       filterFlags
	input      inputFlags
	file       holder
	part       shard
	state, out string
	span       time.Duration
	every      time.Duration
	sized      bool // by -n, -p or -span
}

func dedupeCommand() *cobra.Command {
	var o dedupeFlags
	c := &cobra.Command{
		Use:  "dedupe [-n N] [-p P] [-state FILE] [file ...]",
		RunE: o.run,
	}
	o.size.add(c.Flags(), "different lines to expect, those in the state file included; without it the filter grows", "rate of new lines left out by mistake", 1e-6)
	c.Flags().StringVar(&o.state, "state", "", "`FILE` that remembers lines from run to run; made if it is missing")
	c.Flags().StringVarP(&o.out, "output", "o", "", "`OUT` to append lines to, with -state; else standard output")
	c.Flags().DurationVar(&o.every, "save-every", time.Minute, "how long lines may wait until the state file is saved")
	c.Flags().DurationVar(&o.span, "span", 0, "forget lines after that time, such as 24h")
	o.part.add(c.Flags())
	o.file.addForce(c.Flags())
	o.input.add(c.Flags())
	return c
}

func (o *dedupeFlags) run(c *cobra.Command, args []string) error {
	cfg, err := o.input.config(args)
	if err != nil {
		return err
	}
	if o.out == lines.Stdin {
		o.out = ""
	}
	switch {
	case o.out != "" && o.state == "":
		return usageError{errors.New("-o needs -state: else write > OUT")}
	case c.Flags().Changed("span") && o.span <= 0:
		return usageError{fmt.Errorf("-span %v is no time after which lines could be forgotten", o.span)}
	case o.span != 0 && o.size.n == 0:
		return usageError{errors.New("-span needs -n, the number of lines that come in that time")}
	}
	least, unless := 1e-12, ""
	if o.span != 0 {
		least = 0
	} else if o.size.n == 0 {
		least, unless = 1e-9, "; with -n it is 1e-12"
	}
	if err := o.size.check(least, unless); err != nil {
		return err
	}
	o.sized = c.Flags().Changed("lines") || c.Flags().Changed("rate") || o.span != 0
	if o.state != "" {
		release, err := o.file.hold(c.Context(), o.state, cfg.Names...)
		if err != nil {
			return err
		}
		defer release()
	}
	d := &deduper{arrived: arrivals{total: totalSize(cfg.Names), read: &cfg.Read, part: o.part}}
	d.state = state{path: o.file.path, every: o.every, saved: time.Now()}
	if err := o.open(d); err != nil {
		return err
	}
	cfg.Key, cfg.Blank = o.input.key, true
	if o.span == 0 { // a window's number is that of a span
		d.room = o.part.part(uint64(o.size.n))
	}
	cfg.Take = o.part.take()
	if o.out == "" {
		d.out.file = os.Stdout
		if o.state != "" && stdoutClosed() {
			return errClosed
		}
		if err := stdoutApart(append(cfg.Names, d.state.path)...); err != nil {
			return err
		}
		return d.run(c.Context(), cfg)
	}
	out := holder{wait: o.file.wait}
	release, err := out.hold(c.Context(), o.out, append(cfg.Names, d.state.path)...)
	if err != nil {
		return err
	}
	defer release()
	known, err := d.out.open(out.path, o.state, d.seen.f, cfg.Delim)
	if err == nil && !known { // from now on it is: whenever this run is killed, the next one knows what it left
		err = d.state.save(d.seen, &d.out)
	}
	if err != nil {
		return err
	}
	return d.run(c.Context(), cfg)
}

// open has d see by the filter that was last saved, or by a new one.
func (o *dedupeFlags) open(d *deduper) error {
	fresh, err := o.fresh(&d.arrived)
	if err != nil {
		return usage(err)
	}
	err = fs.ErrNotExist
	var old *loaded
	if info, e := os.Stat(o.file.path); o.state != "" && (!o.file.force || replaceable(o.file.path) && e == nil && info.Size() > 0) {
		old, err = load(o.file.path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		keys{o.input.key, o.part}.say(fresh.f, "", false)
		d.seen = fresh
		return nil
	case err != nil:
		return err
	case old.compressed:
		return fmt.Errorf("%s %w", o.state, errCompressed)
	case o.sized && !sameSize(old.filter, fresh.f):
		return fmt.Errorf("%s holds a %s of another size or rate than -n, -p and -span make; leave them out to go on with it", o.state, old.kind.name)
	}
	if made := partOf(old); made != o.part && max(made.n, o.part.n) > 1 {
		return fmt.Errorf("%s was made with -shard %q, and -shard is %q now", o.state, &made, &o.part)
	}
	old.path = o.state
	if err := old.follow(&o.input.key, o.input.flags); err != nil {
		return err
	}
	field := o.input.key.Field
	var made int
	if _, err := fmt.Sscanf(old.Info().Comment, fieldComment, &made); err == nil && made != field {
		fmt.Fprintf(os.Stderr, "bloom: warning: %s was made with -f %d, and -f is %d now (0: it is missing)\n", o.state, made, field)
	}
	keys{o.input.key, o.part}.join(old)
	d.blank = saysBlank(old)
	f, ok := old.filter.(hashed)
	if _, full := f.(cuckooFilter); !ok || full {
		return fmt.Errorf("%s is a %s, which cannot remember what comes: a filter of another type can", o.state, old.kind.name)
	}
	d.seen, d.held = memoryOf(f), old.Stats().ApproxCount
	return nil
}

// fresh returns an empty memory.
func (o *dedupeFlags) fresh(arrived *arrivals) (*memory, error) {
	n := o.part.part(uint64(o.size.n))
	switch {
	case o.span != 0:
		f, err := window.New(window.Config{N: n, P: o.size.p, Span: o.span, Renew: true})
		return memoryOf(f), err
	case n > 0:
		f, err := fitting(maker(blocked.New), n, o.size.p)
		if err != nil {
			return nil, err
		}
		return memoryOf(f.(hashed)), nil
	}
	return newGrower(o.size.p, o.state != "", arrived.left)
}

// sameSize reports whether old is what fresh was made like, for any number of lines if none was said.
func sameSize(old filter, fresh hashed) bool {
	is, want := old.Info(), fresh.Info()
	return reflect.TypeOf(old) == reflect.TypeOf(fresh) && is.P == want.P && (want.N == 0 || is.N == want.N) && spanOf(old) == spanOf(fresh)
}

// spanOf returns how long f remembers lines, 0 if it forgets none.
func spanOf(f filter) time.Duration {
	if f, ok := f.(*window.Filter); ok {
		return f.Config().Span
	}
	return 0
}

// deduper is a run of dedupe.
type deduper struct {
	seen     *memory
	state    state
	out      output
	arrived  arrivals
	room     uint64 // lines that seen is made for, if known
	held     uint64 // lines that seen has
	blank    bool   // the empty line came
	warned   bool   // that it is full
	kept     []int
	progress *progress
}

func (d *deduper) run(ctx context.Context, cfg *lines.Config) error {
	d.progress = newProgress(cfg, "written")
	d.out.progress = d.progress
	cfg.Out = &d.out
	var ticks <-chan time.Time
	if d.state.path != "" {
		ticker := time.NewTicker(min(time.Second, max(d.state.every, time.Millisecond)))
		defer ticker.Stop()
		ticks = ticker.C
	}
	err := lines.Start(ctx, cfg).Each(ctx, ticks, d.tick, d.use)
	d.progress.end()
	warnBad(cfg)
	if err == lines.ErrStuck {
		if d.state.path != "" {
			err = fmt.Errorf("%w, and %s is as it was last saved", err, d.state.path)
		}
		return err
	}
	d.warnFull()
	// After an error of the output, lines that did not get out are in seen.
	if !d.out.failed && (d.state.lines > 0 || err == nil) {
		if serr := d.state.save(d.seen, &d.out); err == nil {
			err = serr
		}
	}
	return err
}

// tick saves now and then.
func (d *deduper) tick() error {
	if !d.state.due() {
		return nil
	}
	d.warnFull()
	return d.state.save(d.seen, &d.out)
}

// use writes the new lines of b.
func (d *deduper) use(b *lines.Batch) error {
	d.arrived.used += int64(len(b.Data))
	d.arrived.lines += uint64(len(b.Ends))
	d.kept = d.exact(b.Hashes, d.seen.add(d.kept[:0], b.Hashes))
	kept := len(d.kept)
	d.state.lines += uint64(kept)
	d.progress.add(len(b.Ends), kept)
	d.held += uint64(kept)
	if d.room > 0 && d.held > d.room {
		d.warn("more than %d different lines (-n)"+leftOut, d.room)
	}
	if kept > 0 {
		b.Keep(d.kept)
	}
	return nil
}

// exact returns kept with the number of the first empty line, if none came before, and without those
// of other empty lines. A filter may take that line for an old one as often as not. Those that forget
// lines are asked.
func (d *deduper) exact(hs []bloom.Hash, kept []int) []int {
	first := slices.IndexFunc(hs, lines.IsBlank)
	if first < 0 || forgets(d.seen.f) {
		return kept
	}
	kept = slices.DeleteFunc(kept, func(i int) bool { return lines.IsBlank(hs[i]) })
	if !d.blank {
		d.blank = true
		sayBlank(d.seen.f)
		i, _ := slices.BinarySearch(kept, first)
		kept = slices.Insert(kept, i, first)
	}
	return kept
}

func (d *deduper) warnFull() {
	if w, ok := d.seen.f.(*window.Filter); ok && w.Reach() < w.Config().Span {
		d.warn("more than %d lines came within %v (-n, -span): lines are remembered for %v only", w.Config().N, w.Config().Span, w.Reach().Round(time.Second))
	}
	if full(d.seen.f) {
		d.warn("the filter is fuller than it was made for" + leftOut)
	}
}

const leftOut = ": new lines are left out by mistake more and more often"

func (d *deduper) warn(format string, args ...any) {
	if !d.warned {
		d.warned = true
		d.progress.hide()
		fmt.Fprintf(os.Stderr, "bloom: warning: %s\n", fmt.Sprintf(format, args...))
	}
}

// state is the file that remembers from run to run what was written. Without a path nothing
// is saved.
type state struct {
	path  string
	every time.Duration
	saved time.Time     // when it last was what it should be
	took  time.Duration // saving it
	lines uint64        // lines of this run that are to be written and that it lacks
}

// due reports whether to save. At most a twentieth of the time is spent on it.
func (s *state) due() bool {
	return s.lines > 0 && time.Since(s.saved) >= max(s.every, 20*s.took)
}

// save saves what was seen, once all of it that is in a file is on the disk. Otherwise lines
// that a power cut took from the file would be in the state, and no run would write them.
func (s *state) save(seen *memory, out *output) error {
	if s.path == "" {
		return nil
	}
	start := time.Now()
	if err := out.settle(seen.f); err != nil {
		return err
	}
	if err := seen.f.SaveFile(s.path); err != nil {
		return err
	}
	s.lines, s.saved, s.took = 0, time.Now(), time.Since(start)
	return nil
}

// memory is what dedupe has seen.
type memory struct {
	f     hashed
	once  *counting.Filter // f, if it counts how often a key comes
	begin func() hashed    // makes f, once some input came
	added []bool
}

func memoryOf(f hashed) *memory {
	once, _ := f.(*counting.Filter)
	return &memory{f: f, once: once}
}

// add adds hs and appends to dst the numbers of those that were new. Of equal ones the first is new.
func (m *memory) add(dst []int, hs []bloom.Hash) []int {
	if m.begin != nil {
		f, info := m.begin(), m.f.Info()
		made := f.Info()
		made.Hash, made.Comment = info.Hash, info.Comment
		f.SetInfo(made)
		m.f, m.begin = f, nil
	}
	if m.once == nil {
		m.added = answers(m.added, len(hs))
		m.f.AddBatch(m.added, hs)
		return where(dst, m.added, true)
	}
	for i, h := range hs {
		if !m.once.ContainsHash(h) && m.once.AddHash(h) {
			dst = append(dst, i)
		}
	}
	return dst
}

// A filter of nobody knows how many lines has room for at most mostRoom at first, 90 MB: little
// enough to be in vain, where all lines are the same. Lines from a pipe get pipeRoom, or savedRoom
// where the filter is saved: in a file, room is never in vain for free.
const (
	mostRoom  = 20_000_000
	pipeRoom  = 1 << 22
	savedRoom = 1 << 17
)

// newGrower returns a memory of nobody knows how many lines. Its filter has room for those that are
// to come, where the size of the input says how many. So it is one layer of package growing, which is
// as fast as a filter of a known size.
func newGrower(p float64, saved bool, left func() uint64) (*memory, error) {
	f, err := growing.New(0, p)
	if err != nil {
		return nil, err
	}
	m := memoryOf(f)
	m.begin = func() hashed {
		room := min(left(), mostRoom)
		switch {
		case room == 0 && saved:
			room = savedRoom
		case room == 0:
			room = pipeRoom
		case saved:
			room /= 2
		}
		return bloom.Must(growing.New(room, p)) // whose p was checked
	}
	return m, nil
}

// arrivals is how much of the input came.
type arrivals struct {
	total int64         // bytes of input, if known
	read  *atomic.Int64 // of them, which may be ahead of what is in use
	used  int64         // bytes in use, decompressed
	lines uint64        // in use
	part  shard         // to which only a part of the lines belongs
}

// left estimates how many lines are still to come, at least 1. It returns 0 where nobody
// knows.
func (a *arrivals) left() uint64 {
	read := min(a.read.Load(), a.used)
	if a.total == 0 || read == 0 {
		return 0
	}
	return 1 + a.part.part(uint64(float64(a.lines)/float64(read)*float64(max(0, a.total-read))))
}

// where appends to dst the numbers of the elements of has that are value. It has no
// branch that a processor could guess wrong.
func where(dst []int, has []bool, value bool) []int {
	n := len(dst)
	dst = slices.Grow(dst, len(has))[:n+len(has)]
	for i, ok := range has {
		dst[n] = i
		one := 0
		if ok == value {
			one = 1
		}
		n += one
	}
	return dst[:n]
}

// trues returns how many elements of has are true.
func trues(has []bool) (n int) {
	for _, ok := range has {
		if ok {
			n++
		}
	}
	return n
}
