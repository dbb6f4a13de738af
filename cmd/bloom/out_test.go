package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/cmd/bloom/internal/lines"
	"github.com/seed79a3ff49/bloom/growing"
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
			says := "out ends with half a line..."
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

// TestTailHasItsKeys: the lines that a killed run wrote have the keys that the run made of them: a
// carriage return counts where lines do not end with a newline, or --keep-cr says so.
func TestTailHasItsKeys(t *testing.T) {
	for _, test := range []struct{ flags, end, news string }{
		{"", "\n", ""},
		{" --keep-cr", "\n", "a\n"},
		{" -0", "\x00", "a\x00"},
		{" -0 --keep-cr", "\x00", "a\x00"},
	} {
		t.Chdir(t.TempDir())
		line := "dedupe -p 1e-9 --state state -o out" + test.flags
		good(t, "z"+test.end, line)
		killed := write(t, "out", "z"+test.end+"a\r"+test.end)
		good(t, "a\r"+test.end+"a"+test.end, line)
		require.Equal(t, "z"+test.end+"a\r"+test.end+test.news, read(t, killed), test.flags)
	}
}

// TestRunGoesOnInItsLine: a run that reads again what a killed one read writes only what the killed
// one did not, from within a line on.
func TestRunGoesOnInItsLine(t *testing.T) {
	const line = "dedupe -p 1e-9 --state state -o out"
	in := numbers(0, 40_000) + strings.Repeat("long", pieceOfOut) + "\n" + numbers(40_000, 50_000)
	saved := len(numbers(0, 1000))
	for _, size := range []int{
		saved, saved + 1, saved + 8, saved + 9, saved + 10, len(numbers(0, 40_000)),
		len(numbers(0, 40_000)) + 5, len(numbers(0, 40_000)) + 3*pieceOfOut, len(in) - 1, len(in),
	} {
		t.Chdir(t.TempDir())
		good(t, numbers(0, 1000), line)
		write(t, "out", in[:size])
		good(t, in, line)
		require.True(t, in == read(t, "out"), "killed behind %d bytes", size)
		require.Empty(t, good(t, in, line))
		require.True(t, in == read(t, "out"), "a third run behind %d bytes", size)
	}
	// A run that ends within what was left records as much as it has read. The next one skips the
	// rest.
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
	saying(t, 0, "warning: out has 9 bytes that this run does not write: they stay before its "+
		"lines", "b\nline 2\n", line)
	require.Equal(t, "a\nb\nline 1\nc\nline 2\n", read(t, "out"))
}

// TestCutOffAsAdvised: the error for half a line says how to cut it off, also if the input begins
// like the line, for longer than one write.
func TestCutOffAsAdvised(t *testing.T) {
	t.Chdir(t.TempDir())
	const line = "dedupe --state state -o out"
	long := strings.Repeat("long", 40_000)
	for _, half := range []string{"ha", long + "x"} {
		good(t, "", "dedupe --state state --force")
		write(t, "out", "")
		good(t, "a\n", line)
		write(t, "out", "a\nb\n"+half)
		_, stderr, status := bloomRun(t, "b\n"+long+"y\n", line)
		require.Equal(t, 1, status)
		advice := fmt.Sprintf("out ends with half a line of %d bytes, which this run does not write, "+
			"and stays as it is; to cut it off: truncate -s 4 out\n", len(half))
		require.Contains(t, stderr, advice)
	}
}

