package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct{ flags, in, out string }{
		{"-0", "a\x00b\nc\x00a\x00d", "a\x00b\nc\x00d\x00"},
		{"-f 2", "1\ta\tx\n2\tb\tx\n3\ta\ty\n", "1\ta\tx\n2\tb\tx\n"},
		{"", "a\r\na\n\r\n\na\r\r\n", "a\r\n\r\na\r\r\n"},
		{"--keep-cr", "a\r\na\n\r\n\na\r\n", "a\r\na\n\r\n\n"},
		{"-0", "a\r\x00a\x00a\r\x00", "a\r\x00a\x00"},
		{"--fold-case", "A\r\na\n", "A\r\n"},
		{"--fold-case --keep-cr", "A\r\na\na\r\n", "A\r\na\n"},
		{"-f 2 --keep-cr", "1,a\r\n2,a\n3,a\r\n", "1,a\r\n2,a\n"},
		{"-f 2", "1,a\r\n2,\"a\"\n3,\"b,c\"\n4,\"b,c\",x\n5,\"q\"\"q\"\n6,\"q\"\"q\"\n7,\n8,\"\"\n",
			"1,a\r\n3,\"b,c\"\n5,\"q\"\"q\"\n7,\n"},
		{"-f 2", "\"q\"\"q\",a\"1\n\"q\"\"q\",a\"2\n", "\"q\"\"q\",a\"1\n\"q\"\"q\",a\"2\n"},
		{"-f 1", "a,b\tx\na\ty\na,b\tz\n", "a,b\tx\na\ty\n"}, // tabs, as the first line has one
		{"-f 2 --sep ;", "a;1\nb;1\nc;2\n", "a;1\nc;2\n"},
		{"-f 2 --sep=,", "a\t,1\nb,1\n", "a\t,1\n"},
		{"--fold-case", "Ä\nä\nÖ\nabc\nABC\n\xff\n\xfe\nTITLE\nTitle\n",
			"Ä\nÖ\nabc\n\xff\n\xfe\nTITLE\n"},
		{"--fold-case", "ΟΔΥΣΣΕΥΣ\nοδυσσευς\nοδυσσευσ\nſ\nS\n\u212a\nk\nß\nẞ\nİ\ni\nI\nı\nᏸ\nᏰ\n",
			"ΟΔΥΣΣΕΥΣ\nſ\n\u212a\nß\nİ\ni\nı\nᏸ\n"},
		{"--fold-case -f 1", "A,1\na,2\n", "A,1\n"},
		{"--hex", "ab\nAB\nabab\n cd \nCD\n\n", "ab\nabab\n cd \n\n"},
		{"--hex -f 1 --sep :", "AB:7\nab:8\nac:9\n", "AB:7\nac:9\n"},
		// what is not UTF-8 is not U+FFFD
		{"--fold-case", "\ufffd\n\xef\nA\na\n\ufffd\n", "\ufffd\n\xef\nA\n"},
		{"-f 2", "\tx\na\tx\n", "\tx\n"},
		{`-f 1 --sep \t`, "1\ta\n1\tb\n", "1\ta\n"}, // a byte as Go and C write it
		{`-f 1 --sep \x1f`, "1\x1fa\n1\x1fb\n", "1\x1fa\n"},
		{`-f 1 --sep \`, "1\\a\n1\\b\n", "1\\a\n"},
		{"-z", "a\x00b\x00a", "a\x00b\x00"},
	} {
		assert.Equal(t, test.out, good(t, test.in, "dedupe "+test.flags), test.flags)
	}
	for _, test := range []struct{ flags, in, out, says string }{
		{"--hex", "ab\nxy\ncd\n", "ab\n",
			`standard input: line 2: "xy" is not an even number of hexadecimal digits`},
		{"--hex", "abc\n", "",
			`standard input: line 1: "abc" is not an even number of hexadecimal digits`},
		{"--hex", "00ff:3\n", "",
			`standard input: line 1: "00ff:3" is not an even number of hexadecimal digits; if ` +
				`the digits end at ":", add -f 1 --sep ":"`},
		{"--hex", "00ff\t3\n", "", `standard input: line 1: "00ff\t3" is not an even number of ` +
			`hexadecimal digits; if the digits end at "\t", add -f 1 --sep "\t"`},
		{"--hex", "00f:3\n", "",
			`standard input: line 1: "00f:3" is not an even number of hexadecimal digits`},
		{"--hex -f 1 --sep :", "00ff,3:4\n", "",
			`standard input: line 1: "00ff,3" is not an even number of hexadecimal digits`},
		{"-f 3", "1,2,3\n4,5,6\n7,8\n", "1,2,3\n4,5,6\n",
			"standard input: line 3: it has only 2 of 3 fields, with ',' between them (--sep)"},
		{"-f 1", "\"a\n", "", `standard input: line 1: a field's closing " is missing`},
		{"-f 1", "\"a\"b,c\n", "", `standard input: line 1: a field goes on after its closing "`},
	} {
		assert.Equal(t, test.out, saying(t, 1, test.says, test.in, "dedupe "+test.flags), test.flags)
	}
	saying(t, 2, "-f 0: fields are counted from 1", "a\n", "dedupe -f 0")

	// The line's number is that in its file, however large.
	long := strings.Repeat("00\n", 300_000)
	saying(t, 1, `standard input: line 300001: "0" is not an even number of hexadecimal digits`,
		long+"0\n", "dedupe --hex", write(t, filepath.Join(t.TempDir(), "x"), long), "-")
}

