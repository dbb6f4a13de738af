package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/file"
	"github.com/seed79a3ff49/bloom/internal/files"
)

// holding starts a run that reads a pipe, and returns once it holds the file.
func holding(t *testing.T, path, line string) (cmd *exec.Cmd, in io.WriteCloser) {
	t.Helper()
	cmd = command(t, line)
	in, _ = start(t, cmd)
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	becomes(t, func() bool { return locked(t, path) })
	return cmd, in
}

// locked reports whether a process has the lock of the file at path.
func locked(t *testing.T, path string) bool {
	if !exists(files.LockName(path)) {
		return false // a lock of this process would make the run wait
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, unlock, err := file.Lock(ctx, path)
	if err != nil {
		return true
	}
	require.NoError(t, unlock())
	return false
}

// waiting starts a run that adds b to the file, and returns once it waits for who holds it.
func waiting(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := command(t, "add --wait 1h", path)
	cmd.Stdin = strings.NewReader("b\n")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	says, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	requireError(t, says, "waiting for another bloom that changes "+path)
	return cmd
}

// TestTwoWriters: the second waits for the first, and no line is lost.
func TestTwoWriters(t *testing.T) {
	for _, first := range []string{"add list", "dedupe --state list"} {
		t.Chdir(t.TempDir())
		good(t, "a\n", "build -n 1000 -p 1e-9 -o list")
		one, in := holding(t, "list", first)

		two := waiting(t, "list")
		send(t, in, "c\n")
		require.NoError(t, in.Close())
		require.NoError(t, one.Wait(), first)
		require.NoError(t, two.Wait(), first)
		require.Equal(t, "a\nb\nc\n", good(t, "a\nb\nc\nd\n", "check list"), first)
		requireAlone(t, "list")
	}
}

// inUse follows the name of a file in the error of a command that does not wait for it.
const inUse = " is in use: another bloom that changes it has not ended in 0s (--wait)"

// TestInUse: a command that may not wait says why, and changes nothing. A process that was
// killed holds nothing.
func TestInUse(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build --type counting -n 1000 -o list")
	before := read(t, "list")
	cmd, _ := holding(t, "list", "dedupe --state list")
	in := write(t, filepath.Join(t.TempDir(), "in"), "a\n")
	commands := []string{
		"add list", "remove list", "dedupe --state list", "build --force -o list",
		"merge --force -o list list", "bank build --force -o list " + in,
	}
	for _, line := range commands {
		saying(t, 1, "list"+inUse, "", line, "--wait", "0s")
	}
	require.Equal(t, before, read(t, "list"))
	require.Equal(t, "a\n", good(t, "a\nb\n", "check list"), "who only reads need not wait")

	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	for _, line := range commands {
		good(t, "", line, "--wait", "0s")
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
		cmds = append(cmds, command(t, fmt.Sprintf("dedupe --wait 1h -p 1e-9 --state %d -o out list", i)))
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

	holding(t, "other", "dedupe --state a -o other")
	saying(t, 1, "other"+inUse, "", "dedupe --wait 0s --state b -o other")
}

// TestWaitsForLock: the command waits for programs that lock a file by file.Lock, however long its
// name is.
func TestWaitsForLock(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, size := range []int{4, 201, 212, 250} {
		path := strings.Repeat("n", size)
		good(t, "a\n", "build -n 1000 -o", path)
		_, unlock, err := file.Lock(t.Context(), path)
		require.NoError(t, err)
		saying(t, 1, path+inUse, "b\n", "add --wait 0s", path)
		waits := waiting(t, path)
		require.NoError(t, unlock())
		require.NoError(t, waits.Wait())
		require.Equal(t, "a\nb\n", good(t, "a\nb\nc\n", "check", path))
		requireAlone(t, path)
		require.NoError(t, os.Remove(path))
	}
}

// TestLockIsALink: where another user may write, the name of the lock may lead anywhere. The
// command refuses it, and changes nothing there.
func TestLockIsALink(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 1000 -o list")
	key := write(t, "key", "secret")
	require.NoError(t, os.Chmod(key, 0o600))
	for _, to := range []string{key, "created"} {
		if err := os.Symlink(to, files.LockName("list")); err != nil {
			t.Skip(err)
		}
		saying(t, 1, "list: lock .list.bloom-lock: not a regular file...", "b\n", "add list")
		require.NoFileExists(t, "created")
		info, err := os.Stat(key)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.NoError(t, os.Remove(files.LockName("list")))
	}
}

// TestListOfOthersStays: a list that another program saves while a command is at work stays as that
// program left it: the command has read an older one. It may have the same size and time.
func TestListOfOthersStays(t *testing.T) {
	const build = "build --type counting -n 1000 -o "
	for name, replace := range map[string]func(){
		"replaced":         func() { require.NoError(t, os.Rename("theirs", "list")) },
		"written in place": func() { write(t, "list", read(t, "theirs")) },
	} {
		for _, line := range []string{
			"add list", "remove list", "dedupe --state list",
			"dedupe --state list --save-every 1ms", "dedupe --state list -o out",
		} {
			for _, keeps := range []bool{false, true} {
				t.Chdir(t.TempDir())
				good(t, "a\n", build+"list")
				good(t, "b\n", build+"theirs")
				if strings.HasSuffix(line, "out") { // the first save comes with the first lines
					good(t, "", "dedupe --state list -o out")
				}
				earlier := time.Now().Add(-time.Hour)
				require.NoError(t, os.Chtimes("list", earlier, earlier))
				if !keeps {
					earlier = earlier.Add(time.Second)
				}
				require.NoError(t, os.Chtimes("theirs", earlier, earlier))
				theirs := read(t, "theirs")
				cmd := command(t, line)
				cmd.Stdout = io.Discard
				var stderr strings.Builder
				cmd.Stderr = &stderr
				in, _ := start(t, cmd)
				send(t, in, strings.Repeat("a\n", 1<<20)) // more than fits into a pipe: the list is loaded
				replace()
				require.NoError(t, os.Chtimes("list", earlier, earlier))
				in.Write([]byte("c\n")) // a run that saves may have ended
				in.Close()
				require.Error(t, cmd.Wait(), "%s, %s", name, line)
				require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s, %s", name, line)
				said := strings.TrimSuffix(stderr.String(), "\n") // remove also counts its lines
				requireError(t, said[strings.LastIndex(said, "\n")+1:]+"\n", "list was changed by "+
					"another program, and bloom did not replace it: run bloom again")
				require.True(t, theirs == read(t, "list"), "%s, %s", name, line)
				good(t, "c\n", "add list")
			}
		}
	}
}

// TestStateOfOthersStays: each save of dedupe looks for what other programs have saved since its
// last one. Its own saves, and a state whose permissions or names change, are no such thing.
func TestStateOfOthersStays(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "x\n", "build -o theirs")
	cmd := command(t, "dedupe -n 1000 -p 1e-9 --state state --save-every 1ms")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, out := start(t, cmd)
	defer in.Close()
	for i := range 3 {
		line := fmt.Sprintf("line %d\n", i)
		send(t, in, line)
		receive(t, out, line)
		becomes(t, func() bool {
			found, _, status := bloomRun(t, line, "check state")
			return status == 0 && found == line
		})
		require.NoError(t, os.Chmod("state", 0o600))
		if i == 1 {
			require.NoError(t, os.Link("state", "another name"))
		}
	}
	theirs := read(t, "theirs")
	write(t, "state", theirs)
	send(t, in, "last\n")
	require.Error(t, cmd.Wait())
	requireError(t, stderr.String(),
		"state was changed by another program, and bloom did not replace it: run bloom again")
	require.Equal(t, theirs, read(t, "state"))
}

// TestMadeByOthersStays: a state that was missing, and that another program has saved since, stays.
func TestMadeByOthersStays(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "x\n", "build -o theirs")
	cmd, in := holding(t, "state", "dedupe --state state")
	send(t, in, strings.Repeat("a\n", 1<<20))
	require.NoError(t, os.Rename("theirs", "state"))
	require.NoError(t, in.Close())
	require.Error(t, cmd.Wait())
	require.Equal(t, "x\n", good(t, "a\nx\n", "check state"))
}

// TestMergeOfOthersStays: merge replaces one of its inputs only if that is as it was read.
func TestMergeOfOthersStays(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 1M -o list")
	good(t, "b\n", "build -n 1M -o other")
	good(t, "x\n", "build -n 1M -o theirs")
	cmd := command(t, "merge -o list list -")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	in, _ := start(t, cmd)
	other := read(t, "other")
	send(t, in, other[:len(other)-1]) // more than fits into a pipe: the list is loaded
	require.NoError(t, os.Rename("theirs", "list"))
	send(t, in, other[len(other)-1:])
	require.NoError(t, in.Close())
	require.Error(t, cmd.Wait())
	requireError(t, stderr.String(),
		"list was changed by another program, and bloom did not replace it: run bloom again")
	require.Equal(t, "x\n", good(t, "a\nb\nx\n", "check list"))
	good(t, "", "merge -o list list other")
	require.Equal(t, "b\nx\n", good(t, "a\nb\nx\n", "check list"))
	good(t, "", "merge -o other list")
}
