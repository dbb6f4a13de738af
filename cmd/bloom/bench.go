package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

func benchCommand() *cobra.Command {
	var input inputFlags
	var most count = 20_000_000
	c := &cobra.Command{
		Use:   "bench FILE [file ...]",
		Short: "measure whether the promised rate is true",
		Long: `bench looks up keys that are not in the filter FILE, and compares how many of them it
reports with the rate that it promises. The keys are the lines of the input, changed; if
there is no input, they are made up. The lines themselves must be found, all of them: give
the ones that the filter was built from.

The exit status is 1 if a line is not found, or if the rate is above the promised one by
more than chance explains (once in a thousand runs).`,
		Example: `  seq 100000 > n.txt && bloom build -p 0.01 -o n.bloom n.txt && bloom bench -n 1M n.bloom n.txt`,
		Args:    need(1, -1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := load(args[0])
			if err != nil {
				return err
			}
			b := &bench{set: f, sum: sum(f), most: uint64(most)}
			if b.sum == nil {
				b.sum = bloom.Sum
			}
			if len(args) > 1 {
				cfg, err := input.config(args[1:])
				if err != nil {
					return err
				}
				warnKeys(c.Name(), args[0], f, input.key)
				if err := b.lines(c.Context(), cfg); err != nil {
					return err
				}
			}
			b.others(c.Context())
			if c.Context().Err() != nil {
				return c.Context().Err()
			}
			return b.report()
		},
	}
	c.Flags().VarP(&most, "lookups", "n", "look-ups of keys that are not in the filter")
	input.add(c.Flags())
	return c
}

type bench struct {
	set  filter
	sum  func([]byte) bloom.Hash
	most uint64

	keys    [][]byte // some of the input's, to be changed
	found   uint64   // of the input's lines
	missing uint64
	asked   uint64 // other keys
	wrong   uint64 // of them, reported
	took    time.Duration
}

// lines looks all lines up, and keeps some.
func (b *bench) lines(ctx context.Context, cfg *lines.Config) error {
	cfg.Sum = sum(b.set)
	cfg.Take = partOf(b.set).take()
	progress := newProgress(cfg, "found", 0, 0)
	defer progress.end()
	var present []bool
	return lines.Start(ctx, cfg).Each(ctx, nil, nil, func(batch *lines.Batch) error {
		present = containsAll(b.set, present[:0], batch.Hashes)
		found := 0
		for i, ok := range present {
			if ok {
				found++
			}
			if len(b.keys) < 1<<20 {
				b.keys = append(b.keys, bytes.Clone(batch.Key(i)))
			}
		}
		b.found += uint64(found)
		b.missing += uint64(len(present) - found)
		progress.add(len(present), found, 0)
		return nil
	})
}

// others looks up keys that are not in the filter. A key is changed by a tail that no
// line has: bytes that are no text, and a number that makes many keys of one.
func (b *bench) others(ctx context.Context) {
	if len(b.keys) == 0 {
		b.keys = [][]byte{[]byte("made-up key")}
	}
	var hs []bloom.Hash
	var present []bool
	var key []byte
	for b.asked < b.most && ctx.Err() == nil {
		hs = hs[:0]
		for range min(4096, b.most-b.asked) {
			n := b.asked + uint64(len(hs))
			key = append(key[:0], b.keys[n%uint64(len(b.keys))]...)
			key = append(key, 0xff, 0xfe)
			hs = append(hs, b.sum(strconv.AppendUint(key, n/uint64(len(b.keys)), 10)))
		}
		start := time.Now()
		present = containsAll(b.set, present[:0], hs)
		b.took += time.Since(start)
		for _, ok := range present {
			if ok {
				b.wrong++
			}
		}
		b.asked += uint64(len(hs))
	}
}

func (b *bench) report() error {
	out := fmt.Sprintf("lines      %s found, %s missing\n", humanize.Comma(int64(b.found)), humanize.Comma(int64(b.missing)))
	if b.found+b.missing == 0 {
		out = ""
	}
	rate := float64(b.wrong) / float64(b.asked)
	out += fmt.Sprintf("others     %s looked up, %s reported: a rate of %.3g\n", humanize.Comma(int64(b.asked)), humanize.Comma(int64(b.wrong)), rate)
	r, ok := innermost(b.set).(rater)
	verdict := error(nil)
	if ok {
		promised := r.FPR()
		expected := promised * float64(b.asked)
		// 3.1 standard deviations, and room for the few events of a small rate.
		most := expected + 3.1*math.Sqrt(expected) + 4
		out += fmt.Sprintf("promised   %.3g, which is %s give or take %s", promised, amount(expected), amount(most-expected))
		switch {
		case float64(b.wrong) > most:
			out += ": not true\n"
			verdict = errors.New("the filter reports more other keys than it promises")
		default:
			out += ": true\n"
		}
	}
	out += fmt.Sprintf("look-ups   %.1f ns each, hashing not included\n", float64(b.took.Nanoseconds())/float64(b.asked))
	if b.missing > 0 {
		verdict = fmt.Errorf("%d lines are not in the filter", b.missing)
	}
	if _, err := os.Stdout.WriteString(out); err != nil {
		return err
	}
	return verdict
}

// amount writes a number of keys with as many digits as a reader wants.
func amount(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2g", x)
	}
	return humanize.Comma(int64(math.Round(x)))
}
