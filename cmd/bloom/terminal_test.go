package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
)

// screen is all that was written to a terminal.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func newTerminal(t *testing.T) (*os.File, *screen) {
	t.Helper()
	master, terminal, err := pty.Open()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close(); terminal.Close() })
	s := new(screen)
	go io.Copy(s, master)
	return terminal, s
}

// TestProgress looks at the terminal while input is awaited and at the end, and holds
// that standard output has lines only.
func TestProgress(t *testing.T) {
	for _, test := range []struct {
		line string
		out  bool // standard output is the terminal too
		text string
		end  string
	}{
		{"dedupe -n 100", false, "\r3 lines, 2 written, ", "bloom: 4 lines, 3 written, in "},
		{"dedupe -n 100", true, "\r3 lines, 2 written, ", "bloom: 4 lines, 3 written, in "},
		{"build -o " + os.DevNull + "/x", false, "", "bloom: "},
		{"build -o new", false, "\r3 lines, ", "bloom: 4 lines, in "},
		{"build -n 9 -o new", false, "\r3 lines, 2 new, ", "bloom: 4 lines, 3 new, in "},
		{"bank build -n 9 -o new -", false, "\r3 lines, 3 added, ", "bloom: 4 lines, 4 added, in "},
		{"check list", false, "\r3 lines, 2 found, ", "bloom: 4 lines, 3 found, in "},
		{"check list", true, "\r3 lines, 2 found, ", "bloom: 4 lines, 3 found, in "},
		{"check -v list", false, "\r3 lines, 1 not found, ", "bloom: 4 lines, 1 not found, in "},
	} {
		t.Run(test.line, func(t *testing.T) {
			terminal, s := newTerminal(t)
			cmd := command(t, test.line)
			cmd.Dir = t.TempDir()
			good(t, "a\na\nc\n", "build -p 1e-9 -o", cmd.Dir+"/list")
			cmd.Stderr = terminal
			var out bytes.Buffer
			cmd.Stdout = &out
			if test.out {
				cmd.Stdout = terminal
			}
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			shows := func(text string) {
				t.Helper()
				becomes(t, func() bool { return strings.Contains(s.String(), text) })
			}
			io.WriteString(in, "a\nb\na\n")
			shows(test.text)
			io.WriteString(in, "c\n")
			if test.out {
				// The progress makes room, and may come again just before the line does.
				room := regexp.MustCompile("\r\x1b\\[K(\r[^\n]*\x1b\\[K)?c\r\n")
				becomes(t, func() bool { return room.MatchString(s.String()) })
			}
			in.Close()
			cmd.Wait()
			shows(test.end)
			if !test.out {
				require.NotContains(t, out.String(), "\r")
			}
			if test.text != "" {
				require.Contains(t, s.String(), "lines/s")
			}
		})
	}
}

// onTerminal runs the program with a terminal as standard error, and returns the terminal and what
// it shows.
func onTerminal(t *testing.T, stdin io.Reader, line string) (*screen, func() error) {
	t.Helper()
	terminal, s := newTerminal(t)
	cmd := command(t, line)
	cmd.Stdin = stdin
	if stdin == nil {
		cmd.Stdin = terminal
	}
	cmd.Stderr = terminal
	require.NoError(t, cmd.Start())
	return s, cmd.Wait
}

// TestSummaryComesLast: a command says how many lines it read when its file is there.
func TestSummaryComesLast(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "in", numbers(0, 1_000_000))
	good(t, "", "build --force -n 1M -o base")
	for line, path := range map[string]string{
		"build -p 1e-9 -o a in": "a", "build -n 1M -p 1e-9 -o b in": "b", "bank build -o c in": "c",
	} {
		s, wait := onTerminal(t, nil, line)
		becomes(t, func() bool { return strings.Contains(s.String(), "1,000,000 lines, ") })
		require.FileExists(t, path)
		require.NoError(t, wait())
		require.Equal(t, 1, strings.Count(s.String(), "bloom: "), s.String())
	}
}

