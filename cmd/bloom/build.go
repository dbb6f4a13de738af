package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/growing"
)

// makers make the filters that have a size.
var makers = map[string]func(n uint64, p float64) (filter, error){
	"guava":    maker(exact(bloom.New)),
	"blocked":  maker(blocked.New),
	"counting": maker(exact(counting.New)),
	"cuckoo": func(n uint64, p float64) (filter, error) {
		f, err := cuckoo.New(max(n, 1), min(p, 0.1))
		return checked(cuckooFilter{f}, err)
	},
	"growing": maker(growing.New),
}

func maker[F filter](make func(uint64, float64) (F, error)) func(uint64, float64) (filter, error) {
	return func(n uint64, p float64) (filter, error) {
		f, err := make(max(n, 1), min(p, 0.5)) // a higher rate would take no bits for few lines
		if err == nil {
			f.SetInfo(bloom.Info{N: max(n, 1), P: p})
		}
		return checked(f, err)
	}
}

func buildCommand() *cobra.Command {
	var o makeFlags
	var kind string
	var part shard
	c := &cobra.Command{
		Use: "build [-n N] [-p P] [-type T] -o FILE [file ...]",
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := o.config(args)
			if err != nil {
				return err
			}
			mk, ok := makers[kind]
			if !ok {
				return usageError{fmt.Errorf("-type %q is none of guava, blocked, growing, counting and cuckoo", kind)}
			}
			if err := o.size.check(map[string]float64{"blocked": 1e-12, "growing": 1e-9, "cuckoo": 1e-9}[kind], "; -type guava has lower ones"); err != nil {
				return err
			}
			n := part.part(uint64(o.size.n))
			f, err := fitting(mk, n, o.size.p)
			if err != nil {
				return usage(err)
			}
			return o.file.produce(c, func() (saver, error) {
				cfg.Take = part.take()
				if o.size.n > 0 {
					err = addLines(c.Context(), cfg, f, n)
				} else {
					f, err = measured(c.Context(), cfg, kind == "cuckoo", func(n uint64) (filter, error) { return fitting(mk, n, o.size.p) })
				}
				if err != nil {
					return nil, err
				}
				keys{o.input.key, part}.say(f, o.comment, cfg.Blanks > 0 && cfg.Blank)
				return f, nil
			})
		},
	}
	o.add(c.Flags(), "different lines to expect; else they are counted", "rate of other lines that are reported")
	part.add(c.Flags())
	c.Flags().StringVar(&kind, "type", "guava", "type of filter: guava, blocked, growing, counting or cuckoo")
	c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(slices.Sorted(maps.Keys(makers)), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// errInterrupted says that nothing was written.
var errInterrupted = errors.New("interrupted; no file was changed")

// scan reads all lines and calls use with them. use returns how many it did with what p says.
func scan(ctx context.Context, cfg *lines.Config, p *progress, use func(*lines.Batch) (some int, err error)) error {
	err := lines.Start(ctx, cfg).Each(ctx, nil, nil, func(b *lines.Batch) error {
		some, err := use(b)
		p.add(len(b.Ends), some)
		return err
	})
	p.end()
	warnBad(cfg)
	if err == nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// addLines adds all lines to f, which is made for room different ones, if room is
// known.
func addLines(ctx context.Context, cfg *lines.Config, f filter, room uint64) error {
	held := f.Stats().ApproxCount
	var isNew []bool
	err := scan(ctx, cfg, newProgress(cfg, "new"), func(b *lines.Batch) (int, error) {
		isNew = answers(isNew, len(b.Hashes))
		add(f, isNew, b)
		added := trues(isNew)
		held += uint64(added)
		return added, refused(f, added, len(isNew))
	})
	// Few lines more than the estimate of a full filter are no news.
	if _, ok := f.(cuckooFilter); err == nil && !ok && (room > 0 && held > room+room/100 || room == 0 && full(f)) {
		fmt.Fprintf(os.Stderr, "bloom: warning: the filter has more lines than it is made for, about %d: other lines are reported at a rate of %.2g\n", held, f.Stats().FPR)
	}
	return err
}

// refused returns an error if f added fewer keys than came because it is full.
func refused(f filter, added, came int) error {
	if of, ok := f.(cuckooFilter); ok && added < came {
		return fmt.Errorf("the filter is full with %s; no file was changed", counted(of.Len(), "line"))
	}
	return nil
}

// measured returns a filter of all lines that mk made for as many as there are, or as come with repeats.
func measured(ctx context.Context, cfg *lines.Config, repeats bool, mk func(n uint64) (filter, error)) (filter, error) {
	file, err := temporary("bloom-build-*")
	if err != nil {
		return nil, err
	}
	defer discard(file)
	var different sample
	var all uint64
	var raw []byte
	err = scan(ctx, cfg, newProgress(cfg, "read"), func(b *lines.Batch) (_ int, err error) {
		different.add(b.Hashes)
		all += uint64(len(b.Hashes))
		raw = raw[:0]
		for _, h := range b.Hashes {
			h1, h2 := h.Words()
			raw = binary.LittleEndian.AppendUint64(raw, h1)
			raw = binary.LittleEndian.AppendUint64(raw, h2)
		}
		_, err = file.Write(raw)
		return len(b.Ends), err
	})
	if err != nil {
		return nil, err
	}
	n := different.count()
	if repeats {
		n = all
	}
	f, err := mk(n)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return f, addSpooled(ctx, f.(hashed), file)
}

// temporary returns a file that nobody else sees.
func temporary(pattern string) (*os.File, error) {
	file, err := os.CreateTemp("", pattern)
	if err == nil {
		os.Remove(file.Name()) // now, where the system permits that: whatever happens, nothing stays
	}
	return file, err
}

// discard closes and removes what temporary returned.
func discard(file *os.File) {
	file.Close()
	os.Remove(file.Name())
}

func addSpooled(ctx context.Context, f hashed, file io.Reader) error {
	raw := make([]byte, 64<<10)
	var hs []bloom.Hash
	var added []bool
	for {
		n, err := io.ReadFull(file, raw)
		hs = hs[:0]
		for i := 0; i+16 <= n; i += 16 {
			hs = append(hs, bloom.NewHash(binary.LittleEndian.Uint64(raw[i:]), binary.LittleEndian.Uint64(raw[i+8:])))
		}
		added = answers(added, len(hs))
		f.AddBatch(added, hs)
		if err := refused(f, trues(added), len(hs)); err != nil {
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

// sample estimates the number of different hashes, exactly while they are few. It
// keeps those that begin with level zero bits, and raises the level when they get
// many (Wegman's adaptive sampling; Flajolet, On Adaptive Sampling, 1990). The
// standard error is 1.2/sqrt(maxSample), half a percent.
type sample struct {
	kept  map[bloom.Hash]struct{}
	level uint
}

const maxSample = 1 << 16

func (s *sample) add(hs []bloom.Hash) {
	if s.kept == nil {
		s.kept = map[bloom.Hash]struct{}{}
	}
	for _, h := range hs {
		if !s.wants(h) {
			continue
		}
		s.kept[h] = struct{}{}
		for len(s.kept) > maxSample {
			s.level++
			maps.DeleteFunc(s.kept, func(h bloom.Hash, _ struct{}) bool { return !s.wants(h) })
		}
	}
}

func (s *sample) wants(h bloom.Hash) bool {
	h1, _ := h.Words()
	return h1>>(64-s.level) == 0
}

// count returns the number of different hashes, or, if there were many, an estimate
// that is a little too large rather than too small.
func (s *sample) count() uint64 {
	n := uint64(len(s.kept)) << s.level
	if s.level > 0 {
		n += n / 100
	}
	return n
}
