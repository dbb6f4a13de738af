package main

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestCheckSkipsMissingFiles: check looks in the files that there are, as grep does, and ends with
// status 2.
func TestCheckSkipsMissingFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "apple\npear\n", "build -o list")
	write(t, "a", "apple\n")
	write(t, "b", "plum\npear\n")
	require.NoError(t, os.Mkdir("folder", 0o777))
	require.Equal(t, "apple\npear\n", saying(t, 2,
		"none: no such file or directory", "", "check list a none b"))
	require.Equal(t, "2\n", saying(t, 2,
		"none: no such file or directory", "", "check -c list a none b"))
	require.Equal(t, "plum\n", saying(t, 2,
		"folder: is a directory", "", "check -v list folder a b"))
	require.Empty(t, saying(t, 0, "none: no such file or directory", "", "check -q list none a"),
		"grep -q found a line, too")
	require.Empty(t, saying(t, 2, "none: no such file or directory", "apple\n", "check list none"),
		"standard input is not read")
	_, stderr, status := bloomRun(t, "", "check list none a nothing")
	require.Equal(t, 2, status)
	require.Equal(t, "bloom: none: no such file or directory\nbloom: nothing: no such file or "+
		"directory\n", stderr)
}

// TestCheckStatus: the status is 2 if a file is missing, whether or not a line was found.
func TestCheckStatus(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -p 1e-9 -o list")
	write(t, "apples", "apple\n")
	write(t, "pears", "pear\n")
	for line, want := range map[string]int{
		"check list apples": 0, "check list pears": 1, "check list gone apples": 2,
		"check list gone pears": 2,
		"check -v list pears":   0, "check -v list apples": 1, "check -v list gone apples": 2,
		"check -c list gone pears": 2, "check -q list gone pears": 2, "check list pears gone": 2,
	} {
		_, stderr, status := bloomRun(t, "", line)
		require.Equal(t, want, status, "%s: %s", line, stderr)
	}
	// No file that can be read is no standard input, and no count.
	for _, flags := range []string{"", " -v", " -c", " -q"} {
		out, _, status := bloomRun(t, "apple\npear\n", "check list gone"+flags)
		require.Equal(t, 2, status, flags)
		require.Empty(t, out, flags)
	}
}

// TestNoOutput: a program that is started with /dev/null as its standard output works, however that
// was opened. Its status is its answer.
func TestNoOutput(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it has no such shell")
	}
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -n 10 -o list")
	write(t, "lines", "apple\n")
	write(t, "others", "pear\n")
	good(t, "", "bank build -n 10 -o bank lines")
	for line, want := range map[string]int{
		"dedupe lines": 0, "dedupe --state s lines": 0, "check list lines": 0, "check list others": 1,
		"check -c list lines": 0, "check -q list others": 1, "info list": 0, "info --json list": 0,
		"plan -n 10": 0,
		"version":    0, "bank info bank": 0, "bank which bank apple": 0, "bank which bank pear": 1,
		"build -n 10 -o - lines": 0, "merge -o - list list": 0,
	} {
		for _, output := range []string{
			"> /dev/null", "1<> /dev/null", "< /dev/null > /dev/null 2>&1", "<&- >&- 2>&-", ">&-",
		} {
			cmd := child(t, "sh", "-c", "exec bloom "+line+" "+output)
			stderr := &bytes.Buffer{}
			cmd.Stderr = stderr
			cmd.Run()
			require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s %s: %s", line, output, stderr)
			require.Empty(t, stderr.String(), "%s %s", line, output)
		}
	}
}

// TestControlCharacters: no text that bloom shows of a file has control characters.
func TestControlCharacters(t *testing.T) {
	t.Chdir(t.TempDir())
	const name = "a\x1b[31m"
	write(t, name, "text")
	_, stderr, _ := bloomRun(t, "", "info", name)
	require.Contains(t, stderr, `a\x1b[31m is not a filter`)
	require.NotContains(t, stderr, "\x1b")
	good(t, "apple\n", "build --force --comment \x1b[31m -n 10 -o", name)
	require.NotContains(t, good(t, "", "info", name), "\x1b")
}

// TestEscaped: what a message shows of a text cannot change what a terminal shows. A newline is how
// the program joins errors.
func TestEscaped(t *testing.T) {
	for text, shown := range map[string]string{
		"":                           "",
		"żółw\u3000'\"\\ \U0001f422": "żółw\u3000'\"\\ \U0001f422",
		"a\nb":                       "a; b",
		"\x1b[31m\r\t\x00\x7f":       `\x1b[31m\r\t\x00\x7f`,
		"a\u009b31m\u0085":           `a\u009b31m\u0085`, // single characters that begin a sequence
		"a\x9b31m\xff":               `a\x9b31m\xff`,
		"txt.\u202efdp":              `txt.\u202efdp`, // turns the direction
		"\ufffd":                     "\ufffd",
	} {
		require.Equal(t, shown, escaped(text))
		if shown == text {
			require.Equal(t, text, printable(text))
		} else {
			require.Equal(t, strconv.Quote(text), printable(text))
		}
	}
}

