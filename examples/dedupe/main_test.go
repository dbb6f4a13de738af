package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/seed79a3ff49/bloom"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests run the program itself: this binary, told by the environment to be
// dedupe.
const beDedupe = "BE_DEDUPE"

func TestMain(m *testing.M) {
	if os.Getenv(beDedupe) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), beDedupe+"=1", "GORACE=atexit_sleep_ms=0") // else -race adds a second to each run
	return cmd
}

// dedupe runs the program on stdin to its end.
func dedupe(t testing.TB, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	if err := cmd.Run(); err != nil {
		require.IsType(t, &exec.ExitError{}, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// distinct is what dedupe does, with a map.
func distinct(in string) string {
	var out strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(in) {
		line = strings.TrimSuffix(line, "\n") + "\n"
		if !seen[line] {
			out.WriteString(line)
		}
		seen[line] = true
	}
	return out.String()
}

func write(t testing.TB, path, data string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(data), 0o666))
	return path
}

func numbers(from, to int) string {
	var b strings.Builder
	for i := range to - from {
		fmt.Fprintf(&b, "line %d\n", from+i)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ name, in, out, counts string }{
		{"nothing", "", "", "0 lines read, 0 kept, 0 dropped"},
		{"order", "b\na\nb\nc\na\n", "b\na\nc\n", "5 lines read, 3 kept, 2 dropped"},
		{"no newline at the end", "a\nb\na", "a\nb\n", "3 lines read, 2 kept, 1 dropped"},
		{"newline added", "a\nb", "a\nb\n", "2 lines read, 2 kept, 0 dropped"},
		{"empty lines", "\n\na\n\n", "\na\n", "4 lines read, 2 kept, 2 dropped"},
		{"only bytes count", "a\r\na\nA\na \n\x00\n\xff\n\x00\n", "a\r\na\nA\na \n\x00\n\xff\n", "7 lines read, 6 kept, 1 dropped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, status := dedupe(t, test.in)
			assert.Zero(t, status)
			assert.Equal(t, test.out, stdout)
			assert.Equal(t, distinct(test.in), stdout)
			assert.Contains(t, stderr, test.counts)
		})
	}
}

func TestSummary(t *testing.T) {
	_, stderr, _ := dedupe(t, numbers(0, 1000), "-n", "1000", "-p", "0.01")
	f := bloom.Must(bloom.New(1000, 0.01))
	for line := range strings.Lines(numbers(0, 1000)) {
		f.AddString(strings.TrimSuffix(line, "\n"))
	}
	assert.Contains(t, stderr, fmt.Sprintf("filter of 1.2 kB, %.3g%% full, false-positive rate now %.2g\n",
		100*f.FillRatio(), f.FPR()))
	assert.InDelta(t, 0.01, f.FPR(), 0.002)
}

// Lines of lengths around that of the buffers, in pieces of any size.
func TestLineLengths(t *testing.T) {
	const buffer = 64 << 10
	rnd := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	for range 300 {
		length := rnd.IntN(100)
		if rnd.IntN(4) == 0 {
			length = rnd.IntN(3)*buffer + rnd.IntN(5) + buffer - 3
		}
		in.WriteString(strings.Repeat(string('a'+rune(rnd.IntN(3))), length) + "\n")
	}
	stdout, _, status := dedupe(t, in.String())
	require.Zero(t, status)
	require.True(t, distinct(in.String()) == stdout)
}

func TestVeryLongLine(t *testing.T) {
	long := strings.Repeat("0123456789", 2<<20)
	stdout, stderr, status := dedupe(t, long+"\nshort\n"+long+"!\n"+long)
	require.Zero(t, status)
	require.True(t, long+"\nshort\n"+long+"!\n" == stdout)
	require.Contains(t, stderr, "4 lines read, 3 kept, 1 dropped")
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	a := write(t, filepath.Join(dir, "a"), "1\n2\n3")
	b := write(t, filepath.Join(dir, "b"), "3\n2\n4\n")
	stdout, _, status := dedupe(t, "4\n5\n", a, b, "-", a)
	require.Zero(t, status)
	require.Equal(t, "1\n2\n3\n4\n5\n", stdout)
}

