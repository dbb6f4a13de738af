package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNever: the filter reports every line of its input and no name, with -n and without it, also
// where names, fields, shards and ways of making keys meet, and it is a plain filter.
func TestNever(t *testing.T) {
	t.Chdir(t.TempDir())
	in := numbers(0, 2000)
	write(t, "in", in)
	names := numbers(10_000, 10_100) + numbers(10_000, 10_100) + "\n" // each twice, and a blank one
	write(t, "names", names)
	good(t, in, "build -p 0.01 -o plain")
	plain := lineCount(good(t, names, "check plain", "--"))
	require.Positive(t, plain, "the plain filter reports names, so that these tests see something")
	for _, flags := range []string{"", "-n 2000", "-n 2k --comment text", "--blank"} {
		good(t, in, "build --force -p 0.02 -o list --never names "+flags)
		require.Empty(t, goodOrNone(t, numbers(10_000, 10_100), "check list"), flags)
		require.Equal(t, in, good(t, in, "check list"), flags)
		info := good(t, "", "info list")
		want := "100"
		if flags == "--blank" {
			want = "101"
		}
		require.Contains(t, info, "never     none of "+want+" given names is reported\n")
		require.Contains(t, info, "made for  2,000 keys at a rate of 0.02\n")
		require.Contains(t, good(t, "", "info --json list"), `"never":`+want+`,`)
	}
	// What is counted of the names is not counted of the input.
	before := read(t, "list")
	saying(t, 1, "the input has no lines, so list stays as it is; --force replaces it anyway", "",
		"build -o list --never names")
	require.Equal(t, before, read(t, "list"))
	good(t, in, "build --force --blank -p 0.02 -o list --never names")
	require.NotContains(t, metaOf(t, "list"), "blank", "the blank line is a name")
	write(t, "bad", "1,y\nname\n")
	saying(t, 0, "warning: left out 1 line (--skip-bad), the first of them is bad: line 2: it "+
		"has only 1 of 2 fields, with ',' between them (--sep)", "1,x\n",
		"build --force --skip-bad -f 2 -o list --never bad")
	write(t, "one", "name\n")
	saying(t, 0, "warning: the filter has about ... lines, more than it was made for: "+
		"other lines are reported at a rate of ...", in,
		"build --force -n 1000 -p 0.02 -o list --never one")
	// Lines are keys as the input's are.
	write(t, "upper", strings.ToUpper("a1,x\na2,x\na3,y\n"))
	good(t, "b,x\n", "build --force --fold-case -f 1 -p 0.5 -o list --never upper")
	require.Empty(t, goodOrNone(t, "a1,q\na2,q\na3,q\n", "check -f 1 list"))
	saying(t, 1, `"A2,X" is in the input and in upper: a filter reports every line that it has`,
		"a2,z\n", "build --force --fold-case -f 2 -f 1 -p 0.5 -o list --never upper")
	for i := range 3 { // the names of a shard
		good(t, in, fmt.Sprintf("build --force -p 0.01 -o list%d --shard %d/3 --never names", i, i))
	}
	require.Empty(t, goodOrNone(t, names, "check list0 list1 list2"))
	require.Equal(t, in, good(t, in, "check list0 list1 list2"))
}

// goodOrNone is like good, for check, which may find no line.
func goodOrNone(t *testing.T, stdin, line string) string {
	t.Helper()
	stdout, stderr, status := bloomRun(t, stdin, line)
	require.Empty(t, stderr)
	require.Less(t, status, 2)
	return stdout
}

func lineCount(s string) int { return strings.Count(s, "\n") }

