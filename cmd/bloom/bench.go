package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/dcso"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
)

func benchCommand() *cobra.Command {
	var input inputFlags
	var most count = 20_000_000
	var asJSON *bool
	c := &cobra.Command{
		Use:   "bench [-json] FILE [file ...]",
		Short: "measure whether the promised rate is true",
		Long: `bench looks up keys that are not in the filter FILE, and compares how many of them it
reports with the rate that it promises. The keys are the lines of the files (- is standard
input), changed. Without a file they are made up. The lines themselves must be found, all of
them: give the ones that the filter was built from.

The promised rate is that of the filter as full as it is now, as info shows it. The rate that
the filter was made for is higher while it has fewer lines, and lower when it has more.
Chance makes the number of reported keys larger or smaller. Double hashing makes it larger in
small filters of the types guava, counting and dcso. bench says how many reported keys
the two explain: of a thousand true filters, about one at most is called untrue. With -json it
writes an object.

The exit status is 1 if a line is not found, or if more keys are reported than that.`,
		Example: `  seq 100000 > n.txt && bloom build -p 0.01 -o n.bloom n.txt && bloom bench -n 1M n.bloom n.txt`,
		Args:    need(1, -1, "the filter's FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := load(args[0])
			if err != nil {
				return err
			}
			info := f.Info()
			m := &measurement{File: args[0], Rate: f.Stats().FPR, MadeFor: info.N, MadeAt: info.P}
			keys := [][]byte{[]byte("made-up key")}
			if len(args) > 1 {
				cfg, err := input.config(args[1:])
				if err != nil {
					return err
				}
				f.match(c.Name(), cfg)
				if keys, err = m.lines(c.Context(), cfg, f); err != nil {
					return err
				}
			}
			if err := m.others(c.Context(), f, keys, uint64(most)); err != nil {
				return err
			}
			if *asJSON {
				err = writeJSON(m)
			} else {
				_, err = os.Stdout.WriteString(m.text())
			}
			if err != nil {
				return err
			}
			return m.verdict()
		},
	}
	c.Flags().VarP(&most, "lookups", "n", "look-ups of keys that are not in the filter")
	asJSON = addJSON(c.Flags())
	input.add(c.Flags())
	return c
}

// measurement is what bench found out.
type measurement struct {
	File     string  `json:"file"`
	Found    *uint64 `json:"found,omitempty"` // lines, if there were any
	Missing  *uint64 `json:"missing,omitempty"`
	Lookups  uint64  `json:"lookups"`  // of other keys
	Reported uint64  `json:"reported"` // of them
	Measured float64 `json:"measured"` // rate
	Rate     float64 `json:"rate"`
	Expected float64 `json:"expected"` // to be reported, if Rate is true
	Most     float64 `json:"most"`     // that chance and double hashing explain
	True     bool    `json:"true"`
	MadeFor  uint64  `json:"made_for,omitempty"`
	MadeAt   float64 `json:"made_at,omitempty"`
	Nanos    float64 `json:"nanoseconds"` // a look-up
}

// lines looks all lines up, and returns some of their keys.
func (m *measurement) lines(ctx context.Context, cfg *lines.Config, f *loaded) (keys [][]byte, err error) {
	m.Found, m.Missing = new(uint64), new(uint64)
	var present []bool
	err = scan(ctx, cfg, newProgress(cfg, "found", 0, 0), func(b *lines.Batch) (int, error) {
		present = answers(present, len(b.Hashes))
		f.ContainsBatch(present, b.Hashes)
		for i := range present {
			if len(keys) < 1<<20 {
				keys = append(keys, bytes.Clone(b.Key(i)))
			}
		}
		found := trues(present)
		*m.Found += uint64(found)
		*m.Missing += uint64(len(present) - found)
		return found, nil
	})
	if len(keys) == 0 {
		m.Found, m.Missing = nil, nil
		keys = [][]byte{[]byte("made-up key")}
	}
	return keys, err
}

// others looks up so many keys that are not in the filter. A key is changed by a tail that no
// line has: bytes that are no text, and a number that makes many keys of one.
func (m *measurement) others(ctx context.Context, f *loaded, keys [][]byte, most uint64) error {
	sum := hasher(f.filter)
	var hs []bloom.Hash
	var present []bool
	var key []byte
	var took time.Duration
	for m.Lookups < most {
		hs = hs[:0]
		for range min(4096, most-m.Lookups) {
			n := m.Lookups + uint64(len(hs))
			key = append(key[:0], keys[n%uint64(len(keys))]...)
			key = append(key, 0xff, 0xfe)
			hs = append(hs, sum(strconv.AppendUint(key, n/uint64(len(keys)), 10)))
		}
		start := time.Now()
		present = answers(present, len(hs))
		f.ContainsBatch(present, hs)
		took += time.Since(start)
		m.Reported += uint64(trues(present))
		m.Lookups += uint64(len(hs))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	m.Measured = float64(m.Reported) / float64(m.Lookups)
	m.Nanos = float64(took.Nanoseconds()) / float64(m.Lookups)
	m.Expected = m.Rate * float64(m.Lookups)
	m.Most = m.Expected + doubleHashing(f)*float64(m.Lookups)
	// 3.1 standard deviations, and room for the few events of a small rate.
	m.Most += 3.1*math.Sqrt(m.Most) + 4
	m.True = float64(m.Reported) <= m.Most
	return nil
}

// doubleHashing returns by how much a true filter's rate may exceed its FPR; see the comments
// of [bloom.New] and [bloom.Filter.FPR].
func doubleHashing(f *loaded) float64 {
	switch f.filter.(type) {
	case *bloom.Filter, *counting.Filter, *dcso.Filter:
	default:
		return 0
	}
	s := f.Stats()
	k, fill := float64(s.K), min(s.FillRatio, 0.5)
	more := 5 * fill / ((1 - fill) * (1 - fill) * k * float64(s.M))
	if s.M>>bits.TrailingZeros64(s.M) <= 3 {
		more *= 1 + k/6
	}
	return more
}

func (m *measurement) text() string {
	var b strings.Builder
	if m.Found != nil {
		fmt.Fprintf(&b, "lines      %s found, %s missing\n", humanize.Comma(int64(*m.Found)), humanize.Comma(int64(*m.Missing)))
	}
	fmt.Fprintf(&b, "others     %s looked up, %s reported: a rate of %.3g\n", humanize.Comma(int64(m.Lookups)), humanize.Comma(int64(m.Reported)), m.Measured)
	fmt.Fprintf(&b, "promised   a rate of %.3g: %s reported, and at most %s\n", m.Rate, amount(m.Expected), amount(math.Floor(m.Most)))
	verdict := "the promise is true: no more were reported"
	if !m.True {
		verdict = "the promise is not true: more were reported"
	}
	fmt.Fprintf(&b, "verdict    %s\n", verdict)
	if m.MadeFor > 0 {
		fmt.Fprintf(&b, "made for   %s at a rate of %.3g\n", counted(m.MadeFor, "key"), m.MadeAt)
	}
	fmt.Fprintf(&b, "look-ups   %.1f ns each, hashing not included\n", m.Nanos)
	return b.String()
}

// verdict returns an error if a promise was broken.
func (m *measurement) verdict() error {
	switch {
	case m.Missing != nil && *m.Missing > 0:
		return fmt.Errorf("the filter lacks %s", counted(*m.Missing, "line"))
	case !m.True:
		return errors.New("the filter reports more other keys than it promises")
	}
	return nil
}

// amount writes a number of keys with as many digits as a reader wants.
func amount(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2g", x)
	}
	return humanize.Comma(int64(math.Round(x)))
}
