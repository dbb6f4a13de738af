package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

// design is a type of filter.
type design struct {
	name, note string
	// at returns what it takes for keys at the rate p: bits a key, or NaN or 0 if there is no
	// such filter, bits that a key sets, and what a look-up reads.
	at func(p float64) (bits float64, k int, reads string)
}

// With sampleKeys keys, sizes are in proportion to the number of keys.
const sampleKeys = 100_000

var designs = []design{
	{"bloom.Filter", "Guava's: the smallest; Java reads it", classic(1)},
	{"blocked.Filter", "the fastest", func(p float64) (float64, int, string) {
		f, err := blocked.New(sampleKeys, p)
		if err != nil {
			return 0, 0, ""
		}
		return float64(f.M()) / sampleKeys, 8 * f.Lines(), linesRead(f.Lines(), 1)
	}},
	{"growing.Filter", "n need not be known", func(p float64) (float64, int, string) {
		f, err := growing.New(0, p)
		layer, err2 := blocked.New(sampleKeys, p/17) // into so many parts it cuts p for most of its filters
		if err != nil || err2 != nil {
			return 0, 0, ""
		}
		const keys = 60_000 // more than the first 64 KB have room for; it needs about as much a key at every n
		for i := range uint64(keys) {
			f.AddHash(bloom.SumUint64(i))
		}
		return float64(f.SizeBytes()) * 8 / keys, 8 * layer.Lines(), linesRead(layer.Lines(), 0) + " in each of up to 16 filters"
	}},
	{"counting.Filter", "keys can be removed", classic(4)},
	{"window.Filter", "forgets a key after a time, in which n keys come", func(p float64) (float64, int, string) {
		s := bloom.Must(window.New(window.Config{Capacity: sampleKeys, FPR: p, Span: time.Hour})).Stats()
		return float64(8*s.SizeBytes) / sampleKeys, s.K, fmt.Sprintf("up to %s of a kilobyte", linesRead(min(16, s.K), 0))
	}},
	{"flower.Filter", "remembers 90 % of the last n keys of an endless stream", func(p float64) (float64, int, string) {
		c, err := flower.Optimal(sampleKeys, 0.9, p)
		if err != nil {
			return 0, 0, ""
		}
		return float64(c.Slots) * float64(c.Bits) / sampleKeys, c.Ways, linesRead(c.Ways, 0)
	}},
}

// classic is for types with Guava's indexes, and some bits for each position.
func classic(bits float64) func(p float64) (float64, int, string) {
	return func(p float64) (float64, int, string) {
		k := bloom.OptimalK(bloom.OptimalM(sampleKeys, p), sampleKeys)
		return bits * -math.Log(p) / (math.Ln2 * math.Ln2), k, linesRead(k, 2)
	}
}

// linesRead says that a look-up reads n lines, or fewer on average if the key is absent.
func linesRead(n, ifAbsent int) string {
	lines := counted(uint64(n), "line")
	if ifAbsent == 0 || ifAbsent >= n {
		return lines
	}
	return fmt.Sprintf("%s, %d if absent", lines, ifAbsent)
}

func planCommand() *cobra.Command {
	var size filterFlags
	var asJSON *bool
	c := &cobra.Command{
		Use:   "plan -n N [-p P] [-json]",
		Short: "show how large filters would be",
		Long: `plan shows what each type of filter takes for N keys at the rate P: bits a key, bytes, and
hashes, which are the bits that a key sets. It also shows how many lines of the processor's
cache a look-up reads. The speed of a filter that is larger than the cache depends on that.
With -json it writes an object a line.`,
		Example: `  bloom plan -n 1e9 -p 0.001`,
		Args:    need(0, 0, "no arguments"),
		RunE: func(_ *cobra.Command, _ []string) error {
			if size.n == 0 {
				return usageError{errors.New("plan needs -n N; see bloom help plan")}
			}
			if !(size.p >= 1e-15 && size.p < 1) {
				return usageError{fmt.Errorf("p = %v is outside [1e-15, 1)", size.p)}
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
	Type  string  `json:"type"`
	Keys  uint64  `json:"keys"`
	Rate  float64 `json:"rate"`
	Bits  float64 `json:"bits_per_key,omitempty"`
	Size  uint64  `json:"size,omitempty"`
	K     int     `json:"k,omitempty"`
	Reads string  `json:"reads,omitempty"`
	Note  string  `json:"note"`
}

// plan returns what d takes for n keys at the rate p.
func (d *design) plan(n uint64, p float64) planned {
	plan := planned{Type: d.name, Keys: n, Rate: p, Note: d.note}
	if bits, k, reads := d.at(p); bits > 0 {
		plan.Bits, plan.Size, plan.K, plan.Reads = bits, uint64(bits*float64(n)/8), k, reads
	}
	return plan
}

func table(n uint64, p float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %g of others reported:\n\n", counted(n, "key"), p)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "type\tbits/key\tsize\thashes\ta look-up reads\t")
	for _, d := range designs {
		plan := d.plan(n, p)
		if plan.Size == 0 {
			fmt.Fprintf(w, "%s\t-\t-\t-\tnone at that rate\t%s\n", plan.Type, plan.Note)
			continue
		}
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%d\t%s\t%s\n", plan.Type, plan.Bits, humanize.Bytes(plan.Size), plan.K, plan.Reads, plan.Note)
	}
	w.Flush()
	return b.String()
}
