package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/internal/files"
	"github.com/seed79a3ff49/bloom/window"
)

// looking is a regular file that looks around.
type looking struct {
	*os.File
	sync func() error
}

func (l *looking) Sync() error { return l.sync() }

// TestSyncBeforeState: a power cut after the state was saved takes no line from the output.
func TestSyncBeforeState(t *testing.T) {
	t.Chdir(t.TempDir())
	s := &state{file: &target{path: "state"}, unsaved: 1}
	file, err := os.Create("out")
	require.NoError(t, err)
	defer file.Close()
	m := memoryOf(bloom.Must(growing.New(0, 0.01)))

	fails := &output{file: &looking{file, func() error { return os.ErrDeadlineExceeded }}}
	require.ErrorIs(t, s.save(m, fails), os.ErrDeadlineExceeded)
	require.True(t, fails.failed, "an error of the output")
	require.NoFileExists(t, s.file.path)

	syncs := 0
	works := &output{file: &looking{file, func() error {
		require.NoFileExists(t, s.file.path)
		syncs++
		for began := time.Now(); !time.Now().After(began); { // a clock may be coarse
		}
		return nil
	}}}
	require.NoError(t, s.save(m, works))
	require.Positive(t, s.took)
	require.FileExists(t, s.file.path)
	require.Equal(t, 1, syncs)
	require.Zero(t, s.unsaved)

	// A pipe cannot be synced, and need not be.
	_, pipe, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, s.save(m, &output{file: pipe}))
}

// TestForce: nothing but a filter is replaced unless that is asked for.
func TestForce(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, text := range []string{"apple\nbanana\n", "\x00\x01\x01\x00\x00 as Guava begins", "BZ"} {
		for _, line := range []string{
			"build -o list list", "build -o list", "merge -o list filter", "dedupe --state list", "add list",
		} {
			good(t, "x\n", "build -o filter")
			write(t, "list", text)
			says := "list is not a filter, and stays as it is; --force replaces it"
			if line == "add list" {
				says = "...list..."
			}
			saying(t, 1, says, "x\n", line)
			require.Equal(t, text, read(t, "list"), line)
			if line == "add list" {
				continue
			}
			bloomRun(t, "x\n", line, "--force")
			require.Contains(t, good(t, "", "info list"), ".Filter", line)
			if line != "build -o list list" {
				good(t, "x\n", line) // a filter is replaced
			}
		}
	}
	// An empty file, as mktemp makes it, is nothing to lose.
	write(t, "list", "")
	good(t, "a\n", "build -o list")
	write(t, "list", "")
	saying(t, 1, "list is not a filter: it is empty", "a\n", "dedupe --state list")
	good(t, "a\n", "dedupe --force --state list")
}

// TestReplaceable: a frame's first six bytes are unlike text.
func TestReplaceable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for text, want := range map[string]bool{
		"": true, "BLMA\x00\x00": true, "BLMZ\x1f\x00": true, "BLMZ\x1f\x00 and more": true,
		"BLM@\x00\x00": false, "BLM[\x00\x00": false, "BLMA \x00": false, "BLMA\x00\x01": false,
		"BLMA\x00": false, "BLN@\x00\x00": false,
	} {
		require.Equal(t, want, replaceable(write(t, path, text)), "%q", text)
	}
	require.True(t, replaceable(path+" is missing"))
}

// TestSymlink: all who name one file, by whatever links, save and lock the same one.
func TestSymlink(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("far", 0o777))
	if err := os.Symlink("middle", "link"); err != nil {
		t.Skip(err)
	}
	require.NoError(t, os.Symlink(filepath.Join("far", "state"), "middle"))
	for _, step := range []struct{ path, in, out string }{
		{"link", "a\n", "a\n"}, // which leads to nothing yet
		{"far/state", "a\nb\n", "b\n"},
		{"link", "a\nb\nc\n", "c\n"},
	} {
		require.Equal(t, step.out, good(t, step.in, "dedupe --state", step.path))
	}
	good(t, "d\n", "add link")
	require.Equal(t, "d\n", good(t, "d\n", "check far/state"))
	for _, l := range []string{"link", "middle"} {
		info, err := os.Lstat(l)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&os.ModeSymlink)
	}
	requireAlone(t, "far/state")

	holding(t, "far/state", "dedupe --state link")
	saying(t, 1, "far/state"+inUse, "", "add --wait 0s far/state")

	require.NoError(t, os.Symlink("round", "round"))
	saying(t, 1, "...too many symbolic links...", "", "build -o round")
}

