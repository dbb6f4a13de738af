//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingInTemporary: kill -9 leaves nothing in $TMPDIR while a filter is unpacked or written
// to standard output.
func TestNothingInTemporary(t *testing.T) {
	t.Chdir(t.TempDir())
	var keys strings.Builder // so many that gzip makes a quarter of the list, not a hundredth
	for i := range 100_000 {
		fmt.Fprintln(&keys, "key", i)
	}
	good(t, "a\n"+keys.String(), "build -n 2M -o list")
	list := read(t, "list")
	packed := gzipped(list)
	for _, line := range []string{"merge -o - -", "merge -o new -"} {
		for _, in := range []string{list, packed + packed} {
			temporary := t.TempDir()
			cmd := command(t, line)
			cmd.Env = append(cmd.Environ(), "TMPDIR="+temporary)
			stdin, _ := start(t, cmd)
			send(t, stdin, in[:len(in)/2+1])
			becomes(t, func() bool { return hasNameless(cmd.Process.Pid, temporary) })
			require.NoError(t, cmd.Process.Kill())
			cmd.Wait()
			require.Empty(t, filesIn(t, temporary), line)
		}
	}
	cmd := command(t, "merge -o - list")
	temporary := t.TempDir()
	cmd.Env = append(cmd.Environ(), "TMPDIR="+temporary)
	_, out := start(t, cmd)
	receive(t, out, list[:1])
	require.Empty(t, filesIn(t, temporary))
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.Empty(t, filesIn(t, temporary))
	require.Equal(t, "a\n", good(t, "a\nb\n", "check", write(t, "list.gz", packed)))
	require.True(t, list == good(t, packed, "merge -o - -"))
	require.True(t, strings.HasPrefix(good(t, "", "info list.gz"), "list.gz\n"))
}

// hasNameless reports whether a process has a file that was made in dir, and has lost its name.
func hasNameless(pid int, dir string) bool {
	dir, _ = filepath.EvalSymlinks(dir)
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(open, func(fd string) bool {
		path, _ := os.Readlink(fd)
		return strings.HasPrefix(path, dir) && strings.HasSuffix(path, " (deleted)")
	})
}

// TestTemporary: a temporary file loses its name as soon as it is made, and is closed at its end. Without a directory for it, a command that needs one fails.
func TestTemporary(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	file, err := temporary("test-*")
	require.NoError(t, err)
	require.Empty(t, filesIn(t, dir))
	discard(file)
	require.ErrorIs(t, file.Close(), os.ErrClosed)

	file, path, err := temporaryAt("test-*")
	require.NoError(t, err)
	_, err = file.WriteString("text")
	require.NoError(t, err)
	require.Equal(t, "text", read(t, path))
	require.Empty(t, filesIn(t, dir))
	discard(file)
	require.ErrorIs(t, file.Close(), os.ErrClosed)
	require.Empty(t, filesIn(t, dir))

	file, err = os.CreateTemp("", "test-*") // as where a file keeps its name
	require.NoError(t, err)
	discard(file)
	require.Empty(t, filesIn(t, dir))

	good(t, "a\n", "build -n 10 -o "+dir+"/list")
	filter := read(t, dir+"/list")
	require.NoError(t, os.Remove(dir+"/list"))
	t.Setenv("TMPDIR", dir+"/none")
	saying(t, 1, `standard input is not a filter: it begins with "PAR1 and"`,
		gzipped("PAR1 and more"), "info -") // before it is unpacked to the disk
	for line, in := range map[string]string{
		"build -o " + dir + "/new": "a\n", "merge -o " + dir + "/new -": filter,
	} {
		saying(t, 1, "cannot create a temporary file in "+dir+
			"/none ($TMPDIR): no such file or directory", in, line)
		require.Empty(t, filesIn(t, dir), line)
	}
}
