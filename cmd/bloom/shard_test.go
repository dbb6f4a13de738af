package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
)

// sorted is the set of lines of some outputs.
func sorted(outs ...string) []string {
	lines := slices.Collect(strings.Lines(strings.Join(outs, "")))
	slices.Sort(lines)
	return lines
}

// TestShardOf: files depend on it.
func TestShardOf(t *testing.T) {
	for key, want := range map[string][3]uint64{
		"": {0, 2, 359}, "a": {1, 5, 654}, "https://example.com/": {1, 7, 925},
	} {
		h := bloom.SumString(key)
		assert.Equal(t, want, [3]uint64{shardOf(h, 2), shardOf(h, 8), shardOf(h, 1000)}, key)
	}
}

// TestShards: the outputs of all shards are, together, that of one run, and each line goes to
// one of them.
func TestShards(t *testing.T) {
	in := numbers(0, 30_000) + numbers(10_000, 40_000) + strings.Repeat("same\n", 1000)
	for _, flags := range []string{
		"-p 1e-9", "-n 50k -p 1e-9", "-n 1M --span 1h -p 1e-9", "-p 1e-9 --state S",
		"-n 50k -p 1e-9 --state S",
	} {
		for _, n := range []int{1, 2, 7} {
			var outs []string
			for i := range n {
				t.Chdir(t.TempDir())
				out := good(t, in, fmt.Sprintf("dedupe --shard %d/%d %s", i, n, flags))
				mean := 40_001 / float64(n)
				require.InDelta(t, mean, strings.Count(out, "\n"), 5*math.Sqrt(mean))
				outs = append(outs, out)
			}
			require.True(t, slices.Equal(sorted(distinct(in)), sorted(outs...)), "%s %d", flags, n)
		}
	}
}

// TestShardIsKept: whichever command adds or removes lines, the filter of a shard has the lines of
// its shard, and no others.
func TestShardIsKept(t *testing.T) {
	t.Chdir(t.TempDir())
	in := write(t, "in", numbers(0, 2000))
	none := write(t, "none", "")
	const build = "build --type counting -n 2000 -p 1e-9 --shard 0/2 -o "
	good(t, "", build+"whole", in)
	good(t, "", build+"list", none)
	empty := read(t, "list")
	good(t, "", "add list", in)
	require.True(t, read(t, "whole") == read(t, "list"), "add")
	good(t, "", "remove list", in) // lines of the other shard are not missed
	require.True(t, empty == read(t, "list"), "remove")

	out := good(t, "", "dedupe --shard 0/2 --state list", in)
	require.InDelta(t, 1000, strings.Count(out, "\n"), 150)
	good(t, "", build+"out --force", write(t, "lines", out))
	require.True(t, read(t, "whole") == read(t, "out"), "dedupe")
	saying(t, 2, "list is one of 2 shards, and shard 1/2 is missing", "", "check list")
}

// TestShardMemory: a shard takes its part of the memory, and a little for chance.
func TestShardMemory(t *testing.T) {
	whole := bloom.Must(blocked.New(1e6, 1e-6)).SizeBytes()
	t.Chdir(t.TempDir())
	good(t, "a\n", "dedupe -n 1M --shard 0/8 --state state")
	require.InEpsilon(t, whole/8, bloom.Must(blocked.LoadFile("state")).SizeBytes(), 0.02)
	// with no warning that they are too many
	good(t, numbers(0, 1_000_000), "dedupe -n 1M --shard 1/8")

	good(t, numbers(0, 100_000), "build --shard 3/4 -o list")
	f := bloom.Must(bloom.LoadFile("list"))
	require.InEpsilon(t, 25_000, f.Info().N, 0.05)
	require.InEpsilon(t, 25_000, f.ApproxCount(), 0.05)
}