// TestBytesOfOthers: a run says how much of OUT neither it nor FILE knows, if it appends to that.
// No later run says it again, and no line of OUT is written twice, whoever wrote it.
func TestBytesOfOthers(t *testing.T) {
	for name, test := range map[string]struct {
		flags, old, left, in string
		bytes                int // of left that the run does not write; 0 is silence
		out                  string
	}{
		"nothing":           {"", "a\n", "", "b\n", 0, "a\nb\n"},
		"another's":         {"", "a\n", "other\n", "b\n", 6, "a\nother\nb\n"},
		"a killed run's":    {"", "a\n", "b\nc\n", "b\nc\nd\n", 0, "a\nb\nc\nd\n"},
		"repeats between":   {"", "a\n", "b\nc\n", "a\nb\na\nb\nc\na\nd\n", 0, "a\nb\nc\nd\n"},
		"both":              {"", "a\n", "b\nother\n", "b\nd\n", 6, "a\nb\nother\nd\n"},
		"nothing to append": {"", "a\n", "b\nother\n", "b\na\n", 0, "a\nb\nother\n"},
		"another order":     {"", "a\n", "b\nc\n", "c\nb\nd\n", 2, "a\nb\nc\nd\n"},
		"the input goes on": {"", "a\n", "b\nc\n", "c\nd\nb\n", 2, "a\nb\nc\nd\n"},
		"blank lines":       {"", "a\n", "\n", "b\n\n", 0, "a\n\nb\n"},
		"blank of others":   {"", "a\n", "x\n\n", "b\n\nc\n", 3, "a\nx\n\nb\nc\n"},
		"within a line":     {"", "a\n", "b\nha", "c\nb\nhalf\n", 0, ""},
		"within its line":   {"", "a\n", "b\nha", "b\nhalf\nc\n", 0, "a\nb\nhalf\nc\n"},
		"the input's end":   {"", "a\n", "b\nhalf", "b\nhalf", 0, "a\nb\nhalf\n"},
		"fields": {" -f 1 --sep ;", "a;1\n", "b;1\nc\n", "b;2\nc;2\nd;2\n", 6,
			"a;1\nb;1\nc\nd;2\n"},
		"fields and tabs": {" -f 2", "1\ta\n", "1\tb\n", "2\tb\n2\tc\n", 4, "1\ta\n1\tb\n2\tc\n"},
		"lines without fields": {" -f 2 --sep ;", "1;a\n", "other\n2;b\n", "3;b\n3;c\n", 10,
			"1;a\nother\n2;b\n3;c\n"},
		"other cases":        {" --fold-case", "a\n", "B\n", "b\nc\n", 2, "a\nB\nc\n"},
		"lines from Windows": {"", "a\n", "b\r\n", "b\nc\n", 3, "a\nb\r\nc\n"},
		"NULs":               {" -z", "a\x00", "b\r\x00", "b\x00b\r\x00", 0, "a\x00b\r\x00b\x00"},
		"a counting filter":  {" -n 10", "a\n", "b\nb\n", "b\nc\n", 2, "a\nb\nb\nc\n"},
		"a window":           {" -n 10 --span 1h", "a\n", "b\nc\n", "c\nd\nb\n", 2, "a\nb\nc\nd\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			line := "dedupe --state state -o out" + test.flags
			if name == "a counting filter" {
				line = "dedupe --state state -o out"
				good(t, "", "build --type counting -n 10 -o state")
			}
			good(t, test.old, line)
			write(t, "out", test.old+test.left)
			switch {
			case test.out == "":
				saying(t, 1, "out ends with half a line of 2 bytes, which this run does not "+
					"write, and stays as it is; to cut it off: truncate -s 4 out", test.in, line)
				require.Equal(t, test.old+test.left, read(t, "out"))
				return
			case test.bytes > 0:
				says := fmt.Sprintf("warning: out has %d bytes that this run does not write: they "+
					"stay before its lines", test.bytes)
				saying(t, 0, says, test.in, line)
			default:
				good(t, test.in, line)
			}
			require.Equal(t, test.out, read(t, "out"))
			good(t, test.in, line)
			require.Equal(t, test.out, read(t, "out"))
			// A run that has appended nothing leaves it to the next one to say so.
			if name == "nothing to append" {
				saying(t, 0, "warning: out has 6 bytes that this run does not write: they stay "+
					"before its lines", "c\n", line)
				require.Equal(t, test.out+"c\n", read(t, "out"))
			}
			const later = "later;1\t2;later\n" // of several fields, by any separator
			good(t, later, line)
			require.Contains(t, read(t, "out"), strings.TrimSuffix(later, "\n"))
		})
	}
}

