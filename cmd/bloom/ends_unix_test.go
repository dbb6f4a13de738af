//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFilesAfterEachEnd: what a command leaves in its directory and in $TMPDIR, however it ends.
// After a SIGKILL the next run tidies up.
func TestFilesAfterEachEnd(t *testing.T) {
	defaultSignals(t)
	const fields = " -f 2 --sep ;"
	input := strings.ReplaceAll(numbers(0, 20_000), "line", "x;line") // more than a pipe holds
	for _, test := range []struct {
		command string
		before  string // makes list
		// Files after success, an error in the last line, SIGTERM and SIGKILL.
		success, failure, terminated, killed string
	}{
		{"dedupe -p 1e-9", "", "", "", "", ""},
		{"dedupe -p 1e-9 --state list --save-every 1h", "", "list", "list", "list", ".list.bloom-lock"},
		{"dedupe -p 1e-9 --state list --save-every 1h -o out", "", "list out", "list out", "list out",
			".list.bloom-lock .out.bloom-lock list out"},
		{"build -o list", "", "list", "", "", ".list.bloom-lock"},
		{"build -o list", "build -f 1 --sep ; -o list", "list", "list", "list", ".list.bloom-lock list"},
		{"build -n 20k -o list", "", "list", "", "", ".list.bloom-lock"},
		{"build -o -", "", "", "", "", ""},
		{"bank build -n 20k -o list -", "", "list", "", "", ".list.bloom-lock"},
		{"bank build -n 20k -o - -", "", "", "", "", ""},
		{"add list", "build -n 20k -f 2 --sep ; -o list", "list", "list", "list",
			".list.bloom-lock list"},
		{"remove list", "build -n 20k --type counting -f 2 --sep ; -o list", "list", "list", "list",
			".list.bloom-lock list"},
	} {
		t.Run(test.command, func(t *testing.T) {
			for _, end := range []struct {
				name, files, last string
				signal            syscall.Signal
				status            int
			}{
				{"success", test.success, "", 0, 0},
				{"failure", test.failure, "bad\n", 0, 1},
				{"SIGTERM", test.terminated, "", syscall.SIGTERM, 128 + int(syscall.SIGTERM)},
				{"SIGKILL", test.killed, "", syscall.SIGKILL, -1},
			} {
				t.Chdir(t.TempDir())
				temporary := t.TempDir()
				before := ""
				if test.before != "" {
					good(t, input, test.before)
					before = read(t, "list")
				}
				run := func() (cmd *exec.Cmd, in io.WriteCloser) {
					cmd = command(t, test.command+fields)
					cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
					cmd.Stdout = io.Discard
					in, _ = start(t, cmd)
					send(t, in, input)
					return cmd, in
				}
				cmd, in := run()
				if end.signal != 0 {
					if strings.Contains(test.killed, " list") { // FILE is there from the first line on
						becomes(t, func() bool { return exists("list") })
					}
					require.NoError(t, cmd.Process.Signal(end.signal), end.name)
				} else {
					send(t, in, end.last)
					require.NoError(t, in.Close(), end.name)
				}
				cmd.Wait()
				require.Equal(t, end.status, cmd.ProcessState.ExitCode(), end.name)
				require.Equal(t, end.files, filesIn(t, "."), end.name)
				require.Empty(t, filesIn(t, temporary), end.name)
				if end.name != "success" && before != "" {
					require.Equal(t, before, read(t, "list"), end.name)
				}
				cmd, in = run()
				require.NoError(t, in.Close(), end.name)
				require.NoError(t, cmd.Wait(), "a second run after %s", end.name)
				require.Equal(t, test.success, filesIn(t, "."), "a second run after %s", end.name)
				require.Empty(t, filesIn(t, temporary), "a second run after %s", end.name)
			}
		})
	}
}

// filesIn returns the names of the files in a directory, in order.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return strings.Join(names, " ")
}