// TestTick: a run saves its state when that is due, and not before. It says then that its filter is
// full, and not only at its end.
func TestTick(t *testing.T) {
	t.Chdir(t.TempDir())
	stderr, err := os.Create("stderr")
	require.NoError(t, err)
	defer stderr.Close()
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = stderr
	out, err := os.Create("out")
	require.NoError(t, err)
	defer out.Close()
	f := bloom.Must(blocked.New(10, 0.01))
	for i := range 1000 {
		f.AddHash(bloom.SumUint64(uint64(i)))
	}
	d := &deduper{seen: memoryOf(f), out: output{file: out}, state: state{
		file: &target{path: "state"}, every: time.Hour, saved: time.Now(), unsaved: 1}}
	require.NoError(t, d.tick())
	require.NoFileExists(t, "state")
	require.Empty(t, read(t, "stderr"))
	d.state.saved = time.Now().Add(-2 * time.Hour)
	require.NoError(t, d.tick())
	require.FileExists(t, "state")
	require.Zero(t, d.state.unsaved)
	require.Equal(t, "bloom: warning: the filter is fuller than it was made for: new lines are "+
		"left out by mistake more and more often\n", read(t, "stderr"))

	require.NoError(t, os.Remove("state"))
	d.state.unsaved = 1
	require.NoError(t, d.tick())
	require.NoFileExists(t, "state", "it was saved a moment ago")
	d.state.saved = time.Now().Add(-2 * time.Hour)
	d.state.took = 10 * time.Minute
	require.NoError(t, d.tick())
	require.NoFileExists(t, "state", "saves take a twentieth of the time")
}

// TestCountingState: what was written once is removed once.
func TestCountingState(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "x\n", "build --type counting -n 1000 -o state")
	require.Equal(t, "b\n", good(t, "b\nb\nx\nb\n", "dedupe --state state"))
	f := bloom.Must(counting.LoadFile("state"))
	for _, key := range []string{"b", "x"} {
		require.True(t, f.RemoveString(key))
		require.False(t, f.ContainsString(key))
	}
}

// TestOutputAppends: -o appends lines to OUT, and the state records how long OUT is.
func TestOutputAppends(t *testing.T) {
	t.Chdir(t.TempDir())
	const line = "dedupe --state state -o out"
	good(t, "a\nb\n", line)
	good(t, "b\nc\n", line)
	require.Equal(t, "a\nb\nc\n", read(t, "out"))
	require.Contains(t, good(t, "", "info state"),
		"meta      field=0&out.delim=10&out.digest=880553fca8fcea94&out.size=6\n")
	// A run that was killed before it saved anything is known, too.
	os.Remove("state")
	write(t, "out", "")
	good(t, "", line)
	write(t, "out", "a\nha")
	good(t, "a\nhalf\n", line)
	require.Equal(t, "a\nhalf\n", read(t, "out"))
}

// TestKilledBeforeFirstSave: the run after one that was killed before the state was due goes on
// with its OUT.
func TestKilledBeforeFirstSave(t *testing.T) {
	t.Chdir(t.TempDir())
	const line = "dedupe --state state -o out --save-every 1h"
	cmd := command(t, line)
	in, _ := start(t, cmd)
	defer in.Close()
	send(t, in, "a\n")
	becomes(t, func() bool {
		out, err := os.ReadFile("out")
		return err == nil && string(out) == "a\n"
	})
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	good(t, "a\nb\n", line)
	require.Equal(t, "a\nb\n", read(t, "out"))
}

