package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/internal/limits"
)

// maker wraps create: it raises n to at least 1, and records n and p in the Info. It passes at most
// 0.5 for p, because with a higher rate a filter for few lines could have no bits.
func maker[F hashFilter](
	create func(n uint64, p float64) (F, error),
) func(n uint64, p float64) (hashFilter, error) {
	return func(n uint64, p float64) (hashFilter, error) {
		n = max(n, 1)
		f, err := create(n, min(p, 0.5))
		if err == nil {
			f.UpdateInfo(func(i *bloom.Info) {
				i.N = n
				i.P = p
			})
		}
		return checked(f, err)
	}
}

type buildFlags struct {
	makeFlags
	kind  string
	never string
	shard shard
}

func buildCommand() *cobra.Command {
	var o buildFlags
	c := &cobra.Command{
		Use:  "build [-n N] [-p P] [--type T] -o FILE [file ...]",
		RunE: o.run,
	}
	o.register(c.Flags(), "different lines; else they are counted",
		"other lines reported by mistake")
	o.shard.register(c.Flags())
	c.Flags().StringVar(&o.kind, "type", "guava", "`type` of the filter")
	c.Flags().StringVar(&o.never, "never", "", "`FILE` of lines that the filter never reports")
	var flags []string
	for _, k := range kinds {
		if k.flag != "" {
			flags = append(flags, k.flag)
		}
	}
	slices.Sort(flags)
	c.RegisterFlagCompletionFunc("type",
		cobra.FixedCompletions(flags, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func flagOf(k kind) string { return k.flag }

func (o *buildFlags) run(c *cobra.Command, args []string) error {
	cfg, err := o.config(args)
	if err != nil {
		return err
	}
	k, ok := kindFor(o.kind)
	if !ok {
		return usageError{fmt.Errorf("--type %q is not %s", o.kind, namesOf(flagOf, "or"))}
	}
	room := o.shard.share(uint64(o.size.n))
	lower := ""
	if planner(planGuava).has(room, o.size.p) {
		lower = "; --type guava allows lower ones"
	}
	if err := o.size.check(k.least, lower); err != nil {
		return err
	}
	if o.never != "" && k.flag != "guava" {
		return usageError{errNeverType}
	}
	makeFor := func(n uint64) (hashFilter, error) {
		f, err := fitting(k, n, o.size.p)
		err = o.size.outside(err, o.shard)
		larger := errors.As(err, new(outsideError)) && k.flag != "blocked" && o.never == "" &&
			o.size.p >= limits.BlockedRate && planner(planBlocked).has(n, o.size.p)
		if larger {
			err = fmt.Errorf("%w; --type blocked allows more", err)
		}
		return f, err
	}
	empty, err := makeFor(room) // before the input is read, so that an error is reported early
	if err != nil {
		return err
	}
	defer endProgress()
	return o.file.produce(c, func() (saver, error) {
		cfg.Select = o.shard.selector()
		f := empty
		var spared *never
		switch {
		case o.never != "":
			spared, err = readNever(c.Context(), o.never, cfg)
			if err == nil {
				err = spared.checkRate(o.size.p)
			}
			if err == nil {
				f, err = spared.build(c.Context(), cfg, room, makeFor)
			}
		case o.size.n > 0:
			err = addLines(c.Context(), cfg, f, room)
		default:
			f, err = buildMeasured(c.Context(), cfg, k.repeats, makeFor)
		}
		warnInput(cfg)
		if err != nil {
			return nil, err
		}
		keyRule{o.input.key, o.shard}.setInfo(f, o.comment, cfg.Blanks > 0 && cfg.Blank)
		if spared != nil {
			changeFacts(f, func(facts url.Values) {
				facts.Set(neverFact, strconv.Itoa(len(spared.names)))
			})
		}
		doing("writing the filter", 0)
		return f, o.file.checkEmpty("the input has", cfg.Keys == 0)
	})
}

var errInterrupted = errors.New("interrupted; no file was changed")

// scan calls handle with each batch of the input. handle returns the number of lines that verb,
// such as "removed", describes. The caller must call endProgress.
func scan(ctx context.Context, cfg *lines.Config, verb string,
	handle func(*lines.Batch) (some int, err error),
) error {
	if err := checkReadable(cfg.Names); err != nil {
		return err
	}
	p := newProgress(cfg, verb)
	err := lines.Start(ctx, cfg).Each(ctx, nil, nil, func(b *lines.Batch) error {
		some, err := handle(b)
		p.count(len(b.Ends), some)
		return err
	})
	if err == nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// addLines adds all lines to f. room is the number of different lines that f was made for; 0 means
// unknown.
func addLines(ctx context.Context, cfg *lines.Config, f filter, room uint64) error {
	held := f.Stats().ApproxCount
	var isNew []bool
	err := scan(ctx, cfg, "new", func(b *lines.Batch) (int, error) {
		isNew = answers(isNew, len(b.Hashes))
		addBatch(f, isNew, b)
		added := trues(isNew)
		held += uint64(added)
		return added, refused(f, added, len(isNew))
	})
	if err != nil {
		return err
	}
	tooMany := full(f)
	if room > 0 {
		tooMany = !kindOfFilter(f).keeps && held > room+room/100 // the count is an estimate
	}
	if tooMany {
		warnTooMany(f, held)
	}
	return nil
}

func warnTooMany(f filter, held uint64) {
	warn("the filter has about %d lines, more than it was made for: "+
		"other lines are reported at a rate of %.2g", held, f.Stats().FPR)
}

// refused returns an error if f had no room for some of the keys. Only a cuckooFilter refuses keys.
// The error wraps errRepeats if f holds fewer lines than it was made for.
func refused(f filter, added, came int) error {
	if added == came || !kindOfFilter(f).repeats {
		return nil
	}
	held := f.Stats().ApproxCount // exact
	has := counted(held, "line")
	if n := f.Info().N; held < n {
		return fmt.Errorf("%w: it has %s, but was made for %s; no file was changed",
			errRepeats, has, humanize.Comma(int64(n)))
	}
	return fmt.Errorf("the filter is full with %s, repeats included; no file was changed", has)
}

var errRepeats = errors.New("the filter is full because lines repeat, and each repetition " +
	"takes a place, up to eight; drop repeats first with bloom dedupe, or use --type counting")

// buildMeasured estimates the number of different lines, and then adds all lines to a filter that
// create makes for that number. If repeats is true, the filter has room for repetitions, too.
func buildMeasured(ctx context.Context, cfg *lines.Config, repeats bool,
	create func(n uint64) (hashFilter, error),
) (hashFilter, error) {
	file, err := temporary("bloom-build-*")
	if err != nil {
		return nil, err
	}
	defer discard(file)
	different, all, err := spool(ctx, cfg, file)
	if err != nil {
		return nil, err
	}
	if !repeats {
		return makeSpooled(ctx, file, all, different.count(), create)
	}
	// Repeated lines leave some places unused, more of them in a larger filter: with five million
	// different lines, about a sixth if each line occurs twice, two fifths if three times, and two
	// thirds if four times.
	n := min(all, 8*different.count())
	var full error
	for _, room := range []float64{1, 1.2, 1.7, 3} {
		f, err := makeSpooled(ctx, file, all, uint64(room*float64(n)), create)
		tooLarge := full != nil && errors.As(err, new(memoryError))
		switch {
		case tooLarge:
			return nil, full
		case !errors.Is(err, errRepeats):
			return f, err
		}
		full = err
	}
	return nil, full
}

func makeSpooled(ctx context.Context, file *os.File, all, n uint64,
	create func(n uint64) (hashFilter, error),
) (hashFilter, error) {
	f, err := create(n)
	if err != nil {
		return nil, err
	}
	return f, addSpooled(ctx, f, file, doing("making the filter", all))
}

// spool writes the digests of all lines to file. It returns a sample of them and their number.
func spool(ctx context.Context, cfg *lines.Config, file io.Writer) (
	different sample, all uint64, err error,
) {
	var raw []byte
	err = scan(ctx, cfg, "", func(b *lines.Batch) (int, error) {
		different.addBatch(b.Hashes)
		all += uint64(len(b.Hashes))
		raw = raw[:0]
		for _, h := range b.Hashes {
			h1, h2 := h.Words()
			raw = binary.LittleEndian.AppendUint64(raw, h1)
			raw = binary.LittleEndian.AppendUint64(raw, h2)
		}
		if err := lines.CheckArrived(16*int64(all), cfg.Read.Load()); err != nil {
			return 0, fmt.Errorf("without -n, a temporary file would need %w; or give -n", err)
		}
		_, err := file.Write(raw)
		return len(b.Ends), err
	})
	return different, all, err
}

func addSpooled(ctx context.Context, f hashFilter, file io.ReadSeeker, p *progress) error {
	var added []bool
	return eachSpooled(ctx, file, func(hs []bloom.Hash) error {
		added = answers(added, len(hs))
		f.AddBatch(added, hs)
		p.step(len(hs))
		return refused(f, trues(added), len(hs))
	})
}

// eachSpooled calls handle with the digests that spool wrote to file.
func eachSpooled(ctx context.Context, file io.ReadSeeker, handle func([]bloom.Hash) error) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	raw := make([]byte, 64<<10)
	var hs []bloom.Hash
	for {
		n, err := io.ReadFull(file, raw)
		hs = hs[:0]
		for i := 0; i+16 <= n; i += 16 {
			h1 := binary.LittleEndian.Uint64(raw[i:])
			h2 := binary.LittleEndian.Uint64(raw[i+8:])
			hs = append(hs, bloom.NewHash(h1, h2))
		}
		if err := handle(hs); err != nil {
			return err
		}
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return errInterrupted
		}
	}
}

// sample estimates the number of different hashes; up to maxSample the number is exact. It keeps
// the hashes with at least level leading zeros, and raises level when it has too many (Wegman's
// adaptive sampling; Flajolet, On Adaptive Sampling, 1990). The standard error is
// 1.2/sqrt(maxSample), which is half a percent.
type sample struct {
	sampled map[bloom.Hash]struct{}
	level   uint
}

const maxSample = 1 << 16

func (s *sample) addBatch(hs []bloom.Hash) {
	if s.sampled == nil {
		s.sampled = map[bloom.Hash]struct{}{}
	}
	for _, h := range hs {
		if !s.keeps(h) {
			continue
		}
		s.sampled[h] = struct{}{}
		for len(s.sampled) > maxSample {
			s.level++
			maps.DeleteFunc(s.sampled, func(h bloom.Hash, _ struct{}) bool { return !s.keeps(h) })
		}
	}
}

func (s *sample) keeps(h bloom.Hash) bool {
	h1, _ := h.Words()
	return h1>>(64-s.level) == 0
}

// count returns the number of different hashes. It adds a percent to an estimate, so that the
// result is rarely too small.
func (s *sample) count() uint64 {
	n := uint64(len(s.sampled)) << s.level
	if s.level > 0 {
		n += n / 100
	}
	return n
}