// TestProgressOfTheSecondPass: while build makes a filter of the lines that it has read, it says
// how much is done.
func TestProgressOfTheSecondPass(t *testing.T) {
	p := &progress{cfg: &lines.Config{Counts: new(lines.Counts)}, verb: "new",
		since: time.Now().Add(-1000 * time.Second)}
	running.Store(p)
	defer running.Store(nil)
	p.count(1_590_000, 20)
	require.Regexp(t, `^1\.5 M lines, 20 new, 1\.5 k lines/s$`, p.text())
	p.total = 3000
	require.Regexp(t, `^1\.5 M lines, 20 new, 1\.5 k lines/s$`, p.text(), "it has not read anything")
	p.cfg.Read.Store(1000)
	require.Regexp(t, `^1\.5 M lines, 20 new, 1\.5 k lines/s, 3[34]m\d+s left$`, p.text())
	require.Same(t, p, doing("making the filter", 1500))
	require.Equal(t, "making the filter: 0 %", p.text())
	p.step(500)
	require.Equal(t, "making the filter: 33 %", p.text())
	p.step(1000)
	require.Equal(t, "making the filter: 100 %", p.text())
	doing("writing the filter", 0)
	require.Equal(t, "writing the filter", p.text())
	doing("writing the filter", 10)
	require.Equal(t, "writing the filter: 0 %", p.text())
	for n, want := range map[float64]string{
		0: "0", 0.6211: "1", 12.4: "12", 999.4: "999", 999.6: "1 k", 1234567: "1.2 M", 4e9: "4 G",
	} {
		require.Equal(t, want, short(n))
	}
}

// TestProgressBeginsAgain: the second pass over an input shows what it has read itself.
func TestProgressBeginsAgain(t *testing.T) {
	terminal, _ := newTerminal(t)
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = terminal
	t.Chdir(t.TempDir())
	write(t, "one", "a\n")
	write(t, "two", "b\nc\n")
	p := newProgress(&lines.Config{Names: []string{"one"}, Counts: new(lines.Counts)}, "counted")
	defer p.end()
	require.EqualValues(t, 2, p.total)
	began := p.since
	require.False(t, began.IsZero())
	p.count(7, 5)
	doing("making the filter", 10)
	for !time.Now().After(began) { // a clock may be coarse
	}
	cfg := &lines.Config{Names: []string{"one", "two"}, Counts: new(lines.Counts)}
	require.Same(t, p, newProgress(cfg, "new"))
	require.EqualValues(t, 6, p.total)
	require.True(t, p.since.After(began))
	require.Regexp(t, "^0 lines, 0 new, 0 lines/s$", p.text())
}

// TestMessagesOverProgress: a message, and the summary, take the place of the line of progress, which
// does not come again after the summary.
func TestMessagesOverProgress(t *testing.T) {
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	defer stderr.Close()
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = stderr
	p := &progress{start: time.Now(), stop: make(chan struct{}), verb: "new"}
	running.Store(p)
	defer running.Store(nil)
	p.show("line", true)
	warn("one")
	warn("two")
	p.show("line", true)
	endProgress()
	require.Regexp(t, "^line\r\x1b\\[Kbloom: warning: one\nbloom: warning: two\n"+
		"line\r\x1b\\[Kbloom: 0 lines, 0 new, in .*\n$", read(t, stderr.Name()))
	select {
	case <-p.stop:
	default:
		t.Error("the line of progress comes again")
	}
}

// TestNoFilterOnTheTerminal: -o - writes a filter to a pipe or a file only.
func TestNoFilterOnTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 10 -o filter")
	for _, line := range []string{"build -o -", "bank build -n 10 -o - -", "merge -o - filter",
		"diff -o - filter filter"} {
		terminal, s := newTerminal(t)
		cmd := command(t, line)
		var stderr strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("a\n"), terminal, &stderr
		require.Error(t, cmd.Run(), line)
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), line)
		requireError(t, stderr.String(), "-o - would write a filter to the terminal")
		require.Empty(t, s.String(), line)
	}
}

// TestKeyboard: who types lines is told how they end, and no line of progress is in the way. Nor
// is it on a terminal that cannot clear a line.
func TestKeyboard(t *testing.T) {
	defaultSignals(t)
	t.Chdir(t.TempDir())
	terminal, s := newTerminal(t)
	cmd := command(t, "dedupe")
	cmd.Stdin = terminal
	cmd.Stderr = terminal
	require.NoError(t, cmd.Start())
	becomes(t, func() bool {
		return strings.Contains(s.String(), "bloom: reading from the keyboard: Ctrl-D ends the lines")
	})
	time.Sleep(600 * time.Millisecond) // two lines of progress
	require.NotContains(t, s.String(), "lines/s")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	cmd.Wait()
	becomes(t, func() bool { return strings.Contains(s.String(), "0 lines, 0 written, in ") })

	terminal, s = newTerminal(t)
	cmd = command(t, "dedupe")
	cmd.Env = append(os.Environ(), "TERM=dumb")
	cmd.Stderr = terminal
	in, out := start(t, cmd)
	send(t, in, "a\n")
	receive(t, out, "a\n")
	time.Sleep(600 * time.Millisecond) // two lines of progress
	in.Close()
	cmd.Wait()
	becomes(t, func() bool { return strings.Contains(s.String(), "1 line, 1 written, in ") })
	require.NotContains(t, s.String(), "\x1b")
	require.NotContains(t, s.String(), "lines/s")
}
