package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheirs: files of other libraries answer as there, take lines, and are written as there.
func TestFiltersOfOtherLibraries(t *testing.T) {
	answers := map[string]string{}
	data, err := os.ReadFile("../../foreign/testdata/answers.json")
	if err != nil {
		t.Skip(err) // outside the repository
	}
	require.NoError(t, json.Unmarshal(data, &answers))
	require.NoError(t, json.Unmarshal([]byte(read(t, "../../foreign/testdata/spark-answers.json")), &answers))
	path := filepath.Join(t.TempDir(), "filter")
	for _, name := range []string{"bits.bin", "bits.json", "bits-little.bin", "bits-std.json", "bits-longer.bin", "willf.bin", "dcso.bin", "spark-v1.bin", "spark-v2.bin", "holiman.bin", "holiman.gz"} {
		whole := read(t, "../../foreign/testdata/"+name)
		write(t, path, whole)
		require.NotContains(t, good(t, "", "info", path), ".Filter", name)
		if name != "holiman.gz" { // whose size is known of files only
			require.Equal(t, strings.Replace(good(t, "", "info", path), path, "-", 1), good(t, whole, "info", "-"), name)
		}
		if strings.HasPrefix(name, "holiman") {
			for _, command := range []string{"check", "add", "serve"} {
				_, stderr, _ := bloomRun(t, "a\n", command, path)
				requireError(t, stderr, "foreign.NewHoliman")
			}
			continue
		}
		var in, want strings.Builder
		for i, answer := range answers[name] {
			line := strings.Repeat("bloom", i%13) + strconv.Itoa(i) + "\n"
			in.WriteString(line)
			if answer == '1' {
				want.WriteString(line)
			}
		}
		require.Equal(t, want.String(), good(t, in.String(), "check", path), name)
		_, _, status := bloomRun(t, "a\n", "dedupe -state", path)
		require.Equal(t, 1, status, "it is no state")
		first, _, _ := strings.Cut(want.String(), "\n")
		require.True(t, has(t, serverOf(t, path), first))

		require.Equal(t, whole, read(t, path))
		bloomRun(t, "", "add", path)
		require.Equal(t, whole, read(t, path), "%s: with no line more", name)
		bloomRun(t, "one more\n", "add", path)
		require.Equal(t, "one more\n", good(t, "one more\n", "check", path), name)
		require.Equal(t, len(whole), len(read(t, path)))
		requireAlone(t, path)
		if strings.HasSuffix(name, ".json") {
			continue
		}
		saying(t, 1, path, "a\n", "add", write(t, path, whole[:len(whole)/2]))
	}
	for _, text := range []string{`{"a":1}`, "\x00\x00\x00"} {
		saying(t, 2, path, "a\n", "check", write(t, path, text))
		saying(t, 1, "is left as it is", "a\n", "build -o", path)
	}
}

// TestErrorsOfNoFilter: the error for a file that is not a filter says how it begins and what comes
// first on the command line, or which library's filter it resembles. It names nothing of Go.
func TestErrorsOfNoFilter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	for data, names := range map[string]string{
		"PAR1 and more":          `it begins with "PAR1 and" (the filter comes first, then lines: bloom check FILE lines.txt)`,
		gzipped("PAR1 and more"): `it begins with "PAR1 and"`,
		`{"a":1}`:                "begins like a filter of bits-and-blooms, but cannot be read",
	} {
		write(t, path, data)
		for command, status := range map[string]int{"info": 1, "check": 2, "add": 1, "serve": 1} {
			saying(t, status, names, "a\n", command, path)
		}
	}
}

// TestReplaceFile: a file is on the disk before it has its name, and stays as it was after an error.
func TestReplaceFile(t *testing.T) {
	defer func(old func(*os.File) error) { fsync = old }(fsync)
	path := write(t, filepath.Join(t.TempDir(), "file"), "old")
	require.NoError(t, os.Chmod(path, 0o600))
	var synced []string
	fsync = func(file *os.File) error {
		if file.Name() == filepath.Dir(path) {
			require.Equal(t, "new", read(t, path))
			synced = append(synced, "folder")
			return nil
		}
		require.Equal(t, "old", read(t, path))
		require.Equal(t, "new", read(t, file.Name()))
		synced = append(synced, "file")
		return nil
	}
	require.NoError(t, replaceFile(path, bytes.NewReader([]byte("new"))))
	require.Equal(t, []string{"file", "folder"}, synced)
	require.Equal(t, "new", read(t, path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	fsync = func(*os.File) error { return os.ErrDeadlineExceeded }
	require.ErrorIs(t, replaceFile(path, bytes.NewReader([]byte("newer"))), os.ErrDeadlineExceeded)
	require.Equal(t, "new", read(t, path))
	requireAlone(t, path)
}
