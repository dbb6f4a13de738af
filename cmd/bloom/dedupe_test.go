package main

import (
	"io"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/growing"
	"github.com/seed79a3ff49/bloom/window"
)

func TestDedupe(t *testing.T) {
	for _, test := range []struct{ name, in, out string }{
		{"nothing", "", ""},
		{"order", "b\na\nb\nc\na\n", "b\na\nc\n"},
		{"no newline at the end", "a\nb\na", "a\nb\n"},
		{"newline added", "a\nb", "a\nb\n"},
		{"empty lines", "\n\na\n\n", "\na\n"},
		{"only bytes count", "a\na\nA\na \n\x00\n\xff\n\x00\n", "a\nA\na \n\x00\n\xff\n"},
		{"repeats at both ends", "a\na\na\nb\nc\nb\nd\nd\n", "a\nb\nc\nd\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.out, good(t, test.in, "dedupe"))
			assert.Equal(t, test.out, distinct(test.in))
		})
	}
	for name, in := range map[string]string{
		"lengths":  lengths(),
		"many":     numbers(0, 200000) + numbers(100000, 250000) + numbers(0, 1000),
		"one line": strings.Repeat("0123456789", 1<<20),
	} {
		require.True(t, distinct(in) == good(t, in, "dedupe -p 1e-9"), name)
	}
	t.Chdir(t.TempDir())
	write(t, "a", "1\n2\n3")
	write(t, "b", "3\n2\n4\n")
	require.Equal(t, "1\n2\n3\n4\n5\n", good(t, "4\n5\n", "dedupe a b - a"))
}

func TestState(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, run := range []struct{ flags, in, out string }{
		{"-n 1000 -p 0.001", "a\nb\n", "a\nb\n"},
		{"", "b\nc\na\nd\n", "c\nd\n"}, // the file's own parameters
		{"-n 1000 -p 0.001", "d\ne\n", "e\n"},
		{"", "a\nb\nc\nd\ne\nf\n", "f\n"}, // nothing was forgotten
	} {
		require.Equal(t, run.out, good(t, run.in, "dedupe --state state "+run.flags))
		requireAlone(t, "state")
	}
	before := read(t, "state")
	for _, flags := range []string{"-n 1M", "-p 0.01", "-n 20k -p 0.001"} {
		require.Empty(t, saying(t, 1,
			doNotFit, "g\n", "dedupe --state state "+flags))
	}
	require.Equal(t, before, read(t, "state"))

	// A list that build made, of any type, is a state too.
	for _, kind := range []string{"guava", "blocked", "growing", "counting"} {
		good(t, "a\nb\n", "build -n 100 -o list --type", kind)
		require.Equal(t, "c\n", good(t, "a\nc\nb\n", "dedupe --state list"))
		require.Equal(t, "d\n", good(t, "c\nd\n", "dedupe --state list"))
		if kind == "counting" { // each line counts once, however often it came
			good(t, "a\nb\nc\nd\n", "remove list")
			require.Equal(t, "a\nb\nc\nd\n", good(t, "a\nb\nc\nd\n", "check -v list"))
		}
	}
}

// TestGrowingState: without -n the state grows.
func TestGrowingState(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 4 {
		from := 20000 * i
		require.Equal(t, numbers(from, from+30000),
			numbers(from, from+10000*min(i, 1))+
				good(t, numbers(0, from+30000), "dedupe -p 1e-9 --state state"))
	}
	require.Contains(t, good(t, "", "info state"), "growing.Filter")
	saying(t, 1, doNotFit, "", "dedupe -p 1e-8 --state state")

	// A file promises a number of lines, and the state has room for half of them.
	good(t, "", "dedupe --state other",
		write(t, "in", strings.Repeat("all lines are the same\n", 400_000)))
	f := bloom.Must(growing.LoadFile("other"))
	require.EqualValues(t, 1, f.Stats().ApproxCount)
	require.Greater(t, f.SizeBytes(), bloom.Must(growing.New(150_000, 1e-6)).SizeBytes())
	require.Less(t, f.SizeBytes(), bloom.Must(growing.New(210_000, 1e-6)).SizeBytes())
}

