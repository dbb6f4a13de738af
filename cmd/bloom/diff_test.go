package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestPatchMakesFromTo: diff and patch give the bytes of the later file, and small patches for
// small changes.
func TestPatchMakesFromTo(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, numbers(0, 10_000), "build -n 20k --comment old -o old")
	good(t, numbers(0, 10_000)+numbers(50_000, 50_010), "build -n 20k --comment new -o new")
	good(t, "", "diff -o day.patch old new")
	info, err := os.Stat("day.patch")
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(10*10*6+300))
	same := func(want, got, what string) {
		t.Helper()
		require.True(t, want == got, what)
	}
	patch, later, was := read(t, "day.patch"), read(t, "new"), read(t, "old")
	same(patch, good(t, "", "diff -o - old new"), "the patch may go to standard output")
	write(t, "copy", was)
	good(t, "", "patch old day.patch")
	same(later, read(t, "old"), "the patched file is the later one")
	good(t, patch, "patch copy -")
	same(later, read(t, "copy"), "the patch may come from standard input")

	write(t, "packed", gzipped(was))
	same(patch, good(t, was, "diff -o - - new"), "FROM may be standard input")
	same(patch, good(t, "", "diff -o - packed new"), "FROM may be compressed")
	good(t, "", "diff -o day.patch new new")
	good(t, "", "patch new day.patch")
}

// TestPatchWithALongInfo: a patch of a small filter may be many times as long as the filter,
// because it has the Info of the later one.
func TestPatchWithALongInfo(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, comment := range map[string]string{"old": "o", "new": "n"} {
		good(t, name+"\n", "build -n 10 -o", name, "--comment", strings.Repeat(comment, 4096))
		f := bloom.Must(bloom.LoadFile(name))
		f.UpdateInfo(func(i *bloom.Info) { i.Meta = "m=" + strings.Repeat(comment, 4094) })
		require.NoError(t, f.SaveFile(name))
	}
	good(t, "", "diff -o patch old new")
	require.Greater(t, len(read(t, "patch")), 8192)
	good(t, "", "patch old patch")
	require.True(t, read(t, "new") == read(t, "old"))
}

// TestPatchRefuses: a patch that does not fit, and what is no patch, leaves FILE as it was.
func TestPatchRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, numbers(0, 100), "build -n 200 -o old")
	good(t, numbers(0, 110), "build -n 200 -o new")
	good(t, numbers(0, 100), "build -n 20k -o larger")
	good(t, numbers(0, 100), "build --type blocked -o blocked")
	good(t, "", "diff -o good.patch old new")
	patch := read(t, "good.patch")
	write(t, "cut", patch[:len(patch)-1])
	write(t, "changed", patch[:len(patch)/2]+"\x55"+patch[len(patch)/2+1:])
	write(t, "text", "no patch")
	write(t, "empty", "")
	write(t, "packed", gzipped(read(t, "old")))
	before := map[string]string{}
	for _, name := range []string{"old", "new", "larger", "blocked", "packed", "good.patch"} {
		before[name] = read(t, name)
	}
	const other = "was made from a different filter, or has already been applied"
	const damaged = " is not a patch that bloom diff made: bloom: invalid format: "
	for _, test := range []struct {
		line   string
		status int
		says   string
	}{
		{"patch new good.patch", 1, "new was not changed: good.patch " + other},
		{"patch larger good.patch", 1, "larger was not changed: good.patch " + other},
		{"patch old cut", 1, "old was not changed: cut" + damaged +
			"179 bytes, not 180: truncated: unexpected EOF"},
		{"patch old changed", 1, "old was not changed: changed" + damaged +
			"checksum is ..., should be ..."},
		{"patch old text", 1, "old was not changed: text" + damaged +
			`it starts with 6e 6f 20, not with "BLM"`},
		{"patch old empty", 1, "old was not changed: empty" + damaged + "it is empty: EOF"},
		{"patch old new", 1, "old was not changed: new" + damaged +
			"it seems to be a bloom.Filter, not a patch"},
		{"patch old missing", 1, "...no such file..."},
		{"patch old old", 2, "old: it would be both read and written: name another file"},
		{"patch blocked good.patch", 1,
			"blocked is a blocked.Filter: only a bloom.Filter can be patched"},
		{"patch packed good.patch", 1, "packed is compressed; decompress it first"},
		{"patch good.patch old", 1, "good.patch is a patch, not a filter: bloom patch FILE PATCH"},
		{"patch - good.patch", 2, "- is not a file: bloom can change only files"},
		{"patch old", 2, "patch needs the filter's FILE and the PATCH; see bloom help patch"},
		{"diff -o good.patch old larger", 1, "old and larger: bloom: filters differ in " +
			"parameters: m = 3008, k = 10, strategy = Mitz64 and m = 287552, k = 10, strategy = " +
			"Mitz64; build both with the same -n and -p"},
		{"diff -o good.patch old blocked", 1,
			"blocked is a blocked.Filter: only a bloom.Filter can be patched"},
		{"diff -o good.patch old missing", 1, "...no such file..."},
		{"diff -o text old new", 1,
			"text is not a filter, and stays as it is; --force replaces it"},
		{"diff -o old old new", 2, "old: it would be both read and written: name another file"},
		{"diff old new", 2, "diff needs -o FILE; see bloom help diff"},
		{"diff -o x old", 2, "diff needs the filters FROM and TO; see bloom help diff"},
	} {
		saying(t, test.status, test.says, "", test.line)
		for name, was := range before {
			require.True(t, was == read(t, name), "%s changed %s", test.line, name)
		}
	}
	good(t, "", "patch old good.patch")
	require.True(t, before["new"] == read(t, "old"), "the good patch fits after all refusals")
	require.NoFileExists(t, "x")
}

