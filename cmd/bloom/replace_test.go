package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoLineReplacesNoFile: after a failed download the old list stays.
func TestNoLineReplacesNoFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "none", "")
	for _, test := range []struct {
		command string // makes list
		inputs  []string
	}{
		{"build -o list", []string{"", "\n\r\n", gzipped("")}},
		{"build -n 10 -o list", []string{"", "\n"}},
		{"build --type cuckoo -n 10 -o list", []string{""}},
		{"build --shard 0/1 -o list", []string{""}},
		{"build --hex --skip-bad -o list", []string{"no hash\n"}},
		{"bank build -n 10 -o list none -", []string{"", "\n"}},
		{"bank build -o list none", []string{""}},
	} {
		for _, in := range test.inputs {
			for _, made := range []string{"build -o list", "bank build -n 1 -o list -"} {
				good(t, "a\n", made+" --force")
				before := read(t, "list")
				says := "bloom: the input has no lines, so list stays as it is; --force replaces it anyway\n"
				if strings.Contains(test.command, "--skip-bad") {
					says = "bloom: warning: left out 1 line (--skip-bad), the first of them is standard " +
						"input: line 1: \"no hash\" is not an even number of hexadecimal digits\n" + says
				}
				_, stderr, status := bloomRun(t, in, test.command)
				require.Equal(t, 1, status, "%s of %q", test.command, in)
				require.Equal(t, says, stderr, "%s of %q", test.command, in)
				require.Equal(t, before, read(t, "list"), "%s of %q", test.command, in)
				requireBeside(t, "list", "none")
			}
			bloomRun(t, in, test.command+" --force")
			require.NotContains(t, read(t, "list"), "a.txt", "%s --force", test.command)
			require.NoError(t, os.Remove("list"))
			_, _, status := bloomRun(t, in, test.command)
			require.Zero(t, status, "%s of %q makes a new file", test.command, in)
		}
	}
	// There is nothing to lose in an empty file.
	write(t, "void", "")
	good(t, "", "build -n 10 -o void")
	// A shard of a few lines may have none of them.
	for _, shard := range []string{"0/2", "1/2"} {
		good(t, "a\n", "build --force -o list")
		good(t, "one line\n", "build -o list --shard", shard)
	}
	// The union of filters without a key is empty, too.
	good(t, "", "build -n 10 -o empty")
	good(t, "a\n", "build --force -n 10 -o list")
	saying(t, 1, "the filters have no lines, so list stays as it is; --force replaces it anyway", "",
		"merge -o list empty empty")
	good(t, "", "merge --force -o list empty empty")
	good(t, "", "merge -o new empty")
	// A state loses nothing by an input without a line.
	good(t, "a\n", "dedupe --state state")
	good(t, "", "dedupe --state state")
	require.Empty(t, good(t, "a\n", "dedupe --state state"))
}

// requireBeside requires that the directory has these files and no other.
func requireBeside(t testing.TB, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	var there []string
	for _, entry := range entries {
		there = append(there, entry.Name())
	}
	require.ElementsMatch(t, names, there)
}

// TestMissingFilesAreNamedAtOnce: a command with several inputs, of which some cannot be read, says
// so before it reads the first.
func TestMissingFilesAreNamedAtOnce(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a", "a\n")
	require.NoError(t, os.Mkdir("folder", 0o777))
	good(t, "a\n", "build --type counting -o list")
	before := read(t, "list")
	for line, status := range map[string]int{
		"dedupe": 1, "dedupe --state s": 1, "dedupe --state s -o out": 1, "build -o list": 1,
		"build -n 10 -o list":              1,
		"bank build -n 10 --force -o list": 1, "add list": 1, "remove list": 1,
	} {
		const says = "nothing was read: none: no such file or directory; folder: is a directory"
		require.Empty(t, saying(t, status, says, "a\n", line+" a none - folder"), line)
		require.Equal(t, before, read(t, "list"), line)
		require.NoFileExists(t, "s", line)
		require.NoFileExists(t, "out", line)
	}
	// Three of them are named, and the others counted.
	const three = "nothing was read: 1: no such file or directory; 2: no such file or directory; " +
		"3: no such file or directory"
	for files, more := range map[string]string{
		"1 2 3": "", "1 2 3 4": "; and 1 more", "1 2 3 4 5": "; and 2 more",
	} {
		saying(t, 1, three+more, "", "dedupe a "+files)
	}
}