// TestEveryStreamThatFails: an error of a file or a stream that a command writes ends it with an
// error, and no file loses what it held.
func TestEveryStreamThatFails(t *testing.T) {
	input := write(t, filepath.Join(t.TempDir(), "input"), numbers(0, 20_000))
	for _, test := range []struct{ line, says, files string }{
		// A file may have 64 KB at most: writes beyond that fail.
		{"dedupe -p 1e-9 --state s IN > out", "file too large", "out"},
		{"dedupe -p 1e-9 --state s IN >> out", "file too large", "out"},
		{"dedupe -p 1e-9 IN >> out", "file too large", "out"},
		{"dedupe -p 1e-9 -n 100k --state s -o out IN", "s was not saved: file too large", "out"},
		{"dedupe -p 1e-9 --state s -o out IN", "s was not saved: file too large", "out"},
		{"dedupe -p 1e-4 -n 20k --state s -o out IN", "out: file too large", "out s"},
		{"build -p 1e-9 -n 100k -o list IN", "list was not saved: file too large", ""},
		{"build -p 1e-9 -o list IN", "file too large", ""},
		{"build -p 1e-9 -n 100k -o - IN > out", "file too large", "out"},
		{"bank build -p 1e-9 -n 100k -o list IN", "list was not saved: file too large", ""},
		{"merge -o list old", "list was not saved: file too large", "old"},
		{"merge -o - old > out", "file too large", "old out"},
		{"add old IN", "old was not saved: file too large", "old"},
		{"remove old IN", "old was not saved: file too large", "old"},
	} {
		t.Chdir(t.TempDir())
		before := ""
		if strings.Contains(test.line, "old") {
			good(t, "", "build -n 20k --type counting -o old", input)
			before = read(t, "old")
		}
		line := strings.ReplaceAll(test.line, "IN", input)
		cmd := child(t, "bash", "-c", "ulimit -f 64; exec bloom "+line)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		cmd.Run()
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s: %s", test.line, stderr.String())
		require.Contains(t, stderr.String(), test.says, test.line)
		require.Equal(t, test.files, filesIn(t, "."), test.line)
		if before != "" {
			require.Equal(t, before, read(t, "old"), test.line)
		}
		if strings.Contains(test.line, "-o out") {
			out := read(t, "out")
			require.True(t, out == "" || strings.HasSuffix(out, "\n"), "%s leaves half a line", test.line)
			good(t, "", line)
			require.True(t, numbers(0, 20_000) == read(t, "out"), "%s, with room again", test.line)
		}
		if strings.HasPrefix(test.line, "dedupe") && strings.Contains(test.line, "> out") {
			out := read(t, "out")
			require.NotEmpty(t, out)
			require.True(t, strings.HasPrefix(numbers(0, 20_000), out), "%s writes something else",
				test.line)
			require.True(t, strings.HasSuffix(out, "\n"), "%s leaves half a line", test.line)
		}
	}
}

// TestOutOfAnotherName: a run goes on writing its OUT when that has another name, and changes no
// other file that has its name now, whatever fails.
func TestOutOfAnotherName(t *testing.T) {
	for _, other := range []string{"", "short", numbers(0, 5000)} {
		t.Chdir(t.TempDir())
		// A file may have 64 KB at most.
		cmd := child(t, "bash", "-c", "ulimit -f 64; exec bloom dedupe -n 6000 -p 1e-4 --state s -o out")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		in, _ := start(t, cmd)
		send(t, in, numbers(0, 1000))
		becomes(t, func() bool {
			info, err := os.Stat("out")
			return err == nil && info.Size() == int64(len(numbers(0, 1000)))
		})
		require.NoError(t, os.Rename("out", "rotated"))
		write(t, "out", other)
		io.WriteString(in, numbers(1000, 20_000)+strings.Repeat("long", 20_000)+"\n")
		in.Close()
		require.Error(t, cmd.Wait())
		require.Contains(t, stderr.String(), "out: file too large")
		require.True(t, other == read(t, "out"), "the other file is as it was")
		rotated := read(t, "rotated")
		require.Greater(t, len(rotated), len(numbers(0, 1000)))
		require.True(t, strings.HasSuffix(rotated, "\n"), "half a line is left")
	}
}