// badSector is a file with an offset from which nothing can be read.
type badSector struct {
	*os.File
	offset int64
}

func (f *badSector) ReadAt(p []byte, offset int64) (int, error) {
	if offset == f.offset {
		return 0, errBadSector
	}
	return f.File.ReadAt(p, offset)
}

var errBadSector = errors.New("bad sector")

// TestOutThatCannotBeRead: half a line that cannot be read is not continued, and an OUT whose end
// cannot be read is not recorded.
func TestOutThatCannotBeRead(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "out"), "old\nhalf")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	require.NoError(t, err)
	defer file.Close()
	o := &output{path: path, name: "out", delim: '\n', file: &badSector{file, 4}, skipped: 4,
		tail: 8, lineEnd: 4, end: 8}
	_, err = o.Write([]byte("half a line\n"))
	require.ErrorIs(t, err, errBadSector)
	require.Equal(t, "old\nhalf", read(t, path))
	_, err = lastLine(o.file, '\n', 4, 8)
	require.ErrorIs(t, err, errBadSector)
	require.NoError(t, os.Truncate(path, 4))
	o = &output{path: path, name: "out", delim: '\n', file: &badSector{file, 0}, lineEnd: 4, end: 4}
	seen := bloom.Must(bloom.New(10, 0.01))
	require.ErrorIs(t, o.sync(seen), errBadSector)
	require.Empty(t, seen.Info().Meta)
}

// TestTailThatCannotBeRead: a run that fails in the tail of OUT saves no line that it did not write.
func TestTailThatCannotBeRead(t *testing.T) {
	t.Chdir(t.TempDir())
	const line = "dedupe -p 1e-9 --state state -o out"
	good(t, numbers(0, 10), line)
	head := int64(len(numbers(0, 10)))
	write(t, "out", numbers(0, 20_000)) // some pieces
	before := read(t, "state")
	saved, err := load("state")
	require.NoError(t, err)
	cfg := &lines.Config{Names: []string{write(t, "in", numbers(0, 30_000))}, Delim: '\n',
		Blank: true, Counts: new(lines.Counts)}
	d := &deduper{
		seen:  memoryOf(saved.filter.(hashFilter)),
		state: state{file: &target{path: "state"}, every: time.Hour},
	}
	require.NoError(t, d.out.open("out", "state", d.seen.f, '\n'))
	file := d.out.file.(*os.File)
	defer file.Close()
	d.out.file = &badSector{file, head + pieceOfOut}
	require.ErrorIs(t, d.takeTail(cfg), errBadSector)
	d.out.file = file
	require.NoError(t, d.takeTail(cfg))
	require.EqualValues(t, 20_000-10, d.state.unsaved, "lines that the state lacks")
	d.out.file = &badSector{file, head + pieceOfOut}
	d.out.left, err = d.out.tailLines()
	require.NoError(t, err)
	require.ErrorIs(t, d.run(t.Context(), cfg), errBadSector)
	require.True(t, before == read(t, "state"), "the state is as it was")
	good(t, numbers(0, 30_000), line)
	require.True(t, numbers(0, 30_000) == read(t, "out"), "no line is lost")
}

// TestTwoSeparators: the lines of a killed run that read files of two separators are not written
// again.
func TestTwoSeparators(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "tabs", "a\t1\nb\t1\n")
	write(t, "commas", "c,1\nd,1\n")
	const line = "dedupe -f 1 --state state -o out"
	good(t, "a\t1\n", line)
	write(t, "out", "a\t1\nb\t1\nc,1\n")
	good(t, "", line, "tabs", "commas")
	require.Equal(t, "a\t1\nb\t1\nc,1\nd,1\n", read(t, "out"))
	good(t, "b\t2\n", line)
	good(t, "c,2\n", line)
	require.Equal(t, "a\t1\nb\t1\nc,1\nd,1\n", read(t, "out"))
}

