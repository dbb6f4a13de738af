package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
)

// looking is a regular file that looks around.
type looking struct {
	*os.File
	sync, write func() error
}

func (l *looking) Sync() error               { return l.sync() }
func (l *looking) Write([]byte) (int, error) { return 0, l.write() }

// TestSyncBeforeState: a power cut after the state was saved takes no line from the output.
func TestSyncBeforeState(t *testing.T) {
	dir := t.TempDir()
	s := &state{path: filepath.Join(dir, "state"), lines: 1}
	file, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	defer file.Close()
	m := memoryOf(bloom.Must(growing.New(0, 0.01)))

	fails := &output{file: &looking{File: file, sync: func() error { return os.ErrDeadlineExceeded }}}
	require.ErrorIs(t, s.save(m, fails), os.ErrDeadlineExceeded)
	require.True(t, fails.failed, "an error of the output")
	require.NoFileExists(t, s.path)

	syncs := 0
	works := &output{file: &looking{File: file, sync: func() error {
		require.NoFileExists(t, s.path)
		syncs++
		return nil
	}}}
	require.NoError(t, s.save(m, works))
	require.FileExists(t, s.path)
	require.Equal(t, 1, syncs)
	require.Zero(t, s.lines)

	// A pipe cannot be synced, and need not be.
	_, pipe, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, s.save(m, &output{file: pipe}))
}

// TestStuckFile: what a file that is stuck has on the disk nobody knows, so the state stays
// as it was.
func TestStuckFile(t *testing.T) {
	defer func(old time.Duration) { lines.Patience = old }(lines.Patience)
	lines.Patience = time.Millisecond
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	cfg := &lines.Config{Names: []string{write(t, filepath.Join(dir, "in"), numbers(0, 1000))}, Delim: '\n'}
	ctx, cancel := context.WithCancel(t.Context())
	d := &deduper{
		seen:    memoryOf(bloom.Must(growing.New(0, 0.01))),
		state:   state{path: filepath.Join(dir, "state"), every: time.Nanosecond},
		out:     output{file: &looking{File: file, write: func() error { cancel(); select {} }}},
		arrived: arrivals{read: &cfg.Read},
	}
	err = d.run(ctx, cfg)
	require.ErrorIs(t, err, lines.ErrStuck)
	require.ErrorContains(t, err, d.state.path+" is as it was last saved")
	require.NoFileExists(t, d.state.path)
}

// TestForce: nothing but a filter is replaced unless that is asked for.
func TestForce(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	for _, text := range []string{"apple\nbanana\n", "\x00\x01\x00\x00\x00 a font", "BZ"} {
		for _, args := range []string{"build -o L L", "build -o L", "merge -o L F", "dedupe -state L", "add L"} {
			good(t, "x\n", "build", "-o", filepath.Join(dir, "filter"))
			write(t, list, text)
			args := strings.Fields(strings.NewReplacer("L", list, "F", filepath.Join(dir, "filter")).Replace(args))
			saying(t, 1, list, "x\n", args...)
			require.Equal(t, text, read(t, list), args)
			if args[0] == "add" {
				continue
			}
			bloomRun(t, "x\n", append(args, "-force")...)
			require.Contains(t, good(t, "", "info", list), ".Filter", args)
			if args[0] != "build" {
				good(t, "x\n", args...) // a filter is replaced
			}
		}
	}
	// An empty file, as mktemp makes it, is nothing to lose.
	good(t, "a\n", "build", "-o", write(t, list, ""))
	saying(t, 1, "is empty", "a\n", "dedupe", "-state", write(t, list, ""))
	good(t, "a\n", "dedupe", "-force", "-state", list)
}

// TestSymlink: all who name one file, by whatever links, save and lock the same one.
func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far")
	require.NoError(t, os.Mkdir(far, 0o777))
	link, file := filepath.Join(dir, "link"), filepath.Join(far, "state")
	if err := os.Symlink("middle", link); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.Symlink(filepath.Join("far", "state"), filepath.Join(dir, "middle")))
	for _, step := range []struct{ path, in, out string }{
		{link, "a\n", "a\n"}, // which leads to nothing yet
		{file, "a\nb\n", "b\n"},
		{link, "a\nb\nc\n", "c\n"},
	} {
		require.Equal(t, step.out, good(t, step.in, "dedupe", "-state", step.path))
	}
	good(t, "d\n", "add", link)
	require.Equal(t, "d\n", good(t, "d\n", "check", file))
	for _, l := range []string{link, filepath.Join(dir, "middle")} {
		info, err := os.Lstat(l)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink)
	}
	requireAlone(t, file)

	holding(t, file, "dedupe", "-state", link)
	saying(t, 1, "is in use", "", "add", "-wait", "0s", file)

	require.NoError(t, os.Symlink("round", filepath.Join(dir, "round")))
	saying(t, 1, "too many symbolic links", "", "build", "-o", filepath.Join(dir, "round"))
}

