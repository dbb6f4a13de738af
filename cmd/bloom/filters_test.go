package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/blocked"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/flower"
	"github.com/seed79a3ff49/bloom/window"
)

// addNumbers adds the lines of numbers.
func addNumbers(f bloom.Set, from, to int) {
	for i := from; i < to; i++ {
		f.AddHash(bloom.SumString(fmt.Sprintf("line %d", i)))
	}
}

// guava is the file that build makes for n keys of the lines of numbers.
func guava(t *testing.T, n uint64, p float64, from, to int) string {
	f := bloom.Must(bloom.New(roomFor(n, p), p))
	addNumbers(f, from, to)
	path := filepath.Join(t.TempDir(), "guava")
	f.SetInfo(bloom.Info{N: n, P: p, Hash: "SumString"})
	require.NoError(t, f.SaveFile(path))
	return read(t, path)
}

// TestBuild compares what is built with the library's own filter. Without -n it is made for
// the number of different lines.
func TestBuild(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	in := numbers(0, 3000) + numbers(1000, 5000)
	good(t, in, "build", "-n", "5k", "-p", "0.01", "-o", out)
	require.Equal(t, guava(t, 5000, 0.01, 0, 5000), read(t, out))
	good(t, in, "build", "-p", "0.01", "-o", out)
	require.Equal(t, guava(t, 5000, 0.01, 0, 5000), read(t, out))
	good(t, "", "build", "-o", out)
	require.Equal(t, guava(t, 1, 0.001, 0, 0), read(t, out))
	saying(t, 0, "warning: the filter has more lines than it is made for", in, "build", "-n", "1000", "-o", out)
	requireAlone(t, out)

	good(t, in, "build", "-n", "5k", "-p", "1e-6", "-type", "blocked", "-o", out)
	f := bloom.Must(blocked.New(5000, 1e-6))
	addNumbers(f, 0, 5000)
	require.True(t, f.Equal(bloom.Must(blocked.LoadFile(out))))
}

// TestSample compares the error of the estimate with its standard error, 1.2/sqrt(maxSample/2) at worst.
func TestSample(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, maxSample, maxSample + 1, 300_000, 2_000_000} {
		var s sample
		for range n {
			h := bloom.NewHash(rnd.Uint64(), rnd.Uint64())
			s.add([]bloom.Hash{h})
			if n < 1e6 {
				s.add([]bloom.Hash{h})
			}
		}
		if n <= maxSample {
			require.EqualValues(t, n, s.count())
			continue
		}
		require.InEpsilon(t, n+n/100, s.count(), 4*1.2/181)
	}
}

// TestCheck: every line is in one of check and check -v, in order, all types alike.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	for _, kind := range []string{"guava", "blocked", "growing", "counting", "cuckoo", "dcso"} {
		good(t, numbers(0, 20000), "build", "-n", "21k", "-p", "1e-9", "-type", kind, "-o", list)
		in := numbers(19000, 21000)
		require.Equal(t, numbers(19000, 20000), good(t, in, "check", list), kind)
		require.Equal(t, numbers(20000, 21000), good(t, in, "check", "-v", list), kind)

		good(t, numbers(20000, 20100), "add", list)
		require.Equal(t, numbers(19000, 20100), good(t, in, "check", list), kind)
	}
	requireAlone(t, list)

	_, stderr, status := bloomRun(t, "other\n", "check", list)
	assert.Equal(t, 1, status)
	assert.Empty(t, stderr)
	for _, args := range []string{list + " missing", "missing", dir, "-x " + list, "/dev/null"} {
		saying(t, 2, "", "", append([]string{"check"}, strings.Fields(args)...)...)
	}

	// A filter may be compressed, but nothing is added to it then.
	for _, data := range []string{gzipped(read(t, list)), zstded(read(t, list))} {
		packed := write(t, filepath.Join(t.TempDir(), "packed"), data)
		require.Equal(t, "line 7\n", good(t, "line 7\nline x\n", "check", packed))
		saying(t, 1, "is compressed", "x\n", "add", packed)
		assert.Equal(t, data, read(t, packed))
	}
}

