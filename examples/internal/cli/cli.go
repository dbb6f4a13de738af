// Package cli is what the example programs share.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// Main calls run with the process's arguments and files, and exits: with status 0,
// or with status 1 after printing an error behind the program's name. Output that
// could not be written is an error, so run need not check.
func Main(name string, run func(args []string, stdout, stderr io.Writer) error) {
	if err := Run(run, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Run is Main without the process.
func Run(run func(args []string, stdout, stderr io.Writer) error, args []string, stdout, stderr io.Writer) error {
	out := &output{Writer: stdout}
	err := run(args, out, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return out.err
	case err == nil && out.err != nil:
		return fmt.Errorf("writing output: %w", out.err)
	}
	return err
}

// output writes nothing after its first error, which it keeps.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.Writer.Write(p)
	o.err = err
	return n, err
}

// Parse parses args. If they ask for help, it writes usage and the flags to stdout and
// returns flag.ErrHelp.
func Parse(flags *flag.FlagSet, usage string, args []string, stdout io.Writer) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "usage:", flags.Name(), usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
	}
	return err
}

// Count defines a flag for a number of things. It takes 1000000 and 1e6.
func Count(flags *flag.FlagSet, name string, value uint64, usage string) *uint64 {
	c := count(value)
	flags.Var(&c, name, usage)
	return (*uint64)(&c)
}

type count uint64

func (c *count) String() string { return strconv.FormatUint(uint64(*c), 10) }

func (c *count) Set(s string) error {
	n, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		x, _ := strconv.ParseFloat(s, 64)
		if !(x >= 1 && x < math.MaxUint64 && x == math.Trunc(x)) {
			return errors.New("not a whole number from 0 on")
		}
		n = uint64(x)
	}
	*c = count(n)
	return nil
}
