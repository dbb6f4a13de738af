package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

// leastPlan is the lowest rate that plan takes.
const leastPlan = 1e-15

type planFlags struct {
	filterFlags
	size byteCount
	json *bool
}

func planCommand() *cobra.Command {
	var o planFlags
	c := &cobra.Command{
		Use:  "plan -n N [-p P | --size S] [--json]",
		Args: need(0, 0, "no arguments"),
	}
	flags := c.Flags()
	o.register(flags, "keys", "other keys reported by mistake", 0.001)
	flags.Var(&o.size, "size", "show the rate of files of this size, such as 64M")
	o.json = addJSON(flags)
	c.RunE = func(*cobra.Command, []string) error {
		if o.size > 0 && flags.Changed("rate") {
			return usageError{errors.New("--size shows rates: leave -p out")}
		}
		return o.run()
	}
	return c
}

func (o *planFlags) run() error {
	if stdoutClosed() {
		return errNoStdout
	}
	if o.n == 0 {
		return usageError{errors.New("plan needs -n N; see bloom help plan")}
	}
	if err := o.check(leastPlan, ""); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	if !*o.json {
		given := fmt.Sprintf("%g of others reported", o.p)
		if o.size > 0 {
			given = fmt.Sprintf("files of %s at most", humanize.Bytes(uint64(o.size)))
		}
		fmt.Fprintf(w, "%s, %s:\n\n", counted(uint64(o.n), "key"), given)
		fmt.Fprintln(w, "type\tbits/key\tsize\trate\tk\t")
	}
	for _, k := range kinds {
		if k.plan == nil {
			continue
		}
		p := o.planFor(k)
		switch {
		case *o.json:
			if err := writeJSON(p); err != nil {
				return err
			}
		case p.Size > 0:
			fmt.Fprintf(w, "%s\t%.1f\t%s\t%.3g\t%d\t%s\n",
				p.Type, p.Bits, humanize.Bytes(p.Size), p.Rate, p.K, p.Note)
		case o.size > 0:
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\tnot possible at that size\n", p.Type)
		default:
			fmt.Fprintf(w, "%s\t-\t-\t-\t-\tnot possible at that rate\n", p.Type)
		}
	}
	return w.Flush()
}

func (o *planFlags) planFor(k kind) planned {
	n := uint64(o.n)
	p := planned{Type: k.name, Keys: n, Rate: o.p, Note: k.note}
	if o.size > 0 {
		p.Rate = k.plan.rateOf(uint64(o.size), n, k.least)
	}
	size, bits, err := k.plan(n, min(p.Rate, 0.5))
	if err == nil && p.Rate >= k.least {
		p.Size = size
		p.Bits = 8 * float64(size) / float64(n)
		p.K = bits
	}
	return p
}

// byteCount is a number of bytes, such as 64M, 64MiB or 1e6.
type byteCount uint64

func (c *byteCount) Type() string { return "S" }

func (c *byteCount) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*c), 10)
}

func (c *byteCount) Set(s string) error {
	bytes, err := humanize.ParseBytes(s)
	if x, notNumber := strconv.ParseFloat(s, 64); notNumber == nil && x >= 0 && x < 1<<63 {
		bytes, err = uint64(x), nil
	}
	if err != nil || bytes == 0 {
		return fmt.Errorf("%q is not a size, such as 64M, 64MiB or 1e9", s)
	}
	*c = byteCount(bytes)
	return nil
}

// planned is the plan for one type. If no filter of the type has the requested rate or size, Size
// is 0. If a size was requested, Rate is then 0, too.
type planned struct {
	Type string  `json:"type"`
	Keys uint64  `json:"keys"`
	Rate float64 `json:"rate,omitempty"`
	Bits float64 `json:"bits_per_key,omitempty"`
	Size uint64  `json:"size,omitempty"`
	K    int     `json:"k,omitempty"`
	Note string  `json:"note"`
}
