//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed79a3ff49/bloom"
)

// TestSignals: tail -f has no end but a signal.
func TestSignals(t *testing.T) {
	defaultSignals(t)
	for _, signal := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	} {
		t.Chdir(t.TempDir())
		cmd := command(t, "dedupe --state state")
		in, out := start(t, cmd)
		defer in.Close()
		send(t, in, "a\nb\nunfinished")
		receive(t, out, "a\nb\n")
		require.NoError(t, cmd.Process.Signal(signal))
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Error(t, cmd.Wait())
		require.Equal(t, 128+int(signal), cmd.ProcessState.ExitCode())
		require.Equal(t, "unfinished\nc\n", good(t, "a\nunfinished\nb\nc\n", "dedupe --state state"))
	}
}

// TestInterruptedCheck: a number that is not that of all lines is not written.
func TestInterruptedCheck(t *testing.T) {
	defaultSignals(t)
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -o list")
	for _, flags := range []string{"-c", "-q -v", "-v"} {
		cmd := command(t, "check list "+flags)
		in, out := start(t, cmd)
		defer in.Close()
		send(t, in, strings.Repeat("a\n", 100_000)) // more than a pipe holds, so that some was read
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), flags)
		require.Empty(t, rest, flags)
	}
}

// TestInterrupted: a file that was to be changed is as it was, though lines were read.
func TestInterrupted(t *testing.T) {
	defaultSignals(t)
	for _, change := range []string{"add", "remove", "build -n 1000 -o"} {
		path := filepath.Join(t.TempDir(), "list")
		good(t, "line\n", "build --type counting -n 1000 -o", path)
		before := read(t, path)
		cmd := command(t, change, path)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		in, _ := start(t, cmd)
		send(t, in, strings.Repeat("line\nother\n", 1<<20)) // more than is read ahead
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.Error(t, cmd.Wait())
		require.Equal(t, 130, cmd.ProcessState.ExitCode())
		requireError(t, stderr.String(), "interrupted; no file was changed")
		require.Equal(t, before, read(t, path), change)
		requireAlone(t, path)
	}
}

// TestIgnoredSignal: a run under nohup outlives the terminal.
func TestIgnoredSignal(t *testing.T) {
	cmd := command(t, "dedupe")
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `trap '' HUP; exec "$0" dedupe`, program}
	in, out := start(t, cmd)
	for _, line := range []string{"a\n", "b\n"} {
		send(t, in, line)
		receive(t, out, line)
		require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	}
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

// TestPipeFilter: a filter does not come through a pipe, and the message says so.
func TestPipeFilter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	saying(t, 2,
		"... is not a regular file: a filter cannot come through a pipe", "a\n", "check", path)
}

// TestSpoolErrors: a build of lines that it cannot count beforehand fails if what it keeps of them
// cannot be written or read.
func TestSpoolErrors(t *testing.T) {
	broken := errors.New("broken disk")
	f := bloom.Must(bloom.New(10, 0.01))
	disk := struct {
		io.Reader
		io.Seeker
	}{iotest.ErrReader(broken), strings.NewReader("")}
	require.ErrorIs(t, addSpooled(t.Context(), f, disk, nil), broken)
	_, err := makeSpooled(t.Context(), nil, 0, 1, func(uint64) (hashFilter, error) {
		return nil, broken
	})
	require.ErrorIs(t, err, broken)

	t.Chdir(t.TempDir())
	write(t, "input", strings.Repeat("a line of the input\nanother\n", 1000))
	// A file may have 4096 bytes: the hashes do not fit, the filter does.
	out, err := child(t, "sh", "-c",
		`ulimit -f 8; exec bloom build -p 0.1 -o filter input`).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "file too large")
	require.NoFileExists(t, "filter")
}

// TestFullDiskOfStdout: of what a command appends to a file of the shell, whole lines stay where the
// disk fills within another one, and so does what the file had before.
func TestFullDiskOfStdout(t *testing.T) {
	long := strings.Repeat("long", 2000) + "\n"
	for in, whole := range map[string]string{"first\n" + long: "first\n", long: ""} {
		t.Chdir(t.TempDir())
		write(t, "in", in)
		write(t, "out", "old\n")
		out, err := child(t, "sh", "-c", `ulimit -f 1; exec bloom dedupe in >> out`).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "file too large")
		require.Equal(t, "old\n"+whole, read(t, "out"))
	}
}