func TestMerge(t *testing.T) {
	dir := t.TempDir()
	a, b, c, out := filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c"), filepath.Join(dir, "out")
	for _, kind := range []string{"guava", "blocked", "counting", "dcso"} {
		build := func(in, out string) {
			good(t, in, "build", "-type", kind, "-n", "3000", "-p", "0.0001", "-o", out)
		}
		build(numbers(0, 1000), a)
		build(numbers(1000, 2000), b)
		build(numbers(2000, 2500), c)
		good(t, "", "merge", "-o", out, a, b, c)
		require.Equal(t, numbers(0, 2500), good(t, numbers(0, 2500), "check", out), kind)
		if kind != "dcso" { // whose number of lines becomes an estimate
			build(numbers(0, 2500), a)
			require.Equal(t, read(t, a), read(t, out), kind)
		}
	}
	require.NoError(t, os.Remove(c))                           // another library's, which only -force replaces
	for path, n := range map[string]uint64{a: 1000, b: 1001} { // of one size
		f := bloom.Must(bloom.NewSize(1<<14, 7))
		f.SetInfo(bloom.Info{N: n, P: 0.01})
		require.NoError(t, f.SaveFile(path))
	}
	good(t, "", "merge", "-o", c, a, b)
	require.Equal(t, bloom.Info{N: 1000, P: 0.01}, bloom.Must(bloom.LoadFile(c)).Info(), "the first one's")
	good(t, "", "build", "-n", "7", "-o", a)
	for _, args := range [][]string{{a, b}, {b, filepath.Join(dir, "missing")}, {out, a}} {
		before := read(t, out)
		saying(t, 1, "", "", append([]string{"merge", "-o", out}, args...)...)
		assert.Equal(t, before, read(t, out))
	}
}

// TestInfo: every type is recognised by its bytes.
func TestInfo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "filter")
	var r report
	info := func() {
		t.Helper()
		r = report{}
		require.NoError(t, json.Unmarshal([]byte(good(t, "", "info", "-json", path)), &r))
		require.Equal(t, path, r.File)
		require.EqualValues(t, len(read(t, path)), r.Size)
		text := good(t, "", "info", path)
		require.Contains(t, text, r.Type)
		require.Contains(t, text, r.Checksum)
		require.NotContains(t, text, " 1 cache lines")
	}
	for kind, name := range map[string]string{"guava": "bloom.Filter", "blocked": "blocked.Filter", "growing": "growing.Filter", "counting": "counting.Filter", "cuckoo": "cuckoo.Filter", "dcso": "DCSO bloom"} {
		good(t, numbers(0, 1000), "build", "-n", "1000", "-p", "0.01", "-type", kind, "-o", path)
		info()
		assert.Equal(t, name, r.Type)
		assert.InEpsilon(t, 1000, r.Keys, 0.1, kind)
		assert.InEpsilon(t, 1000, r.MadeFor, 0.02, kind)
		if kind != "growing" {
			assert.InDelta(t, 0.01, r.Rate, 0.003, kind)
			assert.Greater(t, r.Fill, 0.3, kind)
			assert.Greater(t, r.M, uint64(9000), kind)
		}
		assert.Equal(t, kind != "dcso", r.Checksum == "CRC-32C", kind)
	}
	f := bloom.Must(bloom.NewWithStrategy(bloom.Mitz32, 1000, 0.01))
	java, err := f.MarshalBinary()
	require.NoError(t, err)
	write(t, path, string(java))
	info()
	assert.Equal(t, "bloom.Filter Mitz32 7 none", fmt.Sprint(r.Type, " ", r.Strategy, " ", r.K, " ", r.Checksum))

	require.NoError(t, bloom.Must(window.New(window.Config{N: 100, P: 0.01, Span: 1e15, Generations: 3})).SaveFile(path))
	info()
	assert.Equal(t, "window.Filter", r.Type)
	require.NoError(t, bloom.Must(flower.New(flower.Config{Slots: 64, Ways: 4, Bits: 8})).SaveFile(path))
	info()
	assert.Equal(t, "flower.Filter", r.Type)

	// Of several, the good ones are shown.
	bad := write(t, filepath.Join(dir, "bad"), "BLMX")
	assert.Contains(t, saying(t, 1, bad, "", "info", bad, path), "flower.Filter")
}

