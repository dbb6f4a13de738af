package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// holding starts a run that reads a pipe, and returns once it holds the file.
func holding(t *testing.T, path, line string) (cmd *exec.Cmd, in io.WriteCloser) {
	t.Helper()
	cmd = command(t, line)
	in, _ = start(t, cmd)
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	becomes(t, func() bool { return exists(beside(path, "bloom-lock")) })
	return cmd, in
}

// TestTwoWriters: the second waits for the first, and no line is lost.
func TestTwoWriters(t *testing.T) {
	for _, first := range []string{"add list", "dedupe -state list"} {
		t.Chdir(t.TempDir())
		good(t, "a\n", "build -n 1000 -p 1e-9 -o list")
		one, in := holding(t, "list", first)

		two := command(t, "add list")
		two.Stdin = strings.NewReader("c\n")
		stderr, err := two.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, two.Start())
		says, err := bufio.NewReader(stderr).ReadString('\n')
		require.NoError(t, err)
		requireError(t, says, "waiting for another bloom that changes list")

		send(t, in, "b\n")
		require.NoError(t, in.Close())
		require.NoError(t, one.Wait(), first)
		require.NoError(t, two.Wait(), first)
		require.Equal(t, "a\nb\nc\n", good(t, "a\nb\nc\nd\n", "check list"), first)
		requireAlone(t, "list")
	}
}

// TestInUse: a command that may not wait says why, and changes nothing. A process that was
// killed holds nothing.
func TestInUse(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -type counting -n 1000 -o list")
	before := read(t, "list")
	cmd, _ := holding(t, "list", "dedupe -state list")
	in := write(t, filepath.Join(t.TempDir(), "in"), "a\n")
	commands := []string{
		"add list", "remove list", "dedupe -state list", "build -force -o list",
		"merge -force -o list list", "bank build -force -o list " + in,
	}
	for _, line := range commands {
		saying(t, 1, "list is in use: another bloom changes it", "", line, "-wait", "0s")
	}
	require.Equal(t, before, read(t, "list"))
	require.Equal(t, "a\n", good(t, "a\nb\n", "check list"), "who only reads need not wait")

	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	for _, line := range commands {
		good(t, "", line, "-wait", "0s")
		requireAlone(t, "list")
	}
}

// TestTwoRunsOneOut: one run writes an OUT at a time, and one whose state does not know it is
// refused: no line is torn.
func TestTwoRunsOneOut(t *testing.T) {
	t.Chdir(t.TempDir())
	in := write(t, "list", numbers(0, 200_000))
	var cmds []*exec.Cmd
	for i := range 3 {
		cmds = append(cmds, command(t, fmt.Sprintf("dedupe -p 1e-9 -state %d -o out list", i)))
		require.NoError(t, cmds[i].Start())
	}
	wrote := 0
	for _, cmd := range cmds {
		if cmd.Wait() == nil {
			wrote++
		}
	}
	require.Equal(t, 1, wrote)
	require.True(t, read(t, in) == read(t, "out"))

	holding(t, "other", "dedupe -state a -o other")
	saying(t, 1, "other is in use", "", "dedupe -wait 0s -state b -o other")
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
				release, err := (&target{wait: watchdog}).lock(context.Background(), path)
				if assert.NoError(t, err) {
					assert.EqualValues(t, 1, holders.Add(1))
					holders.Add(-1)
					release()
				}
			}
		}()
	}
	ends(t, wg.Wait)
	require.False(t, exists(beside(path, "bloom-lock")))
}