// TestShardFiles: each line is asked of its own shard's file, and what is no set of all shards
// is refused.
func TestShardFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	in, asked := numbers(0, 10_000), numbers(9_000, 11_000)
	write(t, "words", asked+"one more\n")
	for _, kind := range []string{"guava", "blocked", "growing", "counting"} {
		for i := range 3 {
			good(t, in, fmt.Sprintf("build --type %s -p 1e-9 -n 20k --shard %d/3 -o list%d", kind, i, i))
			good(t, "one more\n", fmt.Sprint("add list", i))
		}
		const files = "list2 list0 list1" // in any order
		require.Equal(t, numbers(9_000, 10_000), good(t, asked, "check "+files), kind)
		require.Equal(t, numbers(10_000, 11_000), good(t, "", "check -v "+files+" words"), kind)
		for files, says := range map[string]string{
			"list2 list1":       "list2 is one of 3 shards, and shard 0/3 is missing",
			"list2 list2 list1": "list2 is shard 2/3, which is given twice...",
			"list2 words list1": "...; the files of all shards come first...",
		} {
			saying(t, 2, says, asked, "check "+files)
		}
	}
	saying(t, 1, "list0 is one of 3 shards, and lacks the lines of the others...", "", "serve list0")
	good(t, in, "build -n 20k --shard 0/3 -o list0")
	good(t, in, "build -n 20k --shard 2/3 -o list2")
	for _, flags := range []string{
		"--shard 1/4", "--hex --shard 1/3", "-f 2 --shard 1/3", "--json a --shard 1/3",
		"--type blocked --shard 1/3", "",
	} {
		good(t, "", "build --force --type guava -o other "+flags)
		saying(t, 2, "other belongs to a different list from list0...", asked, "check list0 other list2")
	}
}

// TestShardState: a state belongs to one shard, and no other run goes on with it.
func TestShardState(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, size := range []string{"", "-n 1000"} {
		for _, test := range []struct{ made, runs, says string }{
			{"--shard 1/4", "--shard 1/4", ""},
			{"--shard 0/1", "", ""},
			{"--shard 1/4", "--shard 2/4", `state was made with --shard "1/4", but --shard is "2/4" now`},
			{"--shard 1/4", "--shard 1/8", `state was made with --shard "1/4", but --shard is "1/8" now`},
			{"--shard 1/4", "", `state was made with --shard "1/4", but --shard is "" now`},
			{"", "--shard 1/4", `state was made with --shard "", but --shard is "1/4" now`},
		} {
			os.Remove("state")
			good(t, "a\nb\nc\n", "dedupe --state state "+test.made+" "+size)
			before := read(t, "state")
			saying(t, min(1, len(test.says)), test.says, "a\nb\nc\n", "dedupe --state state "+test.runs)
			require.True(t, test.says == "" || before == read(t, "state"))
		}
	}
	good(t, "", "dedupe --shard 1048575/1048576")
	for _, bad := range []string{"1/1048577", "8/8", "-1/8", "1", "1/0", "a/b", "1/8/2", "1/2000000"} {
		saying(t, 2, `invalid argument "`+bad+`" for "--shard" flag: "`+bad+
			`" is not a shard, such as 0/8 or 7/8; see bloom help dedupe`, "", "dedupe --shard", bad)
	}
}

