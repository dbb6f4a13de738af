// Bloom drops repeated lines, looks lines up in lists of any length, and makes and
// inspects the filters for that.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:embed help
var help embed.FS

// explain gives c its help: a line, a text, and examples.
func explain(c *cobra.Command) {
	text, err := help.ReadFile("help/" + strings.ReplaceAll(strings.Replace(c.CommandPath(), "bloom ", "", 1), " ", "-") + ".txt")
	if err == nil { // cobra's own commands have texts of their own
		c.Short, c.Long, _ = strings.Cut(string(text), "\n\n")
		c.Long, c.Example, _ = strings.Cut(c.Long, "\nExamples:\n")
		c.Long, c.Example = strings.TrimSpace(c.Long), strings.TrimRight(c.Example, "\n")
	}
}

func newRoot() *cobra.Command {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" { // which go install knows
		version = info.Main.Version
	}
	root := &cobra.Command{
		Use:           "bloom",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		// A command that there is not says so, whatever its options are.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	group(root, "no command; see bloom help")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		text := err.Error()
		for says, meaning := range map[string]string{": strconv.ParseInt": "a whole number", ": strconv.ParseBool": "true or false", ": time:": "a time, such as 90s, 10m or 24h"} {
			if what, _, ok := strings.Cut(text, says); ok {
				text = what + ": it is not " + meaning
			}
		}
		return usageError{fmt.Errorf("%s; see %s", text, strings.Replace(c.CommandPath(), "bloom", "bloom help", 1))}
	})
	root.AddCommand(dedupeCommand(), buildCommand(), checkCommand(), addCommand(), removeCommand(), mergeCommand(),
		infoCommand(), planCommand(), serveCommand(), bankCommand())
	explain(root)
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			c.DisableFlagsInUseLine = true
			explain(c)
		}
	}
	strict(root)
	return root
}

// group makes c a command of commands. Without one of them it is an error: missing, or what
// the wrong word may mean.
func group(c *cobra.Command, missing string) {
	c.SuggestionsMinimumDistance = 2
	c.Run = func(*cobra.Command, []string) {}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{errors.New(missing)}
		}
		if near := slices.Compact(c.SuggestionsFor(args[0])); len(near) > 0 {
			return usageError{fmt.Errorf("%q is no command; is it %s that you want? See bloom help", args[0], strings.Join(near, " or "))}
		}
		return usageError{fmt.Errorf("%q is no command; see bloom help", args[0])}
	}
}

// strict makes cobra's own commands, help and completion, return usage errors as the others
// do. By themselves they accept wrong arguments in silence.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usageError{fmt.Errorf("%q is no command; see bloom help", strings.Join(args, " "))}
				}
				return nil
			}
		case "completion":
			c.Args = need(1, 0, "one of bash, fish, powershell and zsh") // which are commands of their own
			c.Run = func(*cobra.Command, []string) {}
			for _, shell := range c.Commands() {
				shell.Args = need(0, 0, "no arguments")
			}
		}
	}
}

// usageError is one of the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errNothing is that of check when it wrote nothing. It is not shown.
var errNothing = errors.New("nothing was written")

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	var caught atomic.Int32
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // as nohup has it
			signal.Notify(signals, s)
		}
	}
	go func() {
		s := <-signals
		signal.Stop(signals) // the next one ends the process
		if number, ok := s.(syscall.Signal); ok {
			caught.Store(int32(number))
		}
		cancel()
	}()
	// A write to a closed pipe returns an error, so that nothing is left beside files.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	root := newRoot()
	args := longFlags(root, os.Args[1:])
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "--help", "-v", "--version"}, args[0]) {
		os.Exit(status("", usageError{fmt.Errorf("unknown flag %s: the command comes first; see bloom help", os.Args[1])}, 0))
	}
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if errors.Is(err, syscall.EPIPE) { // ends the process as a write to a closed pipe does, where it does
		signal.Reset(syscall.SIGPIPE)
		os.Stdout.WriteString("\n")
	}
	os.Exit(status(command.Name(), err, int(caught.Load())))
}

// status shows err and returns the exit status.
func status(command string, err error, signal int) int {
	if err != nil && err != errNothing && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "bloom: %s\n", strings.TrimPrefix(err.Error(), "bloom: "))
	}
	switch usage := (usageError{}); {
	case signal != 0 && command != "serve":
		return 128 + signal
	case err == nil:
		return 0
	case errors.As(err, &usage), (command == "check" || command == "which") && err != errNothing:
		return 2
	}
	return 1
}

// longFlags gives long flags that have one dash the second one, for pflag would take
// them for several short ones.
func longFlags(root *cobra.Command, args []string) []string {
	long := map[string]bool{"help": true, "version": true}
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			c.Flags().VisitAll(func(f *pflag.Flag) { long[f.Name] = true })
		}
	}
	out := make([]string, 0, len(args))
	for i, arg := range args {
		if arg == "--" {
			return append(out, args[i:]...)
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "="); len(arg) > 2 && arg[0] == '-' && long[name] {
			arg = "-" + arg
		}
		out = append(out, arg)
	}
	return out
}
