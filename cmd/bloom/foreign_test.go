package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
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
	if _, err := os.Stat("../../foreign"); err != nil {
		t.Skip(err) // outside the repository
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "../../foreign/testdata/answers.json")),
		&answers))
	require.NoError(t, json.Unmarshal([]byte(read(t, "../../foreign/testdata/spark-answers.json")),
		&answers))
	path := filepath.Join(t.TempDir(), "filter")
	says := "it begins like a filter of ..., but cannot be read: foreign: invalid format: ... (in " +
		path + ")"
	for _, name := range []string{
		"bits.bin", "bits.json", "bits-little.bin", "bits-std.json", "bits-longer.bin", "willf.bin",
		"dcso.bin", "spark-v1.bin", "spark-v2.bin", "holiman.bin", "holiman.gz",
	} {
		whole := read(t, "../../foreign/testdata/"+name)
		write(t, path, whole)
		require.NotContains(t, good(t, "", "info", path), ".Filter", name)
		if name != "holiman.gz" { // whose size is known of files only
			require.Equal(t, strings.Replace(good(t, "", "info", path), path, "-", 1),
				good(t, whole, "info", "-"), name)
		}
		if strings.HasPrefix(name, "holiman") {
			for _, command := range []string{"check", "add", "serve"} {
				_, stderr, _ := bloomRun(t, "a\n", command, path)
				requireError(t, stderr, path+" holds hashes that only the program that made it "+
					"can compute, so bloom cannot look lines up in it: a Go program can, with "+
					"foreign.NewHoliman")
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
		_, _, status := bloomRun(t, "a\n", "dedupe --state", path)
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
		saying(t, 1, says, "a\n", "add", write(t, path, whole[:len(whole)/2]))
	}
	for _, text := range []string{`{"a":1}`, "\x00\x00\x00"} {
		saying(t, 2, says, "a\n", "check", write(t, path, text))
		saying(t, 1, path+stays, "a\n", "build -o", path)
	}
}

// stays follows the name of a file that no command replaces.
const stays = " is not a filter, and stays as it is; --force replaces it"

// bigEndian returns the big-endian bytes of 32-bit numbers.
func bigEndian(of ...uint32) string {
	var b []byte
	for _, x := range of {
		b = binary.BigEndian.AppendUint32(b, x)
	}
	return string(b)
}

// TestKindByFirstBytes: a filter of Spark and one of bits-and-blooms are told apart, also where the
// large m of the one begins like a version of the other.
func TestKindByFirstBytes(t *testing.T) {
	const minusSeven = 1<<32 - 7
	for _, c := range []struct {
		want string
		head []uint32
	}{
		{"Spark", []uint32{1, 7, 100, 0, 0}},
		{"Spark", []uint32{1, 1, 1, 0, 0}},
		{"Spark", []uint32{1, 5815, 131072, 0, 0}}, // more hashes than package foreign takes
		{"Spark", []uint32{1, 7, 100, 0}},          // the shortest one
		{"Spark", []uint32{2, 1024, 0, 20, 0, 0}},
		{"Spark", []uint32{2, 7, 0, 20, 0, 0}},
		{"Spark", []uint32{2, 7, 0, 20, 2, 8}},
		{"Spark", []uint32{2, 7, minusSeven, 20, 0, 0}},
		{"Spark", []uint32{2, 5815, 0, 131072, 0, 0}},
		{"bits-and-blooms", []uint32{0, 1000, 0, 7, 0, 1000}},
		{"bits-and-blooms", []uint32{1, 0, 0, 7, 1, 0}}, // of 2^32 bits
		{"bits-and-blooms", []uint32{1, 7, 0, 7, 1, 7}},
		{"bits-and-blooms", []uint32{2, 0, 0, 7, 2, 0}},
		{"bits-and-blooms", []uint32{2, 7, 0, 7, 2, 7}},
		{"bits-and-blooms", []uint32{2, 7, 0, 1024, 2, 7}},
		{"bits-and-blooms", []uint32{2, 1025, 0, 20, 0, 0}},
		{"bits-and-blooms", []uint32{2, 7, 0, 7, 7 << 24, 2 << 24}}, // the set is little-endian
		{"bits-and-blooms", []uint32{2, 1025, 0, 7, 2, 1025}},
		{"bits-and-blooms", []uint32{3, 7, 0, 7, 3, 7}},
		{"bloom.Filter", []uint32{1<<24 | 7<<16, 1 << 16, 0, 0}},
		{"bloom.Filter", []uint32{7 << 16, 1 << 16, 0, 0}},
	} {
		k, ok := kindOf([]byte(bigEndian(c.head...)))
		require.True(t, ok, "%d", c.head)
		require.Equal(t, c.want, k.name, "%d", c.head)
	}
}

// TestReplaceSpark: build replaces a filter of Spark, and no other file that begins like one.
func TestReplaceSpark(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, head := range []string{bigEndian(1, 7, 2), bigEndian(2, 7, 0, 2)} {
		words := strings.Repeat("x", 16)
		for _, other := range []string{head + words + "x", head + words[1:]} {
			saying(t, 1, path+stays, "a\n", "build -o", write(t, path, other))
			require.Equal(t, other, read(t, path))
		}
		good(t, "a\n", "build -o", write(t, path, head+words))
	}
}

// TestErrorsOfNoFilter: the error for a file that is not a filter says how it begins and what comes
// first on the command line, or which library's filter it resembles. It names nothing of Go.
func TestErrorsOfNoFilter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "filter")
	for data, names := range map[string]string{
		"PAR1 and more":          path + ` is not a filter: it begins with "PAR1 and"...`,
		gzipped("PAR1 and more"): path + ` is not a filter: it begins with "PAR1 and"...`,
		"\xac\xed\x00\x05 and more": path + " is not a filter: a Java ObjectOutputStream wrote it; " +
			"BloomFilter.writeTo writes a filter...",
		`{"a":1}`: "it begins like a filter of bits-and-blooms, but cannot be read: foreign: " +
			"invalid format: truncated: unexpected EOF (in " + path + ")",
	} {
		write(t, path, data)
		for command, status := range map[string]int{"info": 1, "check": 2, "add": 1, "serve": 1} {
			saying(t, status, names, "a\n", command, path)
		}
	}
	write(t, path, "PAR1 and more")
	order := path + ` is not a filter: it begins with "PAR1 and"` +
		" (the filter comes first, then lines: bloom %s FILE lines.txt)"
	for command, status := range map[string]int{"check": 2, "add": 1, "remove": 1} {
		saying(t, status, fmt.Sprintf(order, command), "a\n", command, path)
	}
	for _, command := range []string{"info", "serve", "merge -o new"} {
		_, stderr, _ := bloomRun(t, "", command, path)
		require.NotContains(t, stderr, "comes first", command)
	}
	for command, status := range map[string]int{
		"check": 2, "add": 1, "info": 1, "serve": 1, "diff -o new missing": 1,
	} {
		saying(t, status, "missing: no such file or directory", "", command, "missing")
	}
}