// TestCountingState: what was written once is removed once.
func TestCountingState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	good(t, "x\n", "build", "-type", "counting", "-n", "1000", "-o", path)
	require.Equal(t, "b\n", good(t, "b\nb\nx\nb\n", "dedupe", "-state", path))
	f := bloom.Must(counting.LoadFile(path))
	for _, key := range []string{"b", "x"} {
		require.True(t, f.RemoveString(key))
		require.False(t, f.ContainsString(key))
	}
}

// TestOut: -o appends behind whole lines. What a run that was killed left of a line is cut off, and
// nothing else of any file.
func TestOut(t *testing.T) {
	dir := t.TempDir()
	state, out := filepath.Join(dir, "state"), filepath.Join(dir, "out")
	run := func(in string, flags ...string) string {
		t.Helper()
		_, stderr, status := bloomRun(t, in, append([]string{"dedupe", "-state", state, "-o", out}, flags...)...)
		require.Zero(t, status, stderr)
		return stderr
	}
	require.Empty(t, run("a\nb\n"))
	require.Empty(t, run("b\nc\n"))
	require.Equal(t, "a\nb\nc\n", read(t, out))
	for i, left := range []string{"h", "whole\nh", strings.Repeat("h", pieceOfOut), strings.Repeat("h", pieceOfOut-1) + "\n" + strings.Repeat("h", 2*pieceOfOut)} {
		whole := left[:strings.LastIndexByte(left, '\n')+1]
		before := read(t, out)
		write(t, out, before+left)
		line := fmt.Sprintln("new", i)
		require.Contains(t, run(line), fmt.Sprintf("ended with half a line, of %d bytes", len(left)-len(whole)))
		require.True(t, before+whole+line == read(t, out))
	}
	// A run that was killed before it saved anything left half a line, too.
	os.Remove(state)
	os.Remove(out)
	run("")
	write(t, out, "a\nha")
	require.Contains(t, run("half\n"), "ended with half a line, of 2 bytes")
	require.Equal(t, "a\nhalf\n", read(t, out))

	// Lines of others are appended to.
	os.Remove(state)
	write(t, out, "theirs\n")
	require.Empty(t, run("ours\n"))
	require.Equal(t, "theirs\nours\n", read(t, out))
	require.Contains(t, good(t, "", "info", state), "dedupe -o: 12 bytes, lines end with 0x0a")
}

// TestOutOfOthers: a file that no run with this state wrote is left as it is.
func TestOutOfOthers(t *testing.T) {
	dir := t.TempDir()
	state, out, filter := filepath.Join(dir, "state"), filepath.Join(dir, "out"), filepath.Join(dir, "filter")
	good(t, "x\n", "build", "-o", filter)
	for _, test := range []struct{ name, made, now, flags, says string }{
		{"half a line", "", "a\nhalf", "", "complete that line"},
		{"a photo", "", "\xff\xd8\x00\n photo", "", "is no list of lines"},
		{"a photo that ends well", "", "\xff\xd8\x00\n", "", "is no list of lines"},
		{"a filter", "", read(t, filter) + "\n", "", "is no list of lines"},
		{"-z on lines", "", "a\nb\n", "-z", "complete that line"},
		{"-z on our lines", "a\nb\n", "a\nb\n", "-z", "lines that end with the byte 0x0a"},
		{"edited", "a\nb\n", "a\nB\nha", "", "complete that line"},
		{"shorter", "a\nb\n", "a", "", "complete that line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			os.Remove(state)
			os.Remove(out)
			args := append([]string{"dedupe", "-state", state, "-o", out}, strings.Fields(test.flags)...)
			if test.made != "" {
				good(t, test.made, "dedupe", "-state", state, "-o", out)
			}
			write(t, out, test.now)
			_, stderr, status := bloomRun(t, "new\nnew\x00", args...)
			require.Equal(t, 1, status)
			requireError(t, stderr, test.says)
			require.Equal(t, test.now, read(t, out))
			if test.made == "" {
				require.NoFileExists(t, state)
			}
		})
	}
}

