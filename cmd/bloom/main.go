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
	name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "bloom "), " ", "-")
	text, err := help.ReadFile("help/" + name + ".txt")
	if err != nil { // cobra's own commands have texts of their own
		return
	}
	short, rest, _ := strings.Cut(string(text), "\n\n")
	long, example, _ := strings.Cut(rest, "\nExamples:\n")
	c.Short = short
	c.Long = strings.TrimSpace(long)
	c.Example = strings.TrimRight(example, "\n")
}

func newRoot() *cobra.Command {
	version := "(devel)"
	// Go install sets the version of the main module.
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	root := &cobra.Command{
		Use:               "bloom",
		Version:           version,
		PersistentPreRunE: requireStdout,
		SilenceErrors:     true,
		SilenceUsage:      true,
		// An unknown command gets an error that names it, even if it has unknown flags.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	root.SetOut(&stdoutWriter{})
	group(root, "no command; see bloom help")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		help := strings.Replace(c.CommandPath(), "bloom", "bloom help", 1)
		return usageError{fmt.Errorf("%w; see %s", err, help)}
	})
	root.AddCommand(dedupeCommand(), buildCommand(), checkCommand(), addCommand(), removeCommand(),
		mergeCommand(), diffCommand(), patchCommand(), infoCommand(), planCommand(), serveCommand(),
		bankCommand(), versionCommand(version))
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(),
		".FlagUsages", ".FlagUsagesWrapped 80"))
	explain(root)
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			c.DisableFlagsInUseLine = true
			explain(c)
			c.Flags().VisitAll(nameValue)
		}
	}
	strict(root)
	return root
}

// named is the value of a flag. Its Type is the name of the value in help.
type named struct {
	pflag.Value
	name string
}

func (n named) Type() string { return n.name }

// nameValue removes the backticks that mark the name of f's value from the text of f, because
// shells show them.
func nameValue(f *pflag.Flag) {
	name, usage := pflag.UnquoteUsage(f)
	if usage != f.Usage {
		f.Usage = usage
		f.Value = named{f.Value, name}
	}
}

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "show the version of bloom",
		Args:  need(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Println("bloom version", version)
			return err
		},
	}
}

// group makes c a command that only has subcommands. Without a subcommand, c fails, and the
// parameter missing is the message. For an unknown subcommand, the message names similar ones.
func group(c *cobra.Command, missing string) {
	c.SuggestionsMinimumDistance = 2
	c.Run = func(*cobra.Command, []string) {}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{errors.New(missing)}
		}
		if near := slices.Compact(c.SuggestionsFor(args[0])); len(near) > 0 {
			return usageError{fmt.Errorf("%q is not a command; do you mean %s? See bloom help",
				args[0], strings.Join(near, " or "))}
		}
		return usageError{fmt.Errorf("%q is not a command; see bloom help", args[0])}
	}
}

// strict makes cobra's own commands, help and completion, return usage errors for wrong arguments,
// which they otherwise ignore.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Short = "explain a command"
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usageError{fmt.Errorf("%q is not a command; see bloom help",
						strings.Join(args, " "))}
				}
				return nil
			}
		case "completion":
			c.Short = "write the completion for a shell"
			// Each shell is a subcommand, so any other argument is an error.
			c.Args = need(1, 0, "one of bash, fish, powershell and zsh")
			c.Run = func(*cobra.Command, []string) {}
			for _, shell := range c.Commands() {
				shell.Short = "write the completion for " + shell.Name()
				shell.Long = strings.ReplaceAll(shell.Long, "already, you", "already,\nyou")
				shell.Args = need(0, 0, "no arguments")
			}
		}
	}
}

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errNothing ends check and bank which with status 1, without a message.
var errNothing = errors.New("nothing was written")

// errShown is the error of a command that has already written its message.
var errShown = errors.New("an error was shown")

// stdoutWriter is standard output for cobra. Cobra ignores errors of writing, so err keeps the
// first one.
type stdoutWriter struct{ err error }

func (w *stdoutWriter) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	var caught atomic.Int32
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // nohup ignores SIGHUP
			signal.Notify(signals, s)
		}
	}
	go func() {
		s := <-signals
		signal.Stop(signals) // the next signal ends the process
		if number, ok := s.(syscall.Signal); ok {
			caught.Store(int32(number))
		}
		cancel()
	}()
	// While SIGPIPE is caught, a write to a closed pipe returns an error, and the command removes
	// its temporary files.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	root := newRoot()
	args := dashed(root, os.Args[1:])
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name, _, _ := strings.Cut(args[0], "=")
		first := []string{"-h", "--help", "-v", "--version"} // flags that may stand before a command
		if !slices.Contains(first, name) {
			err := fmt.Errorf("unknown flag %s: the command comes first; see bloom help", os.Args[1])
			os.Exit(status("", usageError{err}, 0))
		}
	}
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if out, ok := root.OutOrStdout().(*stdoutWriter); ok && err == nil {
		err = out.err
	}
	if errors.Is(err, syscall.EPIPE) {
		// This write ends the process with SIGPIPE, as a shell expects, if the system has that
		// signal.
		signal.Reset(syscall.SIGPIPE)
		os.Stdout.WriteString("\n")
	}
	os.Exit(status(command.Name(), err, int(caught.Load())))
}

func status(command string, err error, signal int) int {
	silent := err == nil || err == errNothing || err == errShown
	if !silent && !errors.Is(err, context.Canceled) {
		say("%v", err)
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

// say writes a message to standard error, as one line after the program's name.
func say(format string, args ...any) {
	text := strings.TrimPrefix(fmt.Sprintf(format, args...), "bloom: ")
	message(fmt.Sprintf("bloom: %s\n", escaped(text)))
}

func warn(format string, args ...any) { say("warning: "+format, args...) }

// escaped returns text with escapes in place of control characters, which may be in a file name and
// could change what a terminal shows. A line break becomes a semicolon.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(strings.ReplaceAll(text, "\n", "; ")) {
		if c < ' ' || c == 0x7f {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// requireStdout returns an error if standard output is closed and c would write to it. Commands
// that are not listed here check this themselves if they write there.
func requireStdout(c *cobra.Command, _ []string) error {
	writes := false
	switch c.Name() {
	case "check":
		writes = !c.Flags().Changed("quiet")
	case "dedupe":
		writes = !c.Flags().Changed("state")
	case "info", "plan", "which", "version":
		writes = true
	}
	if writes && stdoutClosed() {
		return errors.New("standard output is closed")
	}
	return nil
}

// dashed gives the flags of args the dashes that pflag wants: two for long names and one for short
// ones. Users may write one or two. A value that follows its flag is left alone.
func dashed(root *cobra.Command, args []string) []string {
	known := map[string]*pflag.Flag{}
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c, root) {
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			c.Flags().VisitAll(func(f *pflag.Flag) {
				known[f.Name] = f
				known[f.Shorthand] = f
			})
		}
	}
	out := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		text, isFlag := strings.CutPrefix(arg, "-")
		name, _, hasValue := strings.Cut(strings.TrimPrefix(text, "-"), "=")
		f := known[name]
		if !isFlag || name == "" || f == nil {
			out = append(out, arg)
			continue
		}
		out = append(out, strings.Repeat("-", min(len(name), 2))+strings.TrimLeft(arg, "-"))
		if !hasValue && f.NoOptDefVal == "" && i+1 < len(args) {
			i++
			out = append(out, args[i])
		}
	}
	return out
}