func TestCompressed(t *testing.T) {
	in := numbers(0, 100_000) + numbers(0, 10)
	want := numbers(0, 100_000)
	// members follow each other
	for _, packed := range []string{gzipped(in[:1000]) + gzipped(in[1000:]), zstded(in)} {
		require.True(t, want == good(t, packed, "dedupe -p 1e-9"))
		file := write(t, filepath.Join(t.TempDir(), "packed"), packed)
		require.True(t, want == good(t, "", "dedupe -p 1e-9", file, file))

		assert.True(t, strings.HasPrefix(want,
			saying(t, 1,
				"standard input: unexpected EOF", packed[:len(packed)-10], "dedupe -p 1e-9")))
	}
	// What only begins like one is text.
	for _, in := range []string{"\x28", "\x28\xb5\x2f", "\x1f", "\x28\xb5\x2f\n"} {
		require.Equal(t, strings.TrimSuffix(in, "\n")+"\n", good(t, in, "dedupe"))
	}
}

// TestLineEnds: a list from Windows is the list.
func TestLineEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	const dos, unix = "apple\r\nbanana\r\n", "apple\nbanana\n"
	for _, made := range []string{dos, unix, strings.TrimSuffix(dos, "\r\n"), "\xef\xbb\xbf" + dos} {
		good(t, made, "build -n 100 -p 1e-9 -o list")
		for _, asked := range []string{dos, unix} {
			require.Equal(t, asked, good(t, asked, "check list"))
			require.Empty(t, good(t, asked, "dedupe --state list"))
		}
		good(t, "x\r\n", "add list")
		require.Equal(t, "x\n", good(t, "x\ny\n", "check list"))
	}
}

// TestForeign: what no one can compare line by line is refused by its first bytes.
func TestForeign(t *testing.T) {
	for data, says := range map[string]string{
		"\xfd7zXZ\x00\x00\x04":         "...xz -dc",
		"BZh91AY&SY\x10":               "...bzip2 -dc",
		"PK\x03\x04\x14\x00":           "...unzip -p",
		"7z\xbc\xaf\x27\x1c\x00":       "...7z x -so",
		"\xff\xfea\x00\n\x00":          "...UTF-16...",
		"\xfe\xff\x00a\x00\n":          "...UTF-16...",
		gzipped("\xff\xfea\x00\n\x00"): "...UTF-16...",
		gzipped(gzipped("a\n")):        "...compressed twice",
		"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00a": "...: unpacking it needs more than " +
			"128 MiB of memory: see --long, or unpack it first: zstd -dc --long=31", // its window has 2 GiB
	} {
		for _, file := range []string{"-", write(t, filepath.Join(t.TempDir(), "f"), data)} {
			assert.Empty(t, saying(t, 1, says, data, "dedupe", file), "%q", data)
		}
	}
	for in, out := range map[string]string{
		"\xef\xbb\xbfa\na\n": "a\n", "\xef\xbba\n": "\xef\xbba\n", "\xff\n": "\xff\n",
		"BZh\n": "BZh\n", "P": "P\n",
	} {
		require.Equal(t, out, good(t, in, "dedupe"))
	}
	require.Equal(t, "a\n", good(t, gzipped("\xef\xbb\xbfa\na\n"), "dedupe"))

	// Arguments in the wrong order: the list is not unpacked to know that it is none.
	words := write(t, filepath.Join(t.TempDir(), "words.gz"),
		gzipped(strings.Repeat("a", 1<<20))[:500])
	saying(t, 2, `... is not a filter: it begins with "aaaaaaaa" (the filter comes first, then `+
		`lines: bloom check FILE lines.txt)`, "", "check", words)
}