// A line comes out while its writer still waits to write the next.
func TestStreaming(t *testing.T) {
	cmd := command(t)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	for _, step := range []struct{ in, out string }{
		{"a\nb\n", "a\nb\n"},
		{"c\nun", "c\n"},
		{"finished\n", "unfinished\n"},
	} {
		_, err = io.WriteString(in, step.in)
		require.NoError(t, err)
		got := make([]byte, len(step.out))
		_, err = io.ReadFull(out, got)
		require.NoError(t, err, "after %q", step.in)
		require.Equal(t, step.out, string(got))
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

func TestState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	run := func(in, out string, flags ...string) (stderr string) {
		t.Helper()
		stdout, stderr, status := dedupe(t, in, append([]string{"-state", state}, flags...)...)
		require.Zero(t, status, stderr)
		require.Equal(t, out, stdout)
		return stderr
	}
	run("a\nb\n", "a\nb\n", "-n", "1000", "-p", "0.001")
	run("b\nc\na\nd\n", "c\nd\n")                           // the file's own parameters
	run("d\ne\n", "e\n", "-n", "1000", "-p", "0.001")       // the same parameters
	run("a\nb\nc\nd\ne\nf\n", "f\n", "-state", state, "--") // nothing was forgotten

	before, err := os.ReadFile(state)
	require.NoError(t, err)
	for _, flags := range [][]string{{"-n", "1000000"}, {"-p", "0.01"}, {"-n", "2000", "-p", "0.001"}} {
		stdout, stderr, status := dedupe(t, "g\n", append(flags, "-state", state)...)
		assert.Equal(t, 1, status)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, "holds a filter of 14400 bits and 10 hashes, but")
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	after, err := os.ReadFile(state)
	require.NoError(t, err)
	require.Equal(t, before, after)
	requireAlone(t, state)
}

// requireAlone fails if anything lies beside path.
func requireAlone(t testing.TB, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, filepath.Base(path), entries[0].Name())
}

func TestWarning(t *testing.T) {
	const warning = "warning: the filter is made for 1000 lines"
	state := filepath.Join(t.TempDir(), "state")
	flags := []string{"-n", "1000", "-p", "1e-9", "-state", state}

	_, stderr, _ := dedupe(t, numbers(0, 1000)+numbers(0, 1000), flags[:4]...)
	assert.NotContains(t, stderr, "warning")
	_, stderr, _ = dedupe(t, numbers(0, 1001), flags[:4]...)
	assert.Contains(t, stderr, warning)

	// What earlier runs kept counts too, as the filter estimates it.
	_, stderr, _ = dedupe(t, numbers(0, 500), flags...)
	assert.NotContains(t, stderr, "warning")
	_, stderr, _ = dedupe(t, numbers(0, 900), flags...)
	assert.NotContains(t, stderr, "warning")
	_, stderr, _ = dedupe(t, numbers(500, 1100), flags...)
	assert.Contains(t, stderr, warning)
	_, stderr, _ = dedupe(t, numbers(0, 1100), flags...)
	assert.NotContains(t, stderr, "warning", "nothing new")
	_, stderr, _ = dedupe(t, numbers(1100, 1103), flags...)
	assert.Equal(t, 1, strings.Count(stderr, warning))
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good"), "a\nb\n")
	missing := filepath.Join(dir, "missing")
	for _, test := range []struct {
		name   string
		status int
		args   []string
		says   string
	}{
		{"missing file", 1, []string{missing}, missing},
		{"missing second file", 1, []string{good, missing}, missing},
		{"directory", 1, []string{dir}, dir},
		{"missing directory of state", 1, []string{"-state", filepath.Join(missing, "state")}, missing},
		{"state is a directory", 1, []string{"-state", dir}, dir},
		{"rate", 2, []string{"-p", "1"}, "p = 1 is outside (0, 1)"},
		{"size", 2, []string{"-n", "1000000000000"}, "for n = 1000000000000"},
		{"no number", 2, []string{"-n", "-1"}, "invalid value"},
		{"no such flag", 2, []string{"-x"}, "not defined: -x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			_, _, status := dedupe(t, "old\n", "-state", state)
			require.Zero(t, status)
			before, err := os.ReadFile(state)
			require.NoError(t, err)

			stdout, stderr, status := dedupe(t, "new\n", append([]string{"-state", state}, test.args...)...)
			assert.Equal(t, test.status, status)
			assert.Equal(t, test.args[0] == good, stdout != "", "output before the error")
			assert.Contains(t, stderr, test.says)
			if test.status == 1 {
				assert.Regexp(t, `^dedupe: .*\n$`, stderr)
				assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			}
			after, err := os.ReadFile(state)
			require.NoError(t, err)
			assert.Equal(t, before, after)
			requireAlone(t, state)
		})
	}
}