// TestOutOfOthers: a file that the state does not know is left as it is, whatever is in it.
func TestOutOfOthers(t *testing.T) {
	t.Chdir(t.TempDir())
	const unknown = "out is not as a run with --state state left it, and stays as it is: append to " +
		"it with >> instead of -o, name another OUT, or remove it"
	for name, test := range map[string]struct{ made, now, flags, says string }{
		"lines":       {"", "a\nb\n", "", unknown},
		"half a line": {"", "a\nhalf", "", unknown},
		"a photo":     {"", "\xff\xd8\x00\n photo", "", unknown},
		"-z on lines": {"", "a\nb\n", "-z", unknown},
		"-z on our lines": {"a\nb\n", "a\nb\n", "-z", "out has lines that end with the " +
			"byte 0x0a, which -0 (-z) would change: use the same flags as before, or name another OUT"},
		"edited":            {"a\nb\n", "a\nB\nha", "", unknown},
		"shorter":           {"a\nb\n", "a\n", "", unknown},
		"another, as large": {"a\nb\n", "c\nd\n", "", unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if test.made != "" {
				good(t, test.made, "dedupe --state state -o out")
			}
			write(t, "out", test.now)
			saying(t, 1, test.says, "new\nnew\x00", "dedupe --state state -o out "+test.flags)
			require.Equal(t, test.now, read(t, "out"))
			require.Equal(t, test.made != "", exists("state"))
			require.False(t, exists(files.LockName("out")), "the lock is released")
		})
	}
}

// TestEmptyInTwoRoles: an empty file and a device lose nothing if they are input and output.
func TestEmptyInTwoRoles(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -o filter")
	for _, line := range []string{
		"dedupe list > list", "dedupe < list >> list", "dedupe < /dev/null > /dev/null",
		"check -c filter < /dev/null > /dev/null", "build -n 9 -o - < /dev/null > /dev/null",
	} {
		write(t, "list", "")
		out, err := child(t, "sh", "-c", "bloom "+line).CombinedOutput()
		if !strings.HasPrefix(line, "check") { // it finds nothing
			require.NoError(t, err, "%s: %s", line, out)
		}
		require.Empty(t, string(out), line)
	}
}

// TestSecondRole: a file that a command is given in two roles is not written.
func TestSecondRole(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink("filter", "link"))
	const another = ": name another file"
	const both = ": it would be both read and written" + another
	const stdin = ": it would be written, but is also standard input" + another
	const alsoRead = ", which is also read: write to another file"
	written := func(out, in string) string {
		return out + ": it would be written, but is the same file as " + in + another
	}
	for line, says := range map[string]string{
		"dedupe --state filter -o ./filter":     written("./filter", "filter"),
		"dedupe --state filter -o link":         written("link", "filter"),
		"dedupe --state new -o ./new":           written("./new", "new"),
		"dedupe --state filter -o filter":       "filter" + both,
		"dedupe --state filter >> filter":       "standard output goes to filter" + alsoRead,
		"dedupe --state filter -o list list":    "list" + both,
		"dedupe --state filter -o list < list":  "list" + stdin,
		"dedupe --state filter list >> list":    "standard output goes to list" + alsoRead,
		"dedupe --state filter link":            written("filter", "link"),
		"dedupe < list >> list":                 "standard output goes to standard input" + alsoRead,
		"check filter list >> list":             "standard output goes to list" + alsoRead,
		"merge -o - filter >> filter":           "standard output goes to filter" + alsoRead,
		"build -o - list >> list":               "standard output goes to list" + alsoRead,
		"build -o - < list >> list":             "standard output goes to standard input" + alsoRead,
		"build -o filter filter":                "filter" + both,
		"bank build -n 9 -o filter list filter": "filter" + both,
		"add filter filter":                     "filter" + both,
		"remove filter < filter":                "filter" + stdin,
		"dedupe -o list":                        "-o needs --state; without a state, use > OUT",
		"dedupe --state filter -o /dev/null":    "/dev/null is not a regular file",
	} {
		good(t, "a\n", "build --type counting -n 100 -o filter")
		write(t, "list", "b\na\n")
		before := read(t, "filter")
		var stderr strings.Builder
		cmd := child(t, "sh", "-c", "bloom "+line)
		cmd.Stdin, cmd.Stderr = strings.NewReader("b\n"), &stderr
		require.Error(t, cmd.Run(), line)
		requireError(t, stderr.String(), says)
		require.Equal(t, before, read(t, "filter"), line)
		require.Equal(t, "b\na\n", read(t, "list"), line)
	}
}