// TestSecondRole: a file that a command is given in two roles is not written.
func TestSecondRole(t *testing.T) {
	dir := t.TempDir()
	filter, list, link := filepath.Join(dir, "filter"), filepath.Join(dir, "list"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filter, link))
	for _, test := range []struct{ line, says string }{
		{"dedupe -state filter -o ./filter", "-o ./filter is "},
		{"dedupe -state filter -o link", "-o link is "},
		{"dedupe -state new -o ./new", "-o ./new is the state"},
		{"dedupe -state filter >> filter", "standard output is "},
		{"dedupe -state filter -o list list", "-o list is list, too"},
		{"dedupe -state filter -o list < list", "-o list is -, too"},
		{"dedupe -state filter list >> list", "standard output is list, too"},
		{"dedupe < list >> list", "standard output is -, too"},
		{"check filter list >> list", "standard output is list, too"},
		{"merge -o - filter >> filter", "standard output is filter, too"},
		{"build -o - list >> list", "standard output is list, too"},
		{"add filter filter", "filter is filter, too"},
		{"remove filter filter", "filter is filter, too"},
		{"dedupe -o list", "-o needs -state"},
		{"dedupe -state filter -o /dev/null", "no regular file"},
	} {
		good(t, "a\n", "build", "-type", "counting", "-n", "100", "-o", filter)
		write(t, list, "b\na\n")
		before := read(t, filter)
		var stderr strings.Builder
		cmd := exec.Command("sh", "-c", "bloom "+test.line)
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader("b\n"), &stderr
		require.Error(t, cmd.Run(), test.line)
		requireError(t, stderr.String(), test.says)
		require.Equal(t, before, read(t, filter), test.line)
		require.Equal(t, "b\na\n", read(t, list), test.line)
	}
}

// TestSpan: lines are left out for the span, by a file that says how long it is.
func TestSpan(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	run := func(in, out string, flags ...string) {
		t.Helper()
		require.Equal(t, out, good(t, in, append([]string{"dedupe", "-state", state}, flags...)...))
	}
	run("a\nb\na\n", "a\nb\n", "-span", "24h", "-n", "1000")
	run("b\nc\n", "c\n", "-span", "24h", "-n", "1000")
	run("c\nd\n", "d\n")
	require.Contains(t, good(t, "", "info", state), "window.Filter")
	for flags, says := range map[string]string{"-span 1h -n 1000": "another size or rate", "-span 24h -n 10k": "another size or rate", "-n 1000": "another size or rate", "-span 1h": "-span needs -n", "-span 1ns -n 5": "window"} {
		_, stderr, status := bloomRun(t, "x\n", append([]string{"dedupe", "-state", state}, strings.Fields(flags)...)...)
		require.NotZero(t, status, flags)
		requireError(t, stderr, says)
	}
	require.Equal(t, "a\nb\n", good(t, "a\nb\na\n", "dedupe", "-span", "1h", "-n", "100"))
	require.Contains(t, good(t, "", "info", state), "reach     24h0m0s of 24h0m0s")
	require.Contains(t, good(t, "", "info", "-json", state), `"span":86400,"reach":86400,`)
	// A burst of all lines at once is no reason to leave one out. More than -n are, for a shorter time.
	require.True(t, numbers(0, 10_000) == good(t, numbers(0, 10_000), "dedupe", "-span", "1h", "-n", "10k", "-p", "1e-9"))
	burst := saying(t, 0, "more than 1000 lines came within 1h0m0s (-n, -span): lines are remembered for", numbers(0, 50_000), "dedupe", "-span", "1h", "-n", "1000", "-p", "1e-9", "-state", filepath.Join(t.TempDir(), "state"))
	require.True(t, numbers(0, 50_000) == burst)
}

// TestMemory: what cannot fit is refused in a sentence, before anything is read.
func TestMemory(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, args := range []string{"dedupe -n 1e13", "dedupe -n 1e13 -state " + state, "build -type counting -n 1e13 -o " + state, "build -type blocked -n 1e13 -o " + state, "build -type dcso -n 1e12 -o " + state} {
		saying(t, 1, "of memory, and there are", "a\n", strings.Fields(args)...)
	}
	require.False(t, exists(state))
	huge, err := os.Create(state)
	require.NoError(t, err)
	defer huge.Close()
	if huge.Truncate(1<<43) != nil {
		t.Skip("no sparse files")
	}
	saying(t, 2, "of memory, and there are", "a\n", "check", state)
}