// TestFileInfo: what build says of a file stays with it.
func TestFileInfo(t *testing.T) {
	dir := t.TempDir()
	path, other, out := filepath.Join(dir, "filter"), filepath.Join(dir, "other"), filepath.Join(dir, "out")
	said := func(path string) bloom.Info {
		t.Helper()
		loaded, err := bloom.LoadFile(path)
		require.NoError(t, err)
		return loaded.Info()
	}
	want := bloom.Info{N: 6500, P: 0.01, Hash: "SumString", Comment: "numbers\tof 2026"}
	good(t, numbers(0, 1000), "build", "-n", "6500", "-p", "0.01", "-comment", want.Comment, "-o", path)
	require.Equal(t, want, said(path))
	text := good(t, "", "info", path)
	require.Contains(t, text, "made for  6,500 keys at a rate of 0.01\n")
	require.Contains(t, text, "hash      SumString\n")
	require.Contains(t, text, `comment   "numbers\tof 2026"`+"\n")
	require.Contains(t, good(t, "", "info", "-json", path), `"hash":"SumString","comment":"numbers\tof 2026"`)

	good(t, numbers(1000, 2000), "add", path)
	require.Equal(t, want, said(path))
	good(t, numbers(2000, 2010), "dedupe", "-state", path)
	require.Equal(t, want, said(path))
	good(t, numbers(0, 1000), "build", "-n", "6500", "-p", "0.01", "-comment", "others", "-o", other)
	good(t, "", "merge", "-o", out, path, other)
	require.Equal(t, bloom.Info{N: 6500, P: 0.01, Hash: "SumString"}, said(out))
	good(t, "00ff\n", "build", "-hex", "-o", path)
	require.Equal(t, bloom.Info{N: 1, P: 0.001, Hash: "Sum of the bytes given in hexadecimal"}, said(path))
	good(t, "Ab\n", "build", "-fold-case", "-o", path)
	require.Equal(t, "SumString, in small letters", said(path).Hash)
	for _, args := range [][]string{{"-comment", "c", "-type", "dcso", "-n", "9"}, {"-comment", strings.Repeat("c", 4097)}} {
		saying(t, 2, "-comment", "a\n", append([]string{"build", "-o", path}, args...)...)
	}
	saying(t, 2, "it must be UTF-8", "", "bank", "build", "-comment", "\xff", "-o", path, path)
}

