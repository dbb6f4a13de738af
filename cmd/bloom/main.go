// Bloom drops repeated lines, looks lines up in lists of any length, and builds and inspects the
// filters that both need.
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
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

//go:embed help
var help embed.FS

// topics are help pages that are not about a single command.
var topics = []string{
	"keys", "sizes", "types", "shards", "never", "state", "out", "files", "limits",
}

func explain(c *cobra.Command) {
	name := strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "bloom "), " ", "-")
	text, err := help.ReadFile("help/" + name + ".txt")
	if err != nil { // cobra's own commands have their own help
		return
	}
	short, rest, _ := strings.Cut(string(text), "\n\n")
	if !c.Runnable() && !c.HasSubCommands() { // cobra does not show the Example of a topic
		c.Short = short
		c.Long = rest
		return
	}
	long, example, _ := strings.Cut(rest, "\nExamples:\n")
	c.Short = short
	c.Long = strings.TrimSpace(long)
	c.Example = strings.TrimRight(example, "\n")
}

func newRoot() *cobra.Command {
	version := "(devel)"
	// The command go install sets the version of the main module.
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	root := &cobra.Command{
		Use:           "bloom",
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(&stdoutWriter{})
	group(root, "no command")
	root.AddCommand(dedupeCommand(), buildCommand(), checkCommand(), addCommand(), removeCommand(),
		mergeCommand(), diffCommand(), patchCommand(), infoCommand(), planCommand(), serveCommand(),
		bankCommand(), versionCommand(version))
	for _, topic := range topics {
		root.AddCommand(&cobra.Command{Use: topic})
	}
	explain(root)
	for _, c := range root.Commands() {
		for _, c := range append(c.Commands(), c) {
			c.DisableFlagsInUseLine = true
			explain(c)
		}
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completion := find(root, "completion")
	completion.Short = "write the completion for a shell"
	group(completion, "completion needs bash, fish, powershell or zsh")
	help := find(root, "help")
	help.Short = "explain a command"
	help.Args = func(_ *cobra.Command, args []string) error { // cobra would report no error
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return notCommand(strings.Join(args, " "))
		}
		return nil
	}
	return root
}

func find(root *cobra.Command, name string) *cobra.Command {
	c, _, _ := root.Find([]string{name})
	return c
}

func versionCommand(version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "show the version of bloom",
		Args:  need(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if stdoutClosed() {
				return errNoStdout
			}
			_, err := fmt.Println("bloom version", version)
			return err
		},
	}
}

// group makes c a command that only has subcommands. missing is the error text for a call without a
// subcommand. The error for an unknown subcommand suggests similar names, if there are any.
func group(c *cobra.Command, missing string) {
	c.SuggestionsMinimumDistance = 2
	c.Run = func(*cobra.Command, []string) {}
	c.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(missing)
		}
		if near := slices.Compact(c.SuggestionsFor(args[0])); len(near) > 0 {
			return fmt.Errorf("%w: did you mean %s", notCommand(args[0]), strings.Join(near, " or "))
		}
		return notCommand(args[0])
	}
}

func notCommand(name string) error { return fmt.Errorf("%q is not a command", name) }

// usageError ends the program with status 2, unless a signal was caught.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// silent ends the program with a status, without a message. A status of 0 is kept even if a signal
// ended the command.
type silent int

func (s silent) Error() string { return fmt.Sprintf("status %d", int(s)) }

var errNoStdout = errors.New("standard output is closed")

// stdoutWriter is standard output for cobra. Cobra ignores write errors, so err keeps the first.
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
	err := run(ctx, newRoot(), os.Args[1:])
	if errors.Is(err, syscall.EPIPE) {
		// This write ends the process with SIGPIPE, as a shell expects, if the system has that
		// signal.
		signal.Reset(syscall.SIGPIPE)
		os.Stdout.WriteString("\n")
	}
	os.Exit(status(err, int(caught.Load())))
}

// status returns the exit status of the program. It writes the error of the command, unless the
// error is silent or context.Canceled.
func status(err error, signal int) int {
	var end silent
	isSilent := errors.As(err, &end)
	if err != nil && !isSilent && !errors.Is(err, context.Canceled) {
		logf("%v", err)
	}
	switch usage := (usageError{}); {
	case isSilent && end == 0:
		return 0
	case signal != 0:
		return 128 + signal
	case err == nil:
		return 0
	case isSilent:
		return int(end)
	case errors.As(err, &usage):
		return 2
	}
	return 1
}

// logf writes a message to standard error, as one line that begins with the program's name. Errors
// of package bloom already begin with it.
func logf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !strings.HasPrefix(text, "bloom: ") {
		text = "bloom: " + text
	}
	message(escaped(text) + "\n")
}

func warn(format string, args ...any) { logf("warning: "+format, args...) }

func warnAll(warnings []string) {
	for _, text := range warnings {
		warn("%s", text)
	}
}

// escaped returns text with escapes in place of control and format characters and of bytes that are
// not UTF-8. A file name may have them, and they could change what a terminal shows. A newline
// becomes a semicolon.
func escaped(text string) string {
	var b strings.Builder
	text = strings.ReplaceAll(text, "\n", "; ")
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case strconv.IsGraphic(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}