// TestForgottenTail: lines that were written before the span of a window are forgotten.
func TestForgottenTail(t *testing.T) {
	for ago, want := range map[time.Duration]string{
		time.Hour: "a\nb\nc\n", 3 * time.Hour: "a\nb\nb\nc\n",
	} {
		t.Chdir(t.TempDir())
		const line = "dedupe -n 10 --span 2h --state state -o out"
		good(t, "a\n", line)
		write(t, "out", "a\nb\n")
		require.NoError(t, os.Chtimes("out", time.Time{}, time.Now().Add(-ago)))
		good(t, "b\nc\nb\n", line)
		require.Equal(t, want, read(t, "out"), ago)
	}
}

// TestFirstSave: a filter that grows is saved as the run goes on with it, before its first line is
// written. If that fails, nothing was written, and after Ctrl-C, all that was read.
func TestFirstSave(t *testing.T) {
	for name, sync := range map[string]func(cancel func()) error{
		"works":       func(func()) error { return nil },
		"fails":       func(func()) error { return errors.New("disk full") },
		"interrupted": func(cancel func()) error { cancel(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cfg := &lines.Config{Names: []string{write(t, "in", numbers(0, 1000))}, Delim: '\n',
				Blank: true, Counts: new(lines.Counts)}
			d := &deduper{
				arrived: arrivals{total: totalSize(cfg.Names), read: &cfg.Read},
				state:   state{file: &target{path: "state"}, every: time.Hour},
			}
			var err error
			d.seen, err = newGrower(1e-9, true, d.arrived.left)
			require.NoError(t, err)
			file, err := os.Create("out")
			require.NoError(t, err)
			defer file.Close()
			syncs := 0
			d.out = output{path: "/out", name: "out", delim: '\n', file: &looking{file, func() error {
				syncs++
				if syncs > 1 {
					require.Equal(t, d.seen.f.Info().N, bloom.Must(growing.LoadFile("state")).Info().N)
					return nil
				}
				require.NoFileExists(t, "state")
				require.Empty(t, read(t, "out"))
				require.NotZero(t, d.seen.f.Info().N, "it is the filter that the run goes on with")
				require.Zero(t, d.seen.f.Stats().ApproxCount)
				return sync(cancel)
			}}}
			err = d.run(ctx, cfg)
			if name == "fails" {
				require.ErrorContains(t, err, "disk full")
				require.NoFileExists(t, "state")
				require.Empty(t, read(t, "out"))
				return
			}
			require.NoError(t, err)
			require.Equal(t, 2, syncs)
			require.Equal(t, numbers(0, 1000), read(t, "out"))
			f := bloom.Must(growing.LoadFile("state"))
			require.InDelta(t, 1000, f.Stats().ApproxCount, 20)
		})
	}
}

// TestOutIsNoLink: an OUT that becomes a link after it was looked at is not followed: it may lead
// to any file.
func TestOutIsNoLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Symlink("victim", "out"); err != nil || runtime.GOOS == "windows" {
		t.Skip(err)
	}
	var o output
	seen := bloom.Must(bloom.New(10, 0.01))
	require.Error(t, o.open("out", "state", seen, '\n'))
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
	look := func(path string) error {
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
	syncDir = func(string) error { return errBadSector }
	seen := bloom.Must(bloom.New(10, 0.01))
	require.ErrorIs(t, new(output).open("outs/other", "states/state", seen, '\n'), errBadSector)
	syncDir = look
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
		_, err = file.WriteString("next\n") // by the next program of a shell's list
		require.NoError(t, err)
		require.Equal(t, want+"next\n", read(t, path))
	}
}
