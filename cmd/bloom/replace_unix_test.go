//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// writers are the commands that replace a file, with what makes that file for those that change it.
var writers = []struct{ makes, command string }{
	{"", "build -n 10 -o list"},
	{"", "bank build -n 10 -o list -"},
	{"", "merge -o list one"},
	{"", "diff -o list one two"},
	{"", "dedupe --state list"},
	{"build -n 10 -o list", "patch list patch"},
	{"build -n 10 -o list", "add list"},
	{"build -n 10 --type counting -o list", "remove list"},
	{"foreign", "add list"},
}

// home is the directory of this package.
var home, _ = os.Getwd()

// prepare makes the files that the commands of writers read.
func prepare(t *testing.T, makes string) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 10 -o one")
	good(t, "b\n", "build -n 10 -o two")
	switch makes {
	case "":
	case "foreign":
		data, err := os.ReadFile(home + "/../../foreign/testdata/spark-v1.bin")
		if err != nil {
			t.Skip(err) // outside the repository
		}
		write(t, "list", string(data))
	default:
		good(t, "a\n", makes)
	}
	good(t, "", "diff -o patch one two")
}

// TestEveryWriterKeepsPermissions: a new file is as private as the umask says. A file that is
// replaced keeps its permissions, its owner and its group.
func TestEveryWriterKeepsPermissions(t *testing.T) {
	for _, test := range writers {
		prepare(t, test.makes)
		if test.makes == "" {
			old := syscall.Umask(0o027)
			_, stderr, status := bloomRun(t, "a\n", test.command)
			syscall.Umask(old)
			require.Zero(t, status, "%s: %s", test.command, stderr)
			info, err := os.Stat("list")
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o640), info.Mode(), test.command)
		}
		require.NoError(t, os.Chmod("list", 0o604))
		root := os.Getuid() == 0
		if root {
			require.NoError(t, os.Chown("list", 12345, 23456))
		}
		_, stderr, status := bloomRun(t, "a\n", test.command)
		require.Zero(t, status, "%s: %s", test.command, stderr)
		info, err := os.Stat("list")
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o604), info.Mode(), test.command)
		if root {
			require.EqualValues(t, 12345, info.Sys().(*syscall.Stat_t).Uid, test.command)
			require.EqualValues(t, 23456, info.Sys().(*syscall.Stat_t).Gid, test.command)
		}
	}
}

// TestEveryWriterNeedsTheDirectory: a command finds out before it reads anything that its file
// cannot be written, and says which directory is missing.
func TestEveryWriterNeedsTheDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range writers {
		line := strings.Replace(test.command, "list", "none/list", 1)
		saying(t, 1, "replace none/list: it needs the directory none: no such file or directory",
			"a\n", line)
	}
}

// TestEveryWriterTidiesUp: what a killed run left of its new file, the next run removes.
func TestEveryWriterTidiesUp(t *testing.T) {
	for _, test := range writers {
		prepare(t, test.makes)
		write(t, ".list.bloom-tmp-0", "half a file")
		write(t, ".list.bloom-lock", "")
		_, stderr, status := bloomRun(t, "a\n", test.command)
		require.Zero(t, status, "%s: %s", test.command, stderr)
		requireBeside(t, "one", "two", "patch", "list")
	}
}

// TestOutputByName: -o takes the system's names of standard output, as a pipe and as a file, and
// names -o - where it gets another pipe or device.
func TestOutputByName(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a", "a\n")
	good(t, "", "build -n 9 -o f a")
	want := read(t, "f")
	for _, name := range []string{
		"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "//dev/./stdout",
	} {
		if strings.HasPrefix(name, "/proc") && !exists(name) {
			continue // only Linux has it
		}
		for line, made := range map[string]string{
			"build -n 9 -o " + name + " a":         want,
			"merge -o " + name + " f f":            want,
			"dedupe -o " + name + " a":             "a\n",
			"dedupe --state s -o " + name + " a":   "a\n",
			"bank build -n 9 -o " + name + " a":    good(t, "", "bank build -n 9 -o - a"),
			"diff -o " + name + " f f":             good(t, "", "diff -o - f f"),
			"build --force -n 9 -o " + name + " a": want,
		} {
			require.True(t, made == good(t, "", line), line)
			os.Remove("s")
			out, err := child(t, "sh", "-c", "bloom "+line+" > out").CombinedOutput()
			require.NoError(t, err, "%s: %s", line, out)
			require.True(t, made == read(t, "out"), "%s > out", line)
			os.Remove("s")
		}
		saying(t, 2, name+" is not a file: bloom can change only files", "", "add "+name+" a")
	}
	for _, name := range []string{"/dev/null", "/dev/fd/3"} {
		out, err := child(t, "bash", "-c",
			"bloom build -n 9 -o "+name+" a 3>&1 | cat; exit ${PIPESTATUS[0]}").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), name+" is not a regular file: -o - writes to standard output")
	}
}
