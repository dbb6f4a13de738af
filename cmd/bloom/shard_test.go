package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/counting"
	"github.com/seed79a3ff49/bloom/growing"
)

// sorted is the set of lines of some outputs.
func sorted(outs ...string) []string {
	lines := slices.Collect(strings.Lines(strings.Join(outs, "")))
	slices.Sort(lines)
	return lines
}

// TestShardOf: files depend on it.
func TestShardOf(t *testing.T) {
	for key, want := range map[string][3]uint64{"": {0, 2, 359}, "a": {1, 5, 654}, "https://example.com/": {1, 7, 925}} {
		h := bloom.SumString(key)
		assert.Equal(t, want, [3]uint64{shardOf(h, 2), shardOf(h, 8), shardOf(h, 1000)}, key)
	}
}

// TestShards: the outputs of all shards are, together, that of one run, and each line goes to
// one of them.
func TestShards(t *testing.T) {
	in := numbers(0, 30_000) + numbers(10_000, 40_000) + strings.Repeat("same\n", 1000)
	for _, flags := range []string{"-p 1e-9", "-n 50k -p 1e-9", "-n 1M -span 1h -p 1e-9", "-p 1e-9 -state S", "-n 50k -p 1e-9 -state S"} {
		for _, n := range []int{1, 2, 7} {
			var outs []string
			for i := range n {
				state := filepath.Join(t.TempDir(), "state")
				flags := strings.Fields(strings.ReplaceAll(flags, "S", state))
				out := good(t, in, append([]string{"dedupe", "-shard", fmt.Sprintf("%d/%d", i, n)}, flags...)...)
				mean := 40_001 / float64(n)
				require.InDelta(t, mean, strings.Count(out, "\n"), 5*math.Sqrt(mean))
				outs = append(outs, out)
			}
			require.True(t, slices.Equal(sorted(distinct(in)), sorted(outs...)), "%s %d", flags, n)
		}
	}
}

// TestShardMemory: a shard takes its part of the memory, and a little for chance.
func TestShardMemory(t *testing.T) {
	whole := bloom.Must(blocked.New(1e6, 1e-6)).SizeBytes()
	state := filepath.Join(t.TempDir(), "state")
	good(t, "a\n", "dedupe", "-n", "1M", "-shard", "0/8", "-state", state)
	require.InEpsilon(t, whole/8, bloom.Must(blocked.LoadFile(state)).SizeBytes(), 0.02)
	_, stderr, _ := bloomRun(t, numbers(0, 1_000_000), "dedupe", "-n", "1M", "-shard", "1/8")
	require.Empty(t, stderr, "no warning that they are too many")

	list := filepath.Join(t.TempDir(), "list")
	good(t, numbers(0, 100_000), "build", "-shard", "3/4", "-o", list)
	f := bloom.Must(bloom.LoadFile(list))
	require.InEpsilon(t, 25_000, f.Info().N, 0.05)
	require.InEpsilon(t, 25_000, f.ApproxCount(), 0.05)
}

// TestShardRate: a filter of one shard's keys errs as any other with as many, be they asked of
// the shard or of all.
func TestShardRate(t *testing.T) {
	const n, p, asks = 20_000, 0.01, 400_000
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func(of uint64) bloom.Hash {
		for {
			if h := bloom.NewHash(rnd.Uint64(), rnd.Uint64()); of == 1 || shardOf(h, of) == of/2 {
				return h
			}
		}
	}
	for _, f := range []interface {
		bloom.Set
		Stats() bloom.Stats
	}{bloom.Must(bloom.New(n, p)), bloom.Must(blocked.New(n, p)), bloom.Must(counting.New(n, p)), bloom.Must(growing.New(0, p))} {
		for range n {
			f.AddHash(random(8))
		}
		for _, of := range []uint64{8, 1} {
			wrong := 0.0
			for range asks {
				if f.ContainsHash(random(of)) {
					wrong++
				}
			}
			promised := asks * f.Stats().FPR
			require.InDelta(t, promised, wrong, 4*math.Sqrt(promised)+0.02*promised, "%T %d", f, of)
		}
	}
}