// TestFullDisk: a disk with no room at all is an error of each command that writes to standard output.
func TestFullDisk(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -o list")
	good(t, "a\n", "bank build -n 9 -o bank -")
	write(t, "in", "a\nb\n")
	for _, line := range []string{
		"dedupe in", "check list in", "check -v list in", "check -c list in", "info list",
		"info --json list", "bank info bank", "bank info --json bank", "bank which bank a",
		"bank which --all bank a", "plan -n 10", "plan -n 10 --json", "merge -o - list list",
		"diff -o - list list", "build -n 10 -o - in", "bank build -n 10 -o - in", "version", "help",
		"check --help", "completion bash",
	} {
		out, err := child(t, "sh", "-c", "ulimit -f 0; exec bloom "+line+" > out").CombinedOutput()
		require.Error(t, err, line)
		require.Contains(t, string(out), "file too large", line)
		require.Empty(t, read(t, "out"), line)
	}
}

// TestClosedPipe: head ends dedupe in silence, by SIGPIPE, with no state of lines
// that were not written, and nothing beside it.
func TestClosedPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd := command(t, "dedupe --state state")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(numbers(0, 1e5)), w, &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	_, err = io.ReadFull(r, make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Error(t, cmd.Wait())
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	assert.True(t, status.Signaled(), cmd.ProcessState)
	assert.Equal(t, syscall.SIGPIPE, status.Signal(), cmd.ProcessState)
	assert.Empty(t, stderr.String())
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, entries)
}

// TestStuck: a signal ends a run whose output nobody takes, too. Its state has nothing that was not
// written.
func TestStuck(t *testing.T) {
	defaultSignals(t)
	in := numbers(0, 60_000) // more than a pipe holds, and than one read returns
	t.Chdir(t.TempDir())
	write(t, "list", in)
	good(t, "old\n", "dedupe -p 1e-9 --state state")
	before := read(t, "state")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	var stderr strings.Builder
	cmd := command(t, "dedupe --state state list")
	cmd.Stdout, cmd.Stderr = w, &stderr
	require.NoError(t, cmd.Start())
	receive(t, r, in[:200_000])
	becomes(t, func() bool { // a write to the pipe would wait
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(w.Fd()), Events: unix.POLLOUT}}, 0)
		return n == 0 && err == nil
	})
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.Error(t, cmd.Wait())
	require.Equal(t, 128+int(syscall.SIGTERM), cmd.ProcessState.ExitCode())
	requireError(t, stderr.String(),
		"the output accepts nothing, and state is as it was last saved")
	require.Equal(t, before, read(t, "state"))
	require.Equal(t, in, good(t, "old\n"+in, "dedupe --state state"))
}

// TestKilledShards kills shards while they write, and starts them again: whatever the moment,
// the outputs of all hold the lines of one run, each once.
func TestKilledShards(t *testing.T) {
	const n, kills = 3, 4
	in := numbers(0, 150_000) + numbers(50_000, 200_000)
	list := write(t, filepath.Join(t.TempDir(), "list"), in)
	rnd := rand.New(rand.NewPCG(5, 6))
	var outs []string
	size := func() int64 {
		info, err := os.Stat("out")
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for i := range n {
		t.Chdir(t.TempDir())
		line := fmt.Sprintf("dedupe -p 1e-9 --shard %d/%d --state state -o out --save-every 1ms", i, n)
		for range kills {
			enough := size() + rnd.Int64N(400_000)
			cmd := command(t, line, list)
			require.NoError(t, cmd.Start())
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for done := false; !done && size() < enough; {
				select {
				case <-ended: // nothing was left to write
					done = true
				default:
				}
			}
			cmd.Process.Kill()
		}
		_, stderr, status := bloomRun(t, "", line, list)
		require.Zero(t, status, stderr)
		outs = append(outs, read(t, "out"))
		require.Empty(t, good(t, "", line, list))
	}
	require.Equal(t, len(sorted(distinct(in))), len(sorted(outs...)), "no line is written twice")
	require.True(t, slices.Equal(sorted(distinct(in)), sorted(outs...)))
}
