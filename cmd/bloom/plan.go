package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/cuckoo"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// design is a type of filter.
type design struct {
	name, note string
	// at returns what it takes for keys at the rate p: bits a key, or 0 if there is no such filter, and
	// bits that a key sets.
	at func(p float64) (bits float64, k int)
}

// With sampleKeys keys, sizes are in proportion to the number of keys.
const sampleKeys = 100_000

var designs = []design{
	{"bloom.Filter", "Guava's: Java reads it", made(bloom.New)},
	{"blocked.Filter", "the fastest", made(blocked.New)},
	{"growing.Filter", "n need not be known", func(p float64) (float64, int) {
		f, err := growing.New(0, p)
		const keys = 60_000 // more than the first 64 KB have room for; it needs about as much a key at every n
		for i := uint64(0); i < keys && err == nil; i++ {
			f.AddHash(bloom.SumUint64(i))
		}
		if err != nil {
			return 0, 0
		}
		return float64(f.SizeBytes()) * 8 / keys, 8 // or 16, in each of up to 16 filters
	}},
	{"counting.Filter", "keys can be removed; gives a bloom.Filter", made(counting.New)},
	{"cuckoo.Filter", "keys can be removed; refuses when full", made(cuckoo.New)},
	{"window.Filter", "forgets a key after a time, in which n keys come", made(func(n uint64, p float64) (*window.Filter, error) {
		return window.New(window.Config{N: n, P: p, Span: time.Hour})
	})},
	{"flower.Filter", "remembers 90 % of the last n keys of an endless stream", func(p float64) (float64, int) {
		c, err := flower.Optimal(sampleKeys, 0.9, p)
		if err != nil {
			return 0, 0
		}
		return float64(c.Slots) * float64(c.Bits) / sampleKeys, c.Ways
	}},
}

// made is for types of which one can be made to see what it takes.
func made[F interface{ Stats() bloom.Stats }](make func(uint64, float64) (F, error)) func(p float64) (float64, int) {
	return func(p float64) (float64, int) {
		f, err := make(sampleKeys, p)
		if err != nil {
			return 0, 0
		}
		s := f.Stats()
		return float64(8*s.SizeBytes) / sampleKeys, s.K
	}
}

func planCommand() *cobra.Command {
	var size filterFlags
	var asJSON *bool
	c := &cobra.Command{
		Use:  "plan -n N [-p P] [-json]",
		Args: need(0, 0, "no arguments"),
		RunE: func(_ *cobra.Command, _ []string) error {
			if size.n == 0 {
				return usageError{errors.New("plan needs -n N; see bloom help plan")}
			}
			if err := size.check(1e-15, ""); err != nil {
				return err
			}
			if *asJSON {
				for _, d := range designs {
					if err := writeJSON(d.plan(uint64(size.n), size.p)); err != nil {
						return err
					}
				}
				return nil
			}
			_, err := os.Stdout.WriteString(table(uint64(size.n), size.p))
			return err
		},
	}
	size.add(c.Flags(), "keys", "rate of other keys that are reported", 0.001)
	asJSON = addJSON(c.Flags())
	return c
}

// planned is what a design takes. It has no size where there is no such filter.
type planned struct {
	Type string  `json:"type"`
	Keys uint64  `json:"keys"`
	Rate float64 `json:"rate"`
	Bits float64 `json:"bits_per_key,omitempty"`
	Size uint64  `json:"size,omitempty"`
	K    int     `json:"k,omitempty"`
	Note string  `json:"note"`
}

// plan returns what d takes for n keys at the rate p.
func (d *design) plan(n uint64, p float64) planned {
	bits, k := d.at(p)
	return planned{d.name, n, p, bits, uint64(bits * float64(n) / 8), k, d.note}
}

func table(n uint64, p float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %g of others reported:\n\n", counted(n, "key"), p)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "type\tbits/key\tsize\tbits a key sets\t")
	for _, d := range designs {
		if plan := d.plan(n, p); plan.Size > 0 {
			fmt.Fprintf(w, "%s\t%.1f\t%s\t%d\t%s\n", plan.Type, plan.Bits, humanize.Bytes(plan.Size), plan.K, plan.Note)
		} else {
			fmt.Fprintf(w, "%s\t-\t-\t-\tnone at that rate\n", plan.Type)
		}
	}
	w.Flush()
	return b.String()
}
