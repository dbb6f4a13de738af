package main

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "plan.svg")
	out := good(t, "", "plan", "-n", "1e9", "-p", "0.001", "-svg", svg)
	require.Contains(t, out, "1,000,000,000 keys, 0.001 of others reported")
	require.Regexp(t, `(?m)^bloom.Filter +14\.4 +1\.8 GB +10 `, out)
	require.Regexp(t, `(?m)^blocked.Filter +16\.[89] +2\.1 GB +8 +1 line`, out)
	for _, name := range []string{"growing", "counting", "window", "flower"} {
		require.Regexp(t, `(?m)^`+name+`.Filter +\d+\.\d +\d\.\d GB +\d+ +\S`, out)
	}
	picture := read(t, svg)
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else {
			require.NoError(t, err)
		}
	}
	require.Contains(t, picture, "prefers-color-scheme: dark")
	for _, p := range []string{"0.5", "1e-15"} {
		require.NotContains(t, good(t, "", "plan", "-n", "1", "-p", p, "-svg", svg), "1 lines")
		require.NotContains(t, read(t, svg), "NaN")
	}
}

// TestBench: a filter keeps its promise, and lines that are not in it are noticed.
func TestBench(t *testing.T) {
	dir := t.TempDir()
	list, in := filepath.Join(dir, "list"), write(t, filepath.Join(dir, "in"), numbers(0, 20000))
	for _, kind := range []string{"guava", "blocked", "growing", "counting", "dcso"} {
		good(t, "", "build", "-p", "0.01", "-type", kind, "-o", list, in)
		out := good(t, "", "bench", "-n", "200k", list, in)
		require.Regexp(t, `lines +20,000 found, 0 missing\nothers +200,000 looked up, [\d,]+ reported: a rate of \S+\npromised +a rate of \S+: [\d,]+ reported, and at most [\d,]+\nverdict +the promise is true`, out, kind)
		require.NotContains(t, good(t, "", "bench", "-n", "100k", list), "found")
		for n, count := range map[string]int{"53": 53, "300": 300} { // double hashing costs most in the first
			good(t, numbers(0, count), "build", "-n", n, "-p", "0.01", "-type", kind, "-o", list+n)
			good(t, "", "bench", "-n", "1M", list+n)
		}
	}
	write(t, in, numbers(19000, 21000))
	require.Regexp(t, `lines +1,0\d\d found, 9\d\d missing`, saying(t, 1, "the filter lacks ", "", "bench", "-n", "100k", list, in))
}

// TestJSON holds the names that programs read.
func TestJSON(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	good(t, numbers(0, 1000), "build", "-n", "1000", "-p", "1%", "-o", list)
	readme := read(t, "README.md")
	names := func(line string) []string {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), line)
		for name := range object {
			require.Contains(t, readme, "`"+name+"`", "what version 1 keeps")
		}
		return slices.Sorted(maps.Keys(object))
	}
	plans := strings.Split(strings.TrimSuffix(good(t, "", "plan", "-n", "1,000,000", "-json"), "\n"), "\n")
	require.Len(t, plans, len(designs))
	require.Equal(t, []string{"bits_per_key", "k", "keys", "note", "rate", "reads", "size", "type"}, names(plans[0]))
	require.Contains(t, plans[0], `"type":"bloom.Filter","keys":1000000,"rate":0.001,`)
	require.Equal(t, []string{"keys", "note", "rate", "type"}, names(strings.Split(good(t, "", "plan", "-n", "1", "-p", "1e-15", "-json"), "\n")[2]))
	require.Equal(t, []string{"expected", "file", "found", "lookups", "made_at", "made_for", "measured", "missing", "most", "nanoseconds", "rate", "reported", "true"},
		names(good(t, numbers(0, 10), "bench", "-json", "-n", "1000", list, "-")))
	require.Equal(t, []string{"checksum", "file", "fill", "hash", "k", "keys", "m", "made_at", "made_for", "rate", "size", "strategy", "type"},
		names(good(t, "", "info", "-json", list)))
}