// TestGrower: without -n no line is new twice, few are lost, and the filter has the room that
// it says, through several layers.
func TestGrower(t *testing.T) {
	const p, keys, known = 1e-3, 1_500_000, 400_000
	for _, test := range []struct {
		saved bool
		left  uint64
		room  uint64
	}{
		{false, known, known}, {true, known, known / 2}, {false, 1 << 40, maxRoom},
		{false, 0, pipeRoom}, {true, 0, savedRoom},
	} {
		lost := 0
		g, err := newGrower(p, test.saved, func() uint64 { return test.left })
		require.NoError(t, err)
		var hs []bloom.Hash
		var kept []int
		for done := 0; done < keys; done += len(hs) {
			hs = hs[:0]
			for i := range 1000 {
				hs = append(hs, bloom.SumUint64(uint64(done+i)))
			}
			kept = g.addBatch(kept[:0], hs)
			lost += len(hs) - len(kept)
			if done%100_000 == 0 { // nothing is new twice
				require.Empty(t, g.addBatch(nil, hs))
				require.Empty(t,
					g.addBatch(nil, []bloom.Hash{bloom.SumUint64(uint64(done) / 2), bloom.SumUint64(0)}))
			}
		}
		require.Less(t, float64(lost), p*keys+4*math.Sqrt(p*keys))
		require.EqualValues(t, test.room, g.f.Info().N)
	}
}

// TestSeenAgainIsRenewed: a window remembers a line for a span after it came last.
func TestSeenAgainIsRenewed(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := dedupeWindow(100, 1e-6, time.Hour)
	c.Now = func() time.Time { return now }
	m := memoryOf(bloom.Must(window.New(c)))
	line := []bloom.Hash{bloom.SumString("a line")}
	require.Equal(t, []int{0}, m.addBatch(nil, line))
	for range 3 {
		now = now.Add(50 * time.Minute)
		require.Empty(t, m.addBatch(nil, line))
	}
	now = now.Add(3 * time.Hour)
	require.Equal(t, []int{0}, m.addBatch(nil, line))
}

// TestLinesLeft: of a file, how many lines are still to come is estimated from those that came. Of
// a pipe, and of a file of which nothing was read, it is unknown.
func TestLinesLeft(t *testing.T) {
	for _, test := range []struct {
		total, read, used int64
		lines, left       uint64
	}{
		{1000, 100, 100, 10, 91}, {1000, 1000, 1000, 100, 1}, {1000, 2000, 2000, 200, 1},
		{1000, 200, 100, 10, 91}, // some of what was read was not yet looked up
		{0, 100, 100, 10, 0}, {1000, 0, 0, 0, 0}, {1000, 100, 0, 0, 0},
	} {
		var read atomic.Int64
		read.Store(test.read)
		a := arrivals{total: test.total, read: &read, used: test.used, lines: test.lines}
		require.Equal(t, test.left, a.left(), "%+v", test)
	}
}

func TestWarning(t *testing.T) {
	const warning = "warning: more than 1000 different lines (-n): new lines are left out by " +
		"mistake more and more often"
	t.Chdir(t.TempDir())
	const line = "dedupe -n 1000 -p 1e-9 --state state"
	good(t, numbers(0, 900)+numbers(0, 900), line)
	good(t, numbers(0, 1000), line)
	saying(t, 0, warning, numbers(900, 1100), line)
	saying(t, 0, "warning: the filter is fuller than it was made for: new lines are left out by "+
		"mistake more and more often", numbers(2000, 9000), "dedupe --state state")

	// What a killed run wrote counts, too.
	const tail = "dedupe -n 3 -p 1e-9 --state s -o out"
	good(t, "a\n", tail)
	write(t, "out", "a\nb\nc\n")
	saying(t, 0, "warning: more than 3 different lines (-n): new lines are left out by mistake "+
		"more and more often", "b\nc\nd\n", tail)
}

// TestPackedState: a compressed list is told as such, and --force does not replace it by an empty
// one.
func TestPackedState(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 10 -o list")
	packed := gzipped(read(t, "list"))
	for says, text := range map[string]string{
		"s is compressed; decompress it first":                 packed,
		"s: it is compressed with xz: unpack it first: xz -dc": "\xfd7zXZ\x00" + packed,
	} {
		for _, force := range []string{"", " --force"} {
			write(t, "s", text)
			require.Empty(t, saying(t, 1, says, "new\n", "dedupe --state s"+force), force)
			require.Equal(t, text, read(t, "s"))
		}
		saying(t, 1,
			"s is compressed, and stays as it is; --force replaces it", "new\n", "build -o s")
	}
}