func TestDamagedState(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	_, _, status := dedupe(t, "old\n", "-n", "10", "-state", state)
	require.Zero(t, status)
	whole, err := os.ReadFile(state)
	require.NoError(t, err)
	for name, data := range map[string]string{
		"empty":     "",
		"text":      "https://example.org/\n",
		"truncated": string(whole[:len(whole)-1]),
		"too long":  string(whole) + "\x00",
		"one bit":   string(whole[:20]) + string([]byte{whole[20] ^ 1}) + string(whole[21:]),
	} {
		t.Run(name, func(t *testing.T) {
			write(t, state, data)
			stdout, stderr, status := dedupe(t, "new\n", "-state", state)
			assert.Equal(t, 1, status)
			assert.Empty(t, stdout)
			assert.Regexp(t, `^dedupe: .*state.*\n$`, stderr)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			after, err := os.ReadFile(state)
			require.NoError(t, err)
			assert.Equal(t, data, string(after))
			requireAlone(t, state)
		})
	}
}

// endless is input that goes on for as long as it is read.
type endless struct{ i int }

func (e *endless) Read(p []byte) (int, error) {
	e.i++
	return copy(p, fmt.Sprintf("line %d\n", e.i)), nil
}

func TestClosedPipe(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	_, _, status := dedupe(t, "old\n", "-state", state)
	require.Zero(t, status)
	before, err := os.ReadFile(state)
	require.NoError(t, err)

	r, w, err := os.Pipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd := command(t, "-state", state)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &endless{}, w, &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	_, err = io.ReadFull(r, make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Error(t, cmd.Wait())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Regexp(t, `^dedupe: write .*\n$`, stderr.String())
	assert.Equal(t, 1, strings.Count(stderr.String(), "\n"))
	after, err := os.ReadFile(state)
	require.NoError(t, err)
	assert.Equal(t, before, after)
	requireAlone(t, state)
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full")
	}
	defer full.Close()
	for _, in := range []string{"a\n", "a"} {
		state := filepath.Join(t.TempDir(), "state")
		cmd := command(t, "-state", state)
		cmd.Stdin, cmd.Stdout = strings.NewReader(in), full
		require.Error(t, cmd.Run(), "%q", in)
		assert.Equal(t, 1, cmd.ProcessState.ExitCode())
		assert.NoFileExists(t, state)
	}
}

func TestInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no interrupts between processes")
	}
	state := filepath.Join(t.TempDir(), "state")
	cmd := command(t, "-state", state)
	cmd.Stdin = &endless{}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	assert.NoFileExists(t, state)
}

// A null device is no terminal, although it looks like one.
func TestNullDevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there it cannot be told from one")
	}
	var stdout bytes.Buffer
	cmd := command(t)
	cmd.Stdout = &stdout // no Stdin: the null device
	require.NoError(t, cmd.Run())
	assert.Empty(t, stdout.String())
}
