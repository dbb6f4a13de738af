package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// run executes the command that args name. An error that occurs before the command begins becomes a
// usageError that names a help page.
func run(ctx context.Context, root *cobra.Command, args []string) error {
	began := false
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(args)
	c, err := checkFlags(root, args)
	if err == nil {
		c, err = root.ExecuteContextC(ctx)
	}
	if out, ok := root.OutOrStdout().(*stdoutWriter); ok && out.err != nil {
		return out.err
	}
	if err != nil && !began {
		page := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "bloom"), " help")
		return usageError{fmt.Errorf("%w; see bloom help%s", err, page)}
	}
	return err
}

// checkFlags returns the command in args. It reports some mistakes that cobra would report in other
// words, or not at all: pflag would read -output as -o with the value utput.
func checkFlags(root *cobra.Command, args []string) (*cobra.Command, error) {
	c, rest := root, args
	flagsFirst := len(args) > 0 && strings.HasPrefix(args[0], "-")
	if !flagsFirst {
		c, rest, _ = root.Find(args)
	}
	switch {
	case len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd):
		return c, nil // cobra completes args
	case c == root && !flagsFirst: // an unknown command, or none
		return c, c.Args(c, args)
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if name := longName(c.Flags(), rest); name != "" {
		return c, fmt.Errorf("-%s has one dash, but long names have two: --%[1]s", name)
	}
	if flagsFirst {
		name, _, _ := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		known := name != "" && (c.Flags().Lookup(name) != nil ||
			c.Flags().ShorthandLookup(name[:1]) != nil)
		if !known {
			return c, fmt.Errorf("unknown flag %s: the command comes first", args[0])
		}
	}
	return c, nil
}

// longName returns the name of the first long flag in args that is written with one dash, or "" if
// there is none. It skips the values of flags, and everything after --.
func longName(flags *pflag.FlagSet, args []string) string {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case arg == "--":
			return ""
		case strings.HasPrefix(arg, "--"):
			if f := flags.Lookup(name); f != nil && f.NoOptDefVal == "" && !hasValue {
				i++
			}
		case !strings.HasPrefix(arg, "-") || arg == "-":
		case flags.Lookup(name) != nil:
			return name
		case valueFollows(flags, arg[1:]):
			i++
		}
	}
	return ""
}

// valueFollows reports whether the last of the joined short flags takes the next argument as its
// value.
func valueFollows(flags *pflag.FlagSet, joined string) bool {
	for i := range len(joined) {
		f := flags.ShorthandLookup(joined[i : i+1])
		if f == nil || f.NoOptDefVal == "" {
			return f != nil && i == len(joined)-1
		}
	}
	return false
}