// doNotFit is the error of dedupe for flags that a state does not fit.
const doNotFit = "state holds a ...Filter that -n, -p and --span do not fit; leave them out to " +
	"continue with it"

// TestErrors: what is wrong with the state is noticed before any input, and an error in
// the input keeps what was written.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for line, says := range map[string]string{
		"missing":               "nothing was read: missing: no such file or directory",
		dir:                     "nothing was read: " + dir + ": is a directory",
		"--state missing/state": "...missing: no such file or directory",
		"--state " + dir:        dir + " is not a regular file",
		"--state " + write(t, "text", "https://example.org/\n"): "text" + stays,
		"--state /dev/null":   "/dev/null is not a regular file",
		"--state /proc/state": "/proc...", // where not even root may write
	} {
		require.Empty(t, saying(t, 1, says, "new\n", "dedupe "+line), line)
	}
	t.Chdir(t.TempDir())
	write(t, "cut", gzipped("x\n")[:20])
	assert.Equal(t, "a\nb\n", saying(t, 1, "cut: unexpected EOF", "a\nb\n",
		"dedupe --state state - cut"))
	assert.Equal(t, "c\n", good(t, "a\nb\nc\n", "dedupe --state state"))

	require.NoError(t, os.Remove("cut"))
	whole := read(t, "state")
	for says, data := range map[string]string{
		"...: truncated: unexpected EOF (in state)": whole[:len(whole)-1],
		"...: 1 bytes too many (in state)":          whole + "\x00",
		"state is not a filter: it is empty":        "",
		"...: checksum of header and info is ..., should be ... (in state)": whole[:20] +
			string([]byte{whole[20] ^ 1}) + whole[21:],
	} {
		write(t, "state", data)
		for line, status := range map[string]int{
			"dedupe --state": 1, "check": 2, "info": 1, "add": 1, "serve": 1,
		} {
			assert.Empty(t, saying(t, status, says, "new\n", line, "state"), says)
		}
		assert.Equal(t, data, read(t, "state"), says)
		requireAlone(t, "state")
	}
}

func TestOutputErrors(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -o filter")
	for _, line := range []string{
		"dedupe --state state", "check filter", "check -c filter", "info filter",
		"info --json filter", "plan -n 10 -p 0.1", "plan --json -n 10",
		"build -o -", "build -n 10 -o -", "merge -o - filter filter", "bank build -n 10 -o - -",
	} {
		cmd := command(t, line)
		var stderr strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("a\n"), full, &stderr
		require.Error(t, cmd.Run(), line)
		requireError(t, stderr.String(), "write /dev/stdout: no space left on device")
	}
	require.NoFileExists(t, "state", "its line was not written")
}

// TestAutosave kills a run: what it had saved is there.
func TestAutosave(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd := command(t, "dedupe -n 1000 --state state --save-every 1ms")
	in, _ := start(t, cmd)
	defer in.Close()
	send(t, in, "a\n")
	becomes(t, func() bool { return exists("state") })
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.Equal(t, "b\n", good(t, "a\nb\n", "dedupe --state state"))
}

// TestAutosaveWritten kills a run whose output nobody takes: what it had saved is
// nothing but what it wrote.
func TestAutosaveWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd := command(t, "dedupe -p 1e-9 --state state --save-every 1ms")
	in := numbers(0, 30_000) // more than a pipe holds
	cmd.Stdin = strings.NewReader(in)
	_, out := start(t, cmd)
	receive(t, out, "l")               // the rest stays in the pipe, and before it
	time.Sleep(100 * time.Millisecond) // in which it may save too much
	require.NoError(t, cmd.Process.Kill())
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	cmd.Wait()
	wrote := in[:1+strings.LastIndexByte(in[:1+len(rest)], '\n')]
	require.Equal(t, "l"+string(rest), in[:1+len(rest)])
	require.Contains(t, good(t, in, "dedupe -p 1e-9 --state state"), in[len(wrote):])
}