// TestFollow: keys are made of lines as the file says, and nobody looks for hexadecimal digits in a
// list of bytes and wonders why nothing is there.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	for _, test := range []struct{ made, in, found string }{
		{"", "ff\nFF\nff\r\n", "ff\nff\r\n"},
		{"-hex", "FF\n0f\nff\r\n", "FF\nff\r\n"},
		{"-fold-case", "FF\n0f\nff\r\n", "FF\nff\r\n"},
		{"-keep-cr", "ff\nff\r\n", "ff\n"},
		{"-fold-case -keep-cr", "FF\nff\r\n", "FF\n"},
	} {
		build := append(strings.Fields("build -type counting -n 100 -p 1e-9 "+test.made), "-o", path)
		good(t, "ff\n", build...)
		made := strings.Fields(test.made)
		require.Equal(t, test.found, good(t, test.in, "check", path))
		require.Equal(t, test.found, good(t, test.in, append(append([]string{"check"}, made...), path)...))
		good(t, strings.SplitAfter(test.found, "\n")[0], "remove", path)
		good(t, "", build...)
		good(t, test.found, "add", path)
		require.Equal(t, test.found, good(t, test.in, "check", path))
		s := newServer(path, lines.Key{})
		s.flags = serveCommand().Flags()
		require.NoError(t, s.load())
		require.True(t, has(t, s, test.found[:2]))
		require.Empty(t, good(t, test.found, "dedupe", "-state", path))
		for _, runs := range []string{"-hex", "-fold-case", "-keep-cr", "-hex=false"} {
			if strings.Contains(test.made+" "+runs, "-fold-case -keep-cr") || runs == test.made || test.made == "" && runs == "-hex=false" || strings.HasPrefix(test.made, "-fold") && runs == "-hex=false" || test.made == "-keep-cr" && runs == "-hex=false" {
				continue
			}
			before := read(t, path)
			for _, command := range []string{"check", "add", "remove", "dedupe -state", "serve"} {
				saying(t, 2, path+" was made with", "ff\n", append(strings.Fields(command), path, runs)...)
			}
			require.Equal(t, before, read(t, path))
		}
	}
	// What a program says in its own words is not about flags.
	f := bloom.Must(bloom.New(1, 0.01))
	f.AddString("ff")
	f.SetInfo(bloom.Info{Hash: "SumString of the host"})
	require.NoError(t, f.SaveFile(path))
	good(t, "ff\n", "check", path)
	good(t, "ff\n", "check", "-fold-case", path)
}

// TestBlankLines: they are left out, as their key is found in half of the full filters. With -blank
// they are lines as others. dedupe knows exactly whether one came.
func TestBlankLines(t *testing.T) {
	dir := t.TempDir()
	path, state := filepath.Join(dir, "list"), filepath.Join(dir, "state")
	found := 0
	for i := range 12 {
		in := numbers(200*i, 200*i+200)
		good(t, "\n"+in+"\r\n\n", "build", "-o", path)
		require.EqualValues(t, 200, bloom.Must(bloom.LoadFile(path)).Info().N)
		require.Empty(t, saying0(t, 1, "\n\r\n", "check", path))
		require.Empty(t, saying0(t, 1, "\n\r\n", "check", "-v", path))
		if out, _, _ := bloomRun(t, "\n", "check", "-blank", path); out != "" {
			found++
		}
		require.Equal(t, "\nx\n", good(t, "\nx\n\r\n"+in, "dedupe", "-state", path), "the first empty line is new")
		require.Empty(t, good(t, in+"\nx\n", "dedupe", "-state", path))
		require.Contains(t, good(t, "", "info", path), blankText)
	}
	require.Greater(t, found, 0, "what the rule is for")
	require.Less(t, found, 12)
	good(t, "a\n\n", "build", "-blank", "-o", path)
	require.Equal(t, "\na\n", good(t, "\na\nb\n", "check", "-blank", path))
	require.Equal(t, "c\n", good(t, "\na\nc\n", "dedupe", "-state", path))
	for _, flags := range []string{"", "-n 100", "-n 100 -span 1h"} {
		os.Remove(state)
		args := append([]string{"dedupe", "-state", state}, strings.Fields(flags)...)
		require.Equal(t, "a\n\nb\n", good(t, "a\n\n\nb\n\n", args...))
		require.Equal(t, "c\n", good(t, "\nc\n", args...))
	}
}

// TestDamage: whatever bit of a file is wrong, no command answers from it.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "filter")
	good(t, "a\n", "build", "-n", "2", "-o", path)
	whole := []byte(read(t, path))
	for _, i := range []int{0, 1, 3, 7, len(whole) - 1} {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x10
		require.NoError(t, os.WriteFile(path, bad, 0o666))
		for _, args := range []string{"check", "info", "add", "serve"} {
			_, stderr, status := bloomRun(t, "a\n", append(strings.Fields(args), path)...)
			require.NotZero(t, status, "byte %d, %s", i, args)
			requireError(t, stderr, path)
		}
		require.Equal(t, string(bad), read(t, path))
	}
}