// TestPatchReplacesFile: a patched file has a new one's identity and the old one's mode, and no
// file is left beside it.
func TestPatchReplacesFile(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, numbers(0, 100), "build -n 200 -o list")
	require.NoError(t, os.Chmod("list", 0o640))
	later := bloom.Must(bloom.LoadFile("list"))
	addNumbers(later, 100, 110)
	patch := bloom.Must(bloom.Diff(bloom.Must(bloom.LoadFile("list")), later))
	old, err := os.Stat("list")
	require.NoError(t, err)
	good(t, string(patch), "patch list -")
	requireAlone(t, "list")
	info, err := os.Stat("list")
	require.NoError(t, err)
	require.False(t, os.SameFile(old, info), "FILE is replaced, not written in place")
	require.Equal(t, old.Mode(), info.Mode())
	require.Equal(t, numbers(100, 110), good(t, numbers(100, 110), "check list"))
}

// TestPatchWithLongComment: a patch for a small filter may be longer than the filter, because of
// its comment.
func TestPatchWithLongComment(t *testing.T) {
	t.Chdir(t.TempDir())
	comment := strings.Repeat("x", 4000)
	good(t, numbers(0, 10), "build -n 20 -o old")
	good(t, numbers(0, 11), "build -n 20 -o new --comment", comment)
	good(t, "", "diff -o day.patch old new")
	require.Greater(t, len(read(t, "day.patch")), 4000)
	good(t, "", "patch old day.patch")
	require.True(t, read(t, "new") == read(t, "old"))
}

// TestPatchLongerThanItsFilter: a patch that changes half of the bits is a little longer than a
// filter of more than 64 KiB, and fits.
func TestPatchLongerThanItsFilter(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, "a\n", "build -n 60k -o old")
	good(t, numbers(0, 60_000), "build -n 60k -o new")
	good(t, "", "diff -o patch old new")
	require.Greater(t, len(read(t, "patch")), len(read(t, "old")))
	require.Greater(t, len(read(t, "old")), 1<<16)
	good(t, "", "patch old patch")
	require.True(t, read(t, "new") == read(t, "old"))
}

// TestPatchSkipped: the patch of a day does not fit if the patch of the day before was left out,
// however few lines a day has.
func TestPatchSkipped(t *testing.T) {
	t.Chdir(t.TempDir())
	good(t, numbers(0, 100_000), "build -n 200k -o day0")
	for day := 1; day <= 2; day++ {
		name, before := fmt.Sprint("day", day), fmt.Sprint("day", day-1)
		write(t, name, read(t, before))
		good(t, numbers(100_000*day, 100_000*day+10), "add", name)
		good(t, "", fmt.Sprintf("diff -o patch%d %s %s", day, before, name))
	}
	was := read(t, "day0")
	saying(t, 1, "day0 was not changed: patch2 was made from a different filter, "+
		"or has already been applied",
		"", "patch day0 patch2")
	require.True(t, was == read(t, "day0"))
	good(t, "", "patch day0 patch1")
	good(t, "", "patch day0 patch2")
	require.True(t, read(t, "day2") == read(t, "day0"))
}