// TestStateIsOfOneKindOfKeys: a state records which field of the lines is the key, and other keys
// are refused.
func TestStateIsOfOneKindOfKeys(t *testing.T) {
	const mixed = " now, so its keys would be mixed; --force continues anyway"
	t.Chdir(t.TempDir())
	for _, test := range []struct{ made, runs, says string }{
		{"--hex -f 1", "-f 1", ""},
		{"--hex -f 1", "--skip-bad",
			"-f 1, but there is no -f"},
		{"-f 2", "", "-f 2, but there is no -f"},
		{"-f 2", "-f 1", "-f 2, but there is -f 1"},
		{"", "-f 1", "no -f, but there is -f 1"},
		{"-f 1 --hex", "-f 1 --hex", ""},
		{"", "", ""},
	} {
		for _, size := range []string{"", "-n 1000", "-n 1000 --span 1h"} {
			for _, kept := range []string{"ff,aa\n", "\nff,aa\n"} {
				os.Remove("state")
				bloomRun(t, kept, "dedupe --skip-bad --state state "+test.made+" "+size)
				before := read(t, "state")
				if test.says == "" {
					require.Empty(t, good(t, "ff,aa\n", "dedupe --state state "+test.runs))
					continue
				}
				saying(t, 2, "state was made with "+test.says+mixed, "ff,bb\n",
					"dedupe --state state "+test.runs)
				require.Equal(t, before, read(t, "state"), "%+v", test)
			}
		}
	}
	// Which field of a list was the key does not matter if its values are the lines: --force says
	// so.
	good(t, "1,a\n2,b\n", "build -n 10 -f 2 -o list")
	saying(t, 2, "list was made with -f 2, but there is no -f"+mixed, "a\nc\n", "dedupe --state list")
	require.Equal(t, "c\n", good(t, "a\nc\n", "dedupe --force --state list"))
	require.Equal(t, "field=several", metaOf(t, "list"))
	good(t, "a\nb\n", "build -n 10 -o values")
	saying(t, 2, "values was made with no -f, but there is -f 2"+mixed, "1,a\n3,c\n",
		"dedupe -f 2 --state values")
	require.Equal(t, "3,c\n", good(t, "1,a\n3,c\n", "dedupe --force -f 2 --state values"))
	for _, kind := range []string{"guava", "blocked", "counting"} {
		good(t, "ff\n", "build -n 10 -o a --type", kind)
		good(t, "ff\n", "build -n 10 --hex -o b --type", kind)
		saying(t, 1, "a and b: keys of SumString and keys of Sum of the bytes given in hexadecimal "+
			"do not mix", "", "merge -o a a b")
	}
}

// TestRemove: what was added as often as it is removed is gone, and nothing else is.
func TestRemove(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, kind := range []string{"counting", "cuckoo", "counting -n 1000", "cuckoo -n 1000"} {
		good(t, "a\na\nb\r\n", "build -p 1e-6 -o list --type "+kind)
		good(t, "a\nb\n", "remove list")
		require.Equal(t, "a\n", good(t, "a\nb\n", "check list"))
		saying(t, 0, "warning: 2 lines did not occur in list", "a\nx\ny\n", "remove list")
		saying(t, 0, "warning: 1 line did not occur in list", "a\n", "remove list")
		saying(t, 1, "", "a\n", "check list")
		requireAlone(t, "list")
		good(t, "b\n", "add list")
		require.Equal(t, "b\n", good(t, "a\nb\n", "check list"))
	}
	good(t, "a\n", "build -o guava")
	const fullWith = "the filter is full with ... lines, repeats included; no file was changed"
	for line, says := range map[string]string{
		"add list":                           fullWith,
		"build --type cuckoo -n 100 -o list": fullWith,
		"dedupe --state list": "list is a cuckoo.Filter, to which dedupe cannot add; bloom build " +
			"makes filters of other types",
		"remove guava": "guava is a bloom.Filter: lines can be removed only " +
			"from a counting.Filter or a cuckoo.Filter",
	} {
		before := read(t, "list") + read(t, "guava")
		saying(t, 1, says, numbers(0, 2000), line)
		require.Equal(t, before, read(t, "list")+read(t, "guava"), line)
	}
}

// TestChangesOfAShard: add and remove take the lines of a file's shard only.
func TestChangesOfAShard(t *testing.T) {
	t.Chdir(t.TempDir())
	const build = "build --type counting -p 1e-9 -n 2000 --shard 0/2 -o "
	good(t, numbers(0, 800), build+"built")
	good(t, "", build+"added --force")
	good(t, numbers(0, 800), "add added")
	require.Equal(t, read(t, "built"), read(t, "added"))
	good(t, "", build+"empty --force")
	good(t, numbers(0, 800), "remove added")
	require.Equal(t, read(t, "empty"), read(t, "added"))
}