// TestNeverRefused: what cannot be kept is an error, before a file is changed.
func TestNeverRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "names", numbers(0, 1000))
	write(t, "one", "line 7\nx\n")
	write(t, "two", "line 7\nx\nline 9\n")
	for _, test := range []struct {
		status      int
		line, says  string
		spellsInput bool
	}{
		{1, "--never one", `"line 7" is in the input and in one: ` +
			"a filter reports every line that it has", true},
		{1, "-n 100 --never one",
			`"line 7" is in the input and in one: a filter reports every line that it has`, true},
		{1, "--never two", `"line 7" is in the input and in two (and 1 more line): a filter ` +
			`reports every line that it has`, true},
		{1, "-p 1e-9 --never names", `"line 0" is in the input and in names ` +
			`(and 19 more lines): a filter reports every line that it has`, true},
		{2, "-p 0.01 --never names", "names has 1,000 names, of which a filter at a rate of 0.01 " +
			"reports 10: -p 0.003 is low enough", false},
		{2, "--never -",
			"--never -: the names are read twice, so they must be in a regular file", false},
		{2, "--never /dev/null", "--never /dev/null: the names are read twice, so they must be " +
			"in a regular file", false},
		{1, "--never none", "none: no such file or directory", false},
		{2, "--never names --type blocked", "--never needs --type guava: a larger filter of " +
			"another type reports mostly the same lines, or changes its size later", false},
		{2, "--never names --type growing", "--never needs --type guava: a larger filter of " +
			"another type reports mostly the same lines, or changes its size later", false},
		{2, "--never names --type counting", "--never needs --type guava: a larger filter of " +
			"another type reports mostly the same lines, or changes its size later", false},
		{2, "--never names --type cuckoo", "--never needs --type guava: a larger filter of " +
			"another type reports mostly the same lines, or changes its size later", false},
		{1, "--never names -f 2",
			"names: line 1: it has only 1 of 2 fields, with ',' between them (--sep)", false},
	} {
		in := "a,b\n"
		if test.spellsInput {
			in = numbers(0, 20)
		}
		saying(t, test.status, test.says, in, "build -o list "+test.line)
		require.False(t, exists("list"), test.line)
	}
	saying(t, 1, `"line 7" is in the input and in one: a filter reports every line that it has`,
		"line 7\nline 7\n", "build -o list --never one")
	good(t, "a,b\n", "build -p 0.003 -o list --never names") // the advice above
	good(t, "a,b\n", "build --force -o list -f 2 --skip-bad --never", write(t, "bad", "x,y\n"))
}

// TestNeverAdvisesARate: the rate that the error gives is low enough, and not much too low.
func TestNeverAdvisesARate(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, names := range []int{400, 700, 1000, 1015} {
		write(t, "names", numbers(0, names))
		_, stderr, status := bloomRun(t, "a\n", "build -p 0.01 -o list --never names")
		require.Equal(t, 2, status)
		_, advice, _ := strings.Cut(stderr, ": -p ")
		advice, _, _ = strings.Cut(advice, " is low enough")
		rate, err := strconv.ParseFloat(advice, 64)
		require.NoError(t, err, stderr)
		require.Greater(t, rate*float64(names), 2.5, stderr)
		good(t, "a\n", "build --force -o list --never names -p", advice)
	}
}

// TestNeverEnds: whatever adds lines to such a filter says that it may report names, and info does
// not say any more that it reports none.
func TestNeverEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "names", "x\ny\n")
	const build = "build --force -n 1000 -o list --never names"
	const says = "warning: list was made to report none of 2 names (--never), but may report " +
		"some now"
	good(t, "b\n", "build -n 1000 -o other")
	for _, line := range []string{
		"add list", "dedupe --state list", "merge -o list list other", "merge -o list other list",
		"merge -o list list list list",
	} {
		good(t, "a\n", build)
		before := good(t, "", "info list")
		require.Contains(t, before, "none of 2 given names is reported", line)
		saying(t, 0, says, "c\n", line)
		assert.NotContains(t, good(t, "", "info list"), "given name", line)
		assert.NotContains(t, good(t, "", "info --json list"), `"never"`, line)
		if !strings.HasPrefix(line, "merge") { // it is said once
			good(t, "d\n", line)
		}
	}
	good(t, "a\n", build)
	good(t, "", "build -n 10 -o small")
	saying(t, 1, "list and small: bloom: filters differ in m: ... and ...; build both with "+
		"the same --type, -n and -p", "",
		"merge -o new list small") // there is no union that reports more
	// A patch makes of it what the later filter is.
	good(t, "a\n", build)
	good(t, "a\nb\n", "build --force -n 1000 -o plain")
	good(t, "a\nb\n", "build --force -n 1000 -o later --never names")
	good(t, "", "diff -o to-plain list plain")
	good(t, "", "diff -o to-later list later")
	good(t, "", "diff -o from-plain plain list")
	good(t, "", "merge -o copy list")
	require.Contains(t, good(t, "", "info copy"), "none of 2 given names", "the union of one file")
	good(t, "", "patch copy to-later")
	require.Contains(t, good(t, "", "info copy"), "none of 2 given names")
	saying(t, 0, says, "", "patch list to-plain")
	require.NotContains(t, good(t, "", "info list"), "given name")
	good(t, "", "patch plain from-plain")
	require.Contains(t, good(t, "", "info plain"), "none of 2 given names")
}