// TestSkipBad: lines without a key are left out, and counted.
func TestSkipBad(t *testing.T) {
	var in, want strings.Builder
	for i := range 200_000 {
		if i%7 == 3 || i > 199_000 {
			fmt.Fprintf(&in, "no field %d\n", i)
			continue
		}
		fmt.Fprintf(&in, "x,%d\n", i)
		fmt.Fprintf(&want, "x,%d\n", i)
	}
	t.Chdir(t.TempDir())
	write(t, "list", in.String())
	saying(t, 0, "warning: left out 29,428 lines (--skip-bad), the first of them is list: line "+
		"4: it has only 1 of 2 fields, with ',' between them (--sep)", "",
		"build --skip-bad -f 2 -o filter list")
	for _, line := range []string{"dedupe -p 1e-9", "check filter"} {
		const says = "warning: left out 29,428 lines (--skip-bad), the first of them is list: line 4: " +
			"it has only 1 of 2 fields, with ',' between them (--sep)"
		require.True(t, want.String() == saying(t, 0, says, "", line+" --skip-bad -f 2 list"), line)
	}
	require.Equal(t, "ff\n", saying(t, 0, `warning: left out 3 lines (--skip-bad), the first of `+
		`them is standard input: line 1: "x" is not an even number of hexadecimal digits`,
		"x\nff\nxx\nff\ny", "dedupe --hex --skip-bad"))
}

// TestCheckCounts: check -c and -q are like those of grep.
func TestCheckCounts(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "apple\npear\n", "build -o list")
	for _, test := range []struct {
		args, in, want string
		status         int
	}{
		{"-c", "apple\nplum\npear\napple\n", "3\n", 0},
		{"-cv", "apple\nplum\n", "1\n", 0},
		{"-c", "plum\n", "0\n", 1},
		{"-q", "plum\napple\n", "", 0},
		{"-q", "plum\n", "", 1},
		{"-qv", "plum\n", "", 0},
		{"-cq", "plum\n", "", 1},
		{"-q -f 2", "1,apple\n2\n", "", 0},
		{"-c -f 2", "1,apple\n2\n", "", 2},
	} {
		out, _, status := bloomRun(t, test.in, "check list "+test.args)
		require.Equal(t, test.status, status, test.args)
		require.Equal(t, test.want, out, test.args)
	}
	cmd := command(t, "check -q list")
	in, _ := start(t, cmd)
	send(t, in, "apple\n")
	require.NoError(t, cmd.Wait(), "it ends at the first, whatever may come")
}

// TestStreams: - is standard output and input, and never a file of that name.
func TestStreams(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "apple\n", "build -n 64 --comment one -o one")
	require.Equal(t, read(t, "one"), good(t, "apple\n", "build -n 64 --comment one -o -"))
	good(t, "pear\n", "build -n 64 -o two")
	both := good(t, read(t, "one"), "merge -o - - two")
	write(t, "both", both)
	require.Equal(t, "apple\npear\n", good(t, "apple\nplum\npear\n", "check both"))
	require.Contains(t, good(t, both, "info -"), "keys      about 2\n")
	require.Contains(t, good(t, both, "info --json -"), `{"file":"-","type":"bloom.Filter","size":`)
	require.Equal(t, "apple\nplum\n", good(t, "apple\nplum\napple\n", "dedupe --state seen -o -"))
	saying(t, 1, "standard input is not a filter: it is empty", "", "info -")
	saying(t, 2, "standard input is for lines here: the filter must be in a file", "", "check -")
	require.NoFileExists(t, "-")
}

// TestPackedFilter: a compressed filter is read, and no more than it: a small file may unpack
// to any size.
func TestPackedFilter(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, kind := range []string{"guava", "blocked", "growing", "counting"} {
		good(t, "a\n", "build --force -n 100 -o packed --type", kind)
		whole := read(t, "packed")
		write(t, "packed", gzipped(whole))
		require.Equal(t, "a\n", good(t, "a\nb\n", "check packed"), kind)
		for tail, says := range map[string]string{
			"x": "...invalid format: ... (in packed)",
			strings.Repeat("\x00", 64<<20): "packed: it unpacks to more than 100 times the " +
				"compressed bytes so far: unpack it first, with gunzip or zstd -d",
		} {
			write(t, "packed", gzipped(whole+tail))
			saying(t, 2, says, "a\n", "check packed")
		}
	}
}