// TestErrorBesideMissingFile: check says both what it cannot open and what it cannot read.
func TestErrorBesideMissingFile(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a,b\n", "build -f 2 -o list")
	write(t, "in", "c\n")
	stdout, stderr, status := bloomRun(t, "", "check -f 2 list none in")
	require.Equal(t, 2, status)
	require.Empty(t, stdout)
	require.Equal(t, "bloom: none: no such file or directory\n"+
		"bloom: in: line 1: it has only 1 of 2 fields, with ',' between them (--sep)\n", stderr)
}

// TestClosedStdout: a command that needs standard output says that it is closed, before it does
// anything.
func TestClosedStdout(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 10 -o list")
	write(t, "in", "a\n")
	good(t, "", "bank build -n 10 -o bank in")
	closed, err := os.Create("closed")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	defer func(old *os.File) { os.Stdout = old }(os.Stdout)
	os.Stdout = closed
	const says = "standard output is closed"
	const made = says + ": -o FILE writes a file"
	for line, want := range map[string]string{
		"dedupe in": says,
		"dedupe --state state in": says + ", and lines would be lost: > /dev/null drops them, " +
			"-o keeps them",
		"dedupe --state kept -o out in": "",
		"build -n 10 -o - in":           made,
		"build -n 10 -o new in":         "",
		"merge -o - list":               made,
		"diff -o - list list":           made,
		"bank build -n 10 -o - in":      made,
		"check list in":                 says,
		"check -c list in":              says,
		"check -q list in":              "",
		"bank which bank a":             says,
		"info list":                     says,
		"bank info bank":                says,
		"plan -n 10":                    says,
		"version":                       says,
	} {
		err := run(t.Context(), newRoot(), strings.Fields(line))
		if want == "" {
			require.NoError(t, err, line)
		} else {
			require.EqualError(t, err, want, line)
		}
	}
	require.NoFileExists(t, "state")
}

// TestNamesInMessages: the name of a file cannot change what a terminal shows, in any message.
func TestNamesInMessages(t *testing.T) {
	t.Chdir(t.TempDir())
	const name = "a\x1b[31m"
	const shown = `a\x1b[31m`
	good(t, "apple\n", "build --type counting -n 10 -o", name)
	good(t, "apple\n", "build -n 10 -o list")
	write(t, name+".txt", numbers(0, 10))
	for _, test := range []struct {
		line string
		more []string
		says string
	}{
		{"remove", []string{name}, "1 line did not occur in " + shown},
		{"check list", []string{name + ".gone"}, shown + ".gone: no such file"},
		{"bank build -n 1 -o bank", []string{name + ".txt"}, shown + ".txt has about 9 different"},
		{"build --hex --skip-bad -o bad", []string{name + ".txt"}, "first of them is " + shown},
		{"info", []string{name + ".gone", name + ".txt"}, shown + ".gone: no such file"},
	} {
		_, stderr, _ := bloomRun(t, "banana\n", test.line, test.more...)
		require.Contains(t, stderr, test.says, test.line)
		require.NotContains(t, stderr, "\x1b", test.line)
	}
	// A program may have written any text to the Info.
	f := bloom.Must(bloom.LoadFile("list"))
	f.UpdateInfo(func(i *bloom.Info) { i.Hash = "by hand" })
	require.NoError(t, f.SaveFile(name))
	_, stderr, _ := bloomRun(t, "banana\n", "check", name)
	require.Contains(t, stderr, shown+" says that its keys are")
	require.NotContains(t, stderr, "\x1b")
}

// TestFullOutput: each command that writes to standard output ends with status 1, or check with 2,
// and a message if it cannot.
func TestFullOutput(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /dev/full")
	}
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -n 10 -o list")
	good(t, "apple\n", "build -n 10 --type blocked -o blocked")
	write(t, "lines", "apple\n")
	write(t, "others", "banana\n")
	good(t, "", "bank build -n 10 -o bank lines")
	for line, want := range map[string]int{
		"dedupe lines":           1,
		"check list lines":       2,
		"check -c list lines":    2,
		"check -v list others":   2,
		"build -n 10 -o - lines": 1,
		"merge -o - list":        1,
		"diff -o - list list":    1,
		"bank build -o - lines":  1,
		"bank info bank":         1,
		"bank which bank apple":  2,
		"info list":              1,
		"info --json list":       1,
		"info list none":         1,
		"plan -n 10":             1,
		"plan -n 10 --json":      1,
		"version":                1,
		"--version":              1,
		"help":                   1,
		"help check":             1,
		"check -h":               1,
		"completion bash":        1,
	} {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		require.NoError(t, err)
		cmd := command(t, line)
		cmd.Stdout = full
		stderr := &bytes.Buffer{}
		cmd.Stderr = stderr
		cmd.Run()
		full.Close()
		require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s: %s", line, stderr)
		require.Contains(t, stderr.String(), "no space left on device", line)
	}
}
