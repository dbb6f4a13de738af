package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct{ flags, in, out string }{
		{"-0", "a\x00b\nc\x00a\x00d", "a\x00b\nc\x00d\x00"},
		{"-f 2", "1\ta\tx\n2\tb\tx\n3\ta\ty\n", "1\ta\tx\n2\tb\tx\n"},
		{"-f 2", "1,a\r\n2,\"a\"\n3,\"b,c\"\n4,\"b,c\",x\n5,\"q\"\"q\"\n6,\"q\"\"q\"\n7,\n8,\"\"\n", "1,a\r\n3,\"b,c\"\n5,\"q\"\"q\"\n7,\n"},
		{"-f 1", "a,b\tx\na\ty\na,b\tz\n", "a,b\tx\na\ty\n"}, // tabs, as the first line has one
		{"-f 2 -sep ;", "a;1\nb;1\nc;2\n", "a;1\nc;2\n"},
		{"-f 2 -sep=,", "a\t,1\nb,1\n", "a\t,1\n"},
		{"-fold-case", "Ä\nä\nÖ\nabc\nABC\n\xff\n\xfe\nTITLE\nTitle\n", "Ä\nÖ\nabc\n\xff\n\xfe\nTITLE\n"},
		{"--fold-case -f 1", "A,1\na,2\n", "A,1\n"},
		{"-hex", "ab\nAB\nabab\n cd \nCD\n\n", "ab\nabab\n cd \n\n"},
		{"-hex -f 1 -sep :", "AB:7\nab:8\nac:9\n", "AB:7\nac:9\n"},
	} {
		assert.Equal(t, test.out, good(t, test.in, append([]string{"dedupe"}, strings.Fields(test.flags)...)...), test.flags)
	}
	for _, test := range []struct{ flags, in, out, says string }{
		{"-hex", "ab\nxy\ncd\n", "ab\n", `line 2: "xy" is not`},
		{"-hex", "abc\n", "", `line 1: "abc" is not`},
		{"-f 3", "1,2,3\n4,5,6\n7,8\n", "1,2,3\n4,5,6\n", "line 3: it has only 2 of 3 fields"},
		{"-f 1", "\"a\n", "", `closing " is missing`},
		{"-f 1", "\"a\"b,c\n", "", `goes on after its closing "`},
	} {
		stdout, stderr, status := bloomRun(t, test.in, append([]string{"dedupe"}, strings.Fields(test.flags)...)...)
		assert.Equal(t, 1, status, test.flags)
		assert.Equal(t, test.out, stdout, test.flags)
		requireError(t, stderr, test.says)
	}
	// The line's number is that in its file, however large.
	long := strings.Repeat("00\n", 300_000)
	_, stderr, _ := bloomRun(t, long+"0\n", "dedupe", "-hex", write(t, filepath.Join(t.TempDir(), "x"), long), "-")
	requireError(t, stderr, "standard input: line 300001:")
}

func TestHexKeysAreBytes(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	good(t, "6869\n", "build", "-hex", "-o", list)
	stdout, stderr, status := bloomRun(t, "hi\nho\n", "check", list)
	require.Equal(t, "hi\n0", fmt.Sprint(stdout, status))
	requireError(t, stderr, "warning: "+list+" was made with -hex")
}

func TestCompressed(t *testing.T) {
	in := numbers(0, 100_000) + numbers(0, 10)
	var gz, zs bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write([]byte(in[:1000]))
	w.Close()
	w.Reset(&gz) // members follow each other
	w.Write([]byte(in[1000:]))
	w.Close()
	z, err := zstd.NewWriter(&zs)
	require.NoError(t, err)
	z.Write([]byte(in))
	z.Close()
	want := numbers(0, 100_000)
	for _, packed := range []string{gz.String(), zs.String()} {
		require.True(t, want == good(t, packed, "dedupe", "-p", "1e-9"))
		file := write(t, filepath.Join(t.TempDir(), "packed"), packed)
		require.True(t, want == good(t, "", "dedupe", "-p", "1e-9", file, file))

		stdout, stderr, status := bloomRun(t, packed[:len(packed)-10], "dedupe", "-p", "1e-9")
		assert.Equal(t, 1, status)
		assert.True(t, strings.HasPrefix(want, stdout))
		requireError(t, stderr, "standard input: ")
	}
	// What only begins like one is text.
	for _, in := range []string{"\x28", "\x28\xb5\x2f", "\x1f", "\x28\xb5\x2f\n"} {
		require.Equal(t, strings.TrimSuffix(in, "\n")+"\n", good(t, in, "dedupe"))
	}
}