// TestShardFiles: each line is asked of its own shard's file, and what is no set of all shards
// is refused.
func TestShardFiles(t *testing.T) {
	dir := t.TempDir()
	in, asked := numbers(0, 10_000), numbers(9_000, 11_000)
	for _, kind := range []string{"guava", "blocked", "growing", "counting"} {
		var files []string
		for i := range 3 {
			file := filepath.Join(dir, fmt.Sprint("list", i))
			good(t, in, "build", "-type", kind, "-p", "1e-9", "-n", "20k", "-shard", fmt.Sprintf("%d/3", i), "-o", file)
			good(t, "one more\n", "add", file)
			files = append([]string{file}, files...) // in any order
		}
		require.Equal(t, numbers(9_000, 10_000), good(t, asked, append([]string{"check"}, files...)...), kind)
		words := write(t, filepath.Join(dir, "words"), asked+"one more\n")
		require.Equal(t, numbers(10_000, 11_000), good(t, "", append(append([]string{"check", "-v"}, files...), words)...), kind)

		for _, test := range []struct {
			files []string
			says  string
		}{
			{files[:2], "shard 0/3 is missing"},
			{[]string{files[0], files[0], files[1]}, "is no other shard of the list"},
			{[]string{files[0], words, files[1]}, "the files of all shards come first"},
		} {
			saying(t, 2, test.says, asked, append([]string{"check"}, test.files...)...)
		}
	}
	saying(t, 1, "is one of 3 shards", "", "serve", filepath.Join(dir, "list0"))
	good(t, in, "build", "-n", "20k", "-shard", "0/3", "-o", filepath.Join(dir, "list0"))
	for _, test := range []struct{ flags, says string }{
		{"-shard 1/4", "is no other shard of the list"},
		{"-hex -shard 1/3", "is no other shard of the list"},
		{"-type blocked -shard 1/3", "is no other shard of the list"},
		{"", "is no other shard of the list"},
	} {
		other := filepath.Join(dir, "other")
		good(t, "", append([]string{"build", "-type", "guava", "-o", other}, strings.Fields(test.flags)...)...)
		good(t, "", "build", "-shard", "0/3", "-o", filepath.Join(dir, "list0"))
		saying(t, 2, test.says, asked, "check", filepath.Join(dir, "list0"), other, filepath.Join(dir, "list2"))
	}
}

// TestShardState: a state is one shard's, and no other run goes on with it.
func TestShardState(t *testing.T) {
	for _, size := range []string{"", "-n 1000"} {
		dir := t.TempDir()
		state := filepath.Join(dir, "state")
		run := func(flags string) (stderr string, status int) {
			_, stderr, status = bloomRun(t, "a\nb\nc\n", append([]string{"dedupe", "-state", state}, strings.Fields(flags)...)...)
			return stderr, status
		}
		for _, test := range []struct{ made, runs, says string }{
			{"-shard 1/4", "-shard 1/4", ""},
			{"-shard 0/1", "", ""},
			{"-shard 1/4", "-shard 2/4", "was made with -shard \"1/4\", and -shard is \"2/4\" now"},
			{"-shard 1/4", "-shard 1/8", "was made with -shard \"1/4\", and -shard is \"1/8\" now"},
			{"-shard 1/4", "", "was made with -shard \"1/4\", and -shard is \"\" now"},
			{"", "-shard 1/4", "was made with -shard \"\", and -shard is \"1/4\" now"},
		} {
			os.Remove(state)
			_, status := run(test.made + " " + size)
			require.Zero(t, status)
			before := read(t, state)
			stderr, status := run(test.runs)
			if test.says == "" {
				require.Zero(t, status, stderr)
				continue
			}
			require.Equal(t, 1, status)
			requireError(t, stderr, test.says)
			require.Equal(t, before, read(t, state))
		}
	}
	for _, bad := range []string{"8/8", "-1/8", "1", "1/0", "a/b", "1/8/2", "1/2000000"} {
		saying(t, 2, "is no shard, such as", "", "dedupe", "-shard", bad)
	}
	saying(t, 2, "dcso", "", "build", "-type", "dcso", "-n", "9", "-shard", "1/2", "-o", filepath.Join(t.TempDir(), "x"))
}