// TestOutIsRemoved: a run whose OUT has no name any more ends with an error, and its state has none
// of the lines that are lost: another run writes them.
func TestOutIsRemoved(t *testing.T) {
	const line = "dedupe -p 1e-9 -n 10k --state state"
	old, before, after := "old\n", numbers(0, 1000), numbers(1000, 2000)
	for name, test := range map[string]struct {
		flags   string
		remove  func() error
		left    string // what is at OUT's name afterwards
		endless bool   // the input has no end, as that of tail -f
	}{
		"removed": {" -o dir/out", func() error { return os.Remove("dir/out") }, "", false},
		"replaced": {" -o dir/out", func() error {
			return errors.Join(os.WriteFile("other", []byte("other\n"), 0o666),
				os.Rename("other", "dir/out"))
		}, "other\n", false},
		"removed with its folder": {" -o dir/out", func() error {
			return os.RemoveAll("dir")
		}, "", false},
		"standard output": {" > dir/out", func() error { return os.Remove("dir/out") }, "", false},
		"noticed by a save": {" --save-every 1ms -o dir/out",
			func() error { return os.Remove("dir/out") }, "", true},
		"noticed before a save": {" -o dir/out", func() error { return os.Remove("dir/out") }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			require.NoError(t, os.Mkdir("dir", 0o777))
			good(t, old, line, "-o", "dir/out")
			cmd := child(t, "sh", "-c", "exec bloom "+line+test.flags)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			in, _ := start(t, cmd)
			isSaved := strings.Contains(test.flags, "save-every")
			send(t, in, before)
			becomes(t, func() bool {
				info, err := os.Stat("dir/out")
				return err == nil && info.Size() >= int64(len(before))
			})
			becomes(t, func() bool {
				found, _, _ := bloomRun(t, before, "check -c state")
				return found == "1000\n" || !isSaved
			})
			state := read(t, "state")
			require.NoError(t, test.remove())
			io.WriteString(in, after)
			if !test.endless {
				in.Close()
			}
			require.Error(t, cmd.Wait())
			require.Equal(t, 1, cmd.ProcessState.ExitCode(), "it does not end by itself")
			requireError(t, stderr.String(), "... was removed while lines were written to it, and "+
				"they are lost: another run writes those that came since the last save of --state")
			require.Equal(t, state, read(t, "state"), "the state is as it was last saved")
			require.Equal(t, test.left != "", exists("dir/out"))
			if test.left != "" {
				require.Equal(t, test.left, read(t, "dir/out"))
				require.NoError(t, os.Remove("dir/out"))
			}
			require.NoError(t, os.MkdirAll("dir", 0o777))
			lost := before + after
			if isSaved {
				lost = after
			}
			good(t, before+after, line, "-o", "dir/out")
			require.True(t, lost == read(t, "dir/out"), "another run writes what was lost")
		})
	}
}

// TestOutKeepsAnotherName: a file that has a name is not lost.
func TestOutKeepsAnotherName(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd := command(t, "dedupe -p 1e-9 -n 10k --state state -o out")
	in, _ := start(t, cmd)
	send(t, in, numbers(0, 1000))
	becomes(t, func() bool {
		info, err := os.Stat("out")
		return err == nil && info.Size() > 0
	})
	require.NoError(t, os.Link("out", "other name"))
	require.NoError(t, os.Remove("out"))
	send(t, in, numbers(1000, 2000))
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, numbers(0, 2000), read(t, "other name"))
}

// TestStdoutWithoutName: a program may start bloom with a file that has no name, and reads that.
func TestStdoutWithoutName(t *testing.T) {
	t.Chdir(t.TempDir())
	file, err := os.Create("out")
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, os.Remove("out"))
	cmd := command(t, "dedupe --state state")
	cmd.Stdin = strings.NewReader(numbers(0, 1000))
	cmd.Stdout = file
	require.NoError(t, cmd.Run())
	_, err = file.Seek(0, io.SeekStart)
	require.NoError(t, err)
	out, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, numbers(0, 1000), string(out))
}

// TestAppendsToNoHalfLine: lines that a shell appends to a file are joined to no half line, which a
// killed run may have left there.
func TestAppendsToNoHalfLine(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\nb\n", "build -n 10 -p 1e-9 -o list")
	if _, err := os.Stat("/proc/self/fd/1"); err != nil {
		t.Skip("the command cannot read what a shell opened for writing")
	}
	appends := func(line string) (stderr string, status int) {
		cmd := child(t, "sh", "-c", "exec bloom "+line+" >> out")
		cmd.Stdin = strings.NewReader("a\nb\n")
		var errs strings.Builder
		cmd.Stderr = &errs
		cmd.Run()
		return errs.String(), cmd.ProcessState.ExitCode()
	}
	for line, want := range map[string]int{"dedupe": 1, "dedupe --state s": 1, "check list": 2} {
		write(t, "out", "whole\nha")
		stderr, status := appends(line)
		require.Equal(t, want, status, line)
		requireError(t, stderr,
			"standard output goes to a file that ends with half a line of 2 bytes, and stays as "+
				"it is; to cut that off: truncate -s 6 FILE")
		require.Equal(t, "whole\nha", read(t, "out"), line)
		require.NoFileExists(t, "s")

		require.NoError(t, os.Truncate("out", 6))
		stderr, status = appends(line)
		require.Zero(t, status, "%s: %s", line, stderr)
		require.Equal(t, "whole\na\nb\n", read(t, "out"), line)
		os.Remove("s")
	}
	for _, line := range []string{"check -c list", "check -q list"} { // they write no line
		write(t, "out", "whole\nha")
		stderr, status := appends(line)
		require.Zero(t, status, "%s: %s", line, stderr)
	}
}
