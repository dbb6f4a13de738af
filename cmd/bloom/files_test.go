package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// holding starts a run that reads a pipe, and returns once it holds the file.
func holding(t *testing.T, path string, args ...string) (cmd *exec.Cmd, in io.WriteCloser) {
	t.Helper()
	cmd = command(t, args...)
	in, _ = start(t, cmd)
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	require.Eventually(t, func() bool { return exists(beside(path, "bloom-lock")) }, time.Minute, time.Millisecond)
	return cmd, in
}

// TestTwoWriters: the second waits for the first, and no line is lost.
func TestTwoWriters(t *testing.T) {
	for _, first := range []string{"add", "dedupe -state"} {
		list := filepath.Join(t.TempDir(), "list")
		good(t, "a\n", "build", "-n", "1000", "-p", "1e-9", "-o", list)
		one, in := holding(t, list, append(strings.Fields(first), list)...)

		two := command(t, "add", list)
		two.Stdin = strings.NewReader("c\n")
		stderr, err := two.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, two.Start())
		says, err := bufio.NewReader(stderr).ReadString('\n')
		require.NoError(t, err)
		requireError(t, says, "waiting for another bloom that changes "+list)

		send(t, in, "b\n")
		require.NoError(t, in.Close())
		require.NoError(t, one.Wait(), first)
		require.NoError(t, two.Wait(), first)
		require.Equal(t, "a\nb\nc\n", good(t, "a\nb\nc\nd\n", "check", list), first)
		requireAlone(t, list)
	}
}

// TestInUse: a command that may not wait says why, and changes nothing. A process that was
// killed holds nothing.
func TestInUse(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	good(t, "a\n", "build", "-n", "1000", "-o", list)
	before := read(t, list)
	cmd, _ := holding(t, list, "dedupe", "-state", list)
	commands := []string{"add L", "dedupe -state L", "build -o L", "merge -o L L"}
	run := func(args string) (stderr string, status int) {
		args = strings.ReplaceAll(args+" -wait 0s", "L", list)
		_, stderr, status = bloomRun(t, "", strings.Fields(args)...)
		return stderr, status
	}
	for _, args := range commands {
		stderr, status := run(args)
		assert.Equal(t, 1, status, args)
		requireError(t, stderr, list+" is in use: another bloom changes it")
	}
	require.Equal(t, before, read(t, list))
	require.Equal(t, "a\n", good(t, "a\nb\n", "check", list), "who only reads need not wait")

	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	for _, args := range commands {
		stderr, status := run(args)
		assert.Zero(t, status, "%s: %s", args, stderr)
		requireAlone(t, list)
	}
}

// TestTwoRunsOneOut: runs with states of their own append to one OUT one after the other.
func TestTwoRunsOneOut(t *testing.T) {
	dir := t.TempDir()
	in, out := numbers(0, 200_000), filepath.Join(dir, "out")
	list := write(t, filepath.Join(dir, "list"), in)
	var cmds []*exec.Cmd
	for i := range 3 {
		cmd := command(t, "dedupe", "-p", "1e-9", "-shard", fmt.Sprintf("%d/3", i), "-state", filepath.Join(dir, fmt.Sprint(i)), "-o", out, list)
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		require.NoError(t, cmd.Wait())
	}
	require.True(t, slices.Equal(sorted(in), sorted(read(t, out))))

	holding(t, out, "dedupe", "-state", filepath.Join(dir, "a"), "-o", out)
	saying(t, 1, out+" is in use", "", "dedupe", "-wait", "0s", "-state", filepath.Join(dir, "b"), "-o", out)
}

// TestManyWriters starts and ends at once.
func TestManyWriters(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	good(t, "", "build", "-n", "1000", "-p", "1e-9", "-o", list)
	var cmds []*exec.Cmd
	var all strings.Builder
	for i := range 24 {
		line := fmt.Sprintln("line", i)
		all.WriteString(line)
		cmd := command(t, "add", list)
		cmd.Stdin = strings.NewReader(line)
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		require.NoError(t, cmd.Wait())
	}
	require.Equal(t, all.String(), good(t, all.String(), "check", list))
	requireAlone(t, list)
}

// TestHold: the file that is locked is the one that is there, however often it is removed.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var holders atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 150 {
				release, err := (&holder{wait: time.Minute}).hold(context.Background(), path)
				if assert.NoError(t, err) {
					assert.EqualValues(t, 1, holders.Add(1))
					holders.Add(-1)
					release()
				}
			}
		}()
	}
	wg.Wait()
	require.False(t, exists(beside(path, "bloom-lock")))
}
