package main

import (
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

// design is a type of filter, planned for n keys at the rate p.
type design struct {
	name   string
	bits   func(p float64) float64 // a key; NaN or 0 if there is no such filter
	hashes func(p float64) int     // bits set a key
	speed  func(p float64) string
	note   string
}

var designs = []design{
	{
		name:   "bloom.Filter",
		bits:   func(p float64) float64 { return -math.Log(p) / (math.Ln2 * math.Ln2) },
		hashes: classicHashes,
		speed:  func(p float64) string { return fmt.Sprintf("%d lines, 2 if absent", classicHashes(p)) },
		note:   "Guava's: the smallest; Java reads it",
	},
	{
		name:   "blocked.Filter",
		bits:   func(p float64) float64 { return float64(blockedSample(p).M()) / sampleKeys },
		hashes: func(p float64) int { return 8 * blockedSample(p).Lines() },
		speed: func(p float64) string {
			if n := blockedSample(p).Lines(); n > 1 {
				return fmt.Sprintf("%d lines, 1 if absent", n)
			}
			return "1 line"
		},
		note: "the fastest",
	},
	{
		name:   "growing.Filter",
		bits:   growingBits,
		hashes: func(p float64) int { return 8 * blockedSample(p/growingLayers).Lines() },
		speed: func(p float64) string {
			return fmt.Sprintf("%d lines in each of up to 16 filters", blockedSample(p/growingLayers).Lines())
		},
		note: "n need not be known",
	},
	{
		name:   "counting.Filter",
		bits:   func(p float64) float64 { return 4 * -math.Log(p) / (math.Ln2 * math.Ln2) },
		hashes: classicHashes,
		speed:  func(p float64) string { return fmt.Sprintf("%d lines, 2 if absent", classicHashes(p)) },
		note:   "keys can be removed",
	},
	{
		name:   "window.Filter",
		bits:   func(p float64) float64 { return float64(8*windowSample(p).SizeBytes()) / sampleKeys },
		hashes: func(p float64) int { return windowSample(p).Stats().K },
		speed: func(p float64) string {
			return fmt.Sprintf("up to %d lines of a kilobyte", min(16, windowSample(p).Stats().K))
		},
		note: "forgets a key after a time, in which n keys come",
	},
	{
		name: "flower.Filter",
		bits: func(p float64) float64 {
			c := flowerSample(p)
			return float64(c.Slots) * float64(c.Bits) / sampleKeys
		},
		hashes: func(p float64) int { return flowerSample(p).Ways },
		speed:  func(p float64) string { return fmt.Sprintf("%d lines", flowerSample(p).Ways) },
		note:   "holds 90 % of the last n keys, of which there is no end",
	},
}

func classicHashes(p float64) int {
	return bloom.OptimalK(bloom.OptimalM(sampleKeys, p), sampleKeys)
}

// growingLayers is into how many parts package growing cuts p for most of its filters.
const growingLayers = 17

// sampleKeys are as many as it takes for sizes to be in proportion.
const sampleKeys = 100_000

func blockedSample(p float64) *blocked.Filter {
	f, err := blocked.New(sampleKeys, p)
	if err != nil {
		return new(blocked.Filter)
	}
	return f
}

// windowSample is a window with the default number of generations.
func windowSample(p float64) *window.Filter {
	return bloom.Must(window.New(window.Config{Capacity: sampleKeys, FPR: p, Span: time.Hour}))
}

// flowerSample is zero where there is no such flower.
func flowerSample(p float64) flower.Config {
	c, err := flower.Optimal(sampleKeys, 0.9, p)
	if err != nil {
		return flower.Config{}
	}
	return c
}

// growingBits fills a filter: package growing needs about as much a key at every n.
func growingBits(p float64) float64 {
	f, err := growing.New(0, p)
	if err != nil {
		return math.NaN() // it has no rates below 1e-9
	}
	const keys = 60_000 // more than the first 64 KB have room for
	for i := range uint64(keys) {
		f.AddHash(bloom.SumUint64(i))
	}
	return float64(f.SizeBytes()) * 8 / keys
}

func planCommand() *cobra.Command {
	var size filterFlags
	var svg string
	var asJSON *bool
	c := &cobra.Command{
		Use:   "plan -n N [-p P] [-json] [-svg FILE]",
		Short: "show how large filters would be",
		Long: `plan shows what each type of filter takes for N keys at the rate P: bits a key, bytes, and
hashes, which are the bits that a key sets. It also shows how many lines of the processor's
cache a look-up reads. The speed of a filter that is larger than the cache depends on that. With -json it
writes an object a line. With -svg it also draws bits a key against the rate, readable on
light and dark pages.`,
		Example: `  bloom plan -n 1e9 -p 0.001`,
		Args:    need(0, 0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if size.n == 0 {
				return required(c, "lines", "-n N")
			}
			if !(size.p >= 1e-15 && size.p < 1) {
				return usageError{fmt.Errorf("p = %v is outside [1e-15, 1)", size.p)}
			}
			if svg != "" {
				if err := os.WriteFile(svg, []byte(picture(size.p)), 0o666); err != nil {
					return err
				}
			}
			if *asJSON {
				for _, d := range designs {
					if err := writeJSON(d.at(uint64(size.n), size.p)); err != nil {
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
	c.Flags().StringVar(&svg, "svg", "", "`FILE` for a picture")
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

// at returns what d takes for n keys at the rate p.
func (d *design) at(n uint64, p float64) planned {
	plan := planned{Type: d.name, Keys: n, Rate: p, Note: d.note}
	if bits := d.bits(p); bits > 0 {
		plan.Bits, plan.Size, plan.K, plan.Reads = bits, uint64(bits*float64(n)/8), d.hashes(p), d.speed(p)
	}
	return plan
}

func table(n uint64, p float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s keys, %g of others reported:\n\n", humanize.Comma(int64(n)), p)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "type\tbits/key\tsize\thashes\ta look-up reads\t")
	for _, d := range designs {
		plan := d.at(n, p)
		if plan.Size == 0 {
			fmt.Fprintf(w, "%s\t-\t-\t-\tnone at that rate\t%s\n", plan.Type, plan.Note)
			continue
		}
		fmt.Fprintf(w, "%s\t%.1f\t%s\t%d\t%s\t%s\n", plan.Type, plan.Bits, humanize.Bytes(plan.Size), plan.K, plan.Reads, plan.Note)
	}
	w.Flush()
	return b.String()
}
