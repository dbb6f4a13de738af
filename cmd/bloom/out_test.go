package main

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestHalfLineOfOthersStays: what another program appended to OUT without a line's end is no
// beginning of a line that the run writes. It is refused, and nothing is lost.
func TestHalfLineOfOthersStays(t *testing.T) {
	const line = "dedupe -p 1e-9 --state state -o out"
	for name, left := range map[string]string{
		"short":                         "x",
		"long":                          strings.Repeat("base64", 60_000),
		"behind a whole line":           "whole\nha",
		"like an old line":              "line 3",
		"like a later line":             "line 1001",
		"like the line but for its end": "line 1000!",
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			good(t, numbers(0, 1000), line)
			write(t, "out", numbers(0, 1000)+left)
			state := read(t, "state")
			says := "out ends with half a line"
			saying(t, 1, says, numbers(900, 1010), line)
			require.True(t, numbers(0, 1000)+left == read(t, "out"), "OUT is as it was")
			require.Equal(t, state, read(t, "state"), "the state is as it was")
			// A run that writes no line has nothing to append.
			good(t, numbers(0, 1000), line)
			require.True(t, numbers(0, 1000)+left == read(t, "out"), "OUT is as it was")
			saying(t, 1, says, numbers(900, 1010), line)
			// The advice of the error helps.
			require.NoError(t, os.Truncate("out", int64(len(numbers(0, 1000)))))
			good(t, numbers(900, 1010), line)
			require.Equal(t, numbers(0, 1010), read(t, "out"))
		})
	}
}

// TestRunGoesOnInItsLine: a run that reads again what a killed one read writes only what the killed
// one did not, from within a line on.
func TestRunGoesOnInItsLine(t *testing.T) {
	const line = "dedupe -p 1e-9 --state state -o out"
	in := numbers(0, 40_000) + strings.Repeat("long", pieceOfOut) + "\n" + numbers(40_000, 50_000)
	saved := len(numbers(0, 1000))
	for _, size := range []int{saved, saved + 1, saved + 8, saved + 9, saved + 10, len(numbers(0, 40_000)), len(numbers(0, 40_000)) + 5, len(numbers(0, 40_000)) + 3*pieceOfOut, len(in) - 1, len(in)} {
		t.Chdir(t.TempDir())
		good(t, numbers(0, 1000), line)
		write(t, "out", in[:size])
		good(t, in, line)
		require.True(t, in == read(t, "out"), "killed behind %d bytes", size)
		require.Empty(t, good(t, in, line))
		require.True(t, in == read(t, "out"), "a third run behind %d bytes", size)
	}
	// A run that ends within what was left records as much as it has read. The next one skips the rest.
	for _, lines := range []int{0, 1000, 1001, 2000, 2999} {
		t.Chdir(t.TempDir())
		good(t, numbers(0, 1000), line)
		write(t, "out", numbers(0, 3000)+"line 3")
		good(t, numbers(0, lines), line)
		require.True(t, numbers(0, 3000)+"line 3" == read(t, "out"), "%d lines", lines)
		good(t, numbers(0, 4000), line)
		require.True(t, numbers(0, 4000) == read(t, "out"), "%d lines", lines)
	}
	// Other lines follow the whole ones that were left.
	t.Chdir(t.TempDir())
	good(t, "a\n", line)
	write(t, "out", "a\nb\nline 1\nc\n")
	good(t, "b\nline 2\n", line)
	require.Equal(t, "a\nb\nline 1\nc\nline 2\n", read(t, "out"))
}

// TestOutIsNoLink: an OUT that becomes a link after it was looked at is not followed: it may lead to
// any file.
func TestOutIsNoLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("victim", "out"); err != nil || runtime.GOOS == "windows" {
		t.Skip(err)
	}
	var o output
	seen := bloom.Must(bloom.New(10, 0.01))
	_, err := o.open("out", "state", seen, '\n')
	require.Error(t, err)
	require.NoFileExists(t, "victim")
}

// TestFolderOfOutBeforeState: a power cut after the first save of the state finds OUT, too.
func TestFolderOfOutBeforeState(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("outs", 0o777))
	require.NoError(t, os.Mkdir("states", 0o777))
	write(t, "in", "a\n")
	folders := 0
	sync := syncDir
	defer func() { syncDir = sync }()
	syncDir = func(path string) error {
		require.Equal(t, filepath.Join("outs", "out"), path)
		folders++
		require.NoFileExists(t, "states/state", "it says that OUT is there")
		require.FileExists(t, path)
		return sync(path)
	}
	run := func() {
		root := newRoot()
		root.SetArgs([]string{"dedupe", "--state", "states/state", "--output", "outs/out", "in"})
		require.NoError(t, root.ExecuteContext(t.Context()))
	}
	run()
	require.Equal(t, 1, folders)
	run()
	require.Equal(t, 1, folders, "OUT was there before")
}

// filling is a file on a disk that fills within a write. beside runs before the write returns.
type filling struct {
	*os.File
	beside func()
}

func (f *filling) Write(p []byte) (int, error) {
	n, err := f.File.Write(p[:len(p)-2])
	f.beside()
	return n, errors.Join(err, errors.New("disk full"))
}

// TestFailedWrite: a write that fails leaves no half line behind, and cuts off nothing that another
// program has appended.
func TestFailedWrite(t *testing.T) {
	for other, want := range map[string]string{"": "one\n", "other\n": "one\nttother\n"} {
		path := filepath.Join(t.TempDir(), "out")
		file, err := os.Create(path)
		require.NoError(t, err)
		defer file.Close()
		o := &output{delim: '\n', file: &filling{file, func() {
			_, err := file.WriteString(other)
			require.NoError(t, err)
		}}}
		_, err = o.Write([]byte("one\nttwo"))
		require.ErrorContains(t, err, "disk full")
		require.True(t, o.failed)
		require.Equal(t, want, read(t, path))
	}
}