// TestSpan: lines are left out for the span, by a file that says how long it is.
func TestSpan(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, run := range []struct{ flags, in, out string }{
		{"--state state --span 24h -n 1000", "a\nb\na\n", "a\nb\n"},
		{"--state state --span 24h -n 1000", "b\nc\n", "c\n"},
		{"--state state", "c\nd\n", "d\n"},
		{"--span 1h -n 100", "a\nb\na\n", "a\nb\n"},
	} {
		require.Equal(t, run.out, good(t, run.in, "dedupe "+run.flags))
	}
	require.Contains(t, good(t, "", "info state"), "window.Filter")
	for flags, says := range map[string]string{
		"--span 1h -n 1000": doNotFit, "--span 24h -n 10k": doNotFit, "-n 1000": doNotFit,
		"--span 1h":       "--span needs -n, the number of lines that come in that time",
		"--span 1ns -n 5": "--span 1ns is outside [7ms, 36 years)",
	} {
		_, stderr, status := bloomRun(t, "x\n", "dedupe --state state "+flags)
		require.NotZero(t, status, flags)
		requireError(t, stderr, says)
	}
	require.True(t, bloom.Must(window.LoadFile("state")).Config().Renew,
		"a line that is left out stays")
	require.Contains(t, good(t, "", "info state"),
		"reach     every key of the last 24h0m0s is remembered")
	require.Contains(t, good(t, "", "info --json state"), `"span":86400,"reach":86400,`)
	for flag, seconds := range map[string]int{
		"7d": 7 * 86_400, "1w": 7 * 86_400, "1.5d": 36 * 3600, "1w2d12h": 9*86_400 + 12*3600,
		"1d30m": 86_400 + 1800, "90m": 5400,
	} {
		good(t, "a\n", "dedupe -n 9 --state "+flag+" --span "+flag)
		require.Contains(t, good(t, "", "info --json "+flag), fmt.Sprintf(`"span":%d,`, seconds), flag)
	}
	// A burst of all lines together is no reason to leave one out. More than -n are, for a shorter
	// time.
	require.True(t, numbers(0, 10_000) == good(t, numbers(0, 10_000),
		"dedupe --span 1h -n 10k -p 1e-9"))
	burst := saying(t, 0, "warning: more than 1000 lines came within 1h0m0s (-n, --span): lines "+
		"are remembered for only ...s", numbers(0, 50_000),
		"dedupe --span 1h -n 1000 -p 1e-9 --state burst")
	require.True(t, numbers(0, 50_000) == burst)
}

// TestMemory: what cannot fit is refused in a sentence, before anything is read.
func TestMemory(t *testing.T) {
	const tooMuch = "... takes ... of memory, but there are only ..., of which bloom itself needs " +
		"34 MB"
	state := filepath.Join(t.TempDir(), "state")
	in := write(t, filepath.Join(t.TempDir(), "in"), "a\n")
	for _, args := range []string{
		"dedupe -n 1e11 -p 1e-12", "dedupe -n 1e11 -p 1e-12 --state " + state,
		"dedupe -n 1e11 --span 1h", "dedupe -n 1e11 --span 1h --state " + state,
		"build --type blocked -n 4e11 -o " + state, "build --type growing -n 1e12 -o " + state,
		"build --type cuckoo -n 4e11 -o " + state,
		"bank build -n 1000 -p 1e-16 -o " + state + " " + in,
		"bank build -n 1e9 -p 1e-12 -o " + state + " " + in,
	} {
		status, says := 1, tooMuch
		if strconv.IntSize == 32 && !strings.Contains(args, "growing") && !strings.Contains(args, "1000") {
			status, says = 2, "... is outside [1, ..." // with an int that long, there is no such filter
		}
		saying(t, status, says, "a\n", args)
	}
	require.LessOrEqual(t, machine(), uint64(math.MaxInt), "no slice is longer")
	require.False(t, exists(state))
	huge, err := os.Create(state)
	require.NoError(t, err)
	defer huge.Close()
	if huge.Truncate(1<<43) != nil {
		t.Skip("no sparse files")
	}
	saying(t, 2, tooMuch, "a\n", "check", state)
}