// TestStateKeys: a state of any type knows which keys it has.
func TestStateKeys(t *testing.T) {
	for _, test := range []struct{ made, runs, says string }{
		{"-hex -f 1", "-f 1", ""},
		{"-hex -f 1", "-skip-bad", "was made with -f 1, and -f is 0 now (0: it is missing)"},
		{"-f 2", "", "was made with -f 2, and -f is 0 now (0: it is missing)"},
		{"-f 2", "-f 1", "was made with -f 2, and -f is 1 now (0: it is missing)"},
		{"-f 1 -hex", "-f 1 -hex", ""},
		{"", "", ""},
	} {
		for _, size := range []string{"", "-n 1000", "-n 1000 -span 1h"} {
			state := filepath.Join(t.TempDir(), "state")
			args := func(flags string) []string {
				return append([]string{"dedupe", "-state", state}, strings.Fields(flags)...)
			}
			good(t, "ff,aa\n", args(strings.TrimPrefix(test.made+" "+size, " "))...)
			_, stderr, _ := bloomRun(t, "ff,aa\n", args(test.runs)...)
			if test.says == "" {
				require.Empty(t, stderr)
			} else {
				require.Contains(t, stderr, "bloom: warning: "+state+" "+test.says+"\n")
			}
		}
	}
	// And merge refuses to mix them.
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, kind := range []string{"guava", "blocked", "counting"} {
		good(t, "ff\n", "build", "-type", kind, "-n", "10", "-o", a)
		good(t, "ff\n", "build", "-type", kind, "-n", "10", "-hex", "-o", b)
		saying(t, 1, "do not mix", "", "merge", "-o", a, a, b)
	}
}

// TestRemove: what was added as often as it is removed is gone, and nothing else is.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	for _, kind := range []string{"counting", "cuckoo"} {
		for _, n := range []string{"", "-n 1000"} {
			good(t, "a\na\nb\r\n", append(strings.Fields("build -p 1e-6 -type "+kind+" "+n), "-o", path)...)
			good(t, "a\nb\n", "remove", path)
			require.Equal(t, "a\n", good(t, "a\nb\n", "check", path))
			saying(t, 0, "2 lines did not occur in "+path, "a\nx\ny\n", "remove", path)
			saying(t, 0, "1 line did not occur in "+path, "a\n", "remove", path)
			saying0(t, 1, "a\n", "check", path)
			requireAlone(t, path)
			good(t, "b\n", "add", path)
			require.Equal(t, "b\n", good(t, "a\nb\n", "check", path))
		}
	}
	// A full one says so, and stays as it was.
	before := read(t, path)
	saying(t, 1, "the filter is full with", numbers(0, 2000), "add", path)
	require.Equal(t, before, read(t, path))
	saying(t, 1, "the filter is full with", numbers(0, 2000), "build", "-type", "cuckoo", "-n", "100", "-o", path)
	require.Equal(t, before, read(t, path))
	saying(t, 1, "cannot remember what comes", "a\n", "dedupe", "-state", path)

	good(t, "a\n", "build", "-o", path)
	before = read(t, path)
	saying(t, 1, "is a bloom.Filter: lines can be removed from a counting.Filter or a cuckoo.Filter only", "a\n", "remove", path)
	require.Equal(t, before, read(t, path))
}
