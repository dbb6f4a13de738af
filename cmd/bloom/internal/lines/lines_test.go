package lines

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// TestEnded: what was read when a run is to end is still used. Nobody could read it again
// from a pipe.
func TestEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	bounded(t)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("a line\n", 8*pieceSize/7)), 0o666))
	for range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := &Config{Names: []string{path}, Delim: '\n'}
		batches := 0
		require.NoError(t, Start(ctx, cfg).Each(ctx, nil, nil, func(*Batch) error {
			if batches++; batches == 1 {
				for cfg.Read.Load() <= 3*pieceSize { // the read after the one that made two batches more
					time.Sleep(time.Microsecond)
				}
				cancel()
			}
			return nil
		}))
		require.Greater(t, batches, 2)
	}
}

// closing counts the calls of Close.
type closing struct {
	io.Reader
	closed *int
}

func (c closing) Close() error {
	*c.closed++
	return nil
}

// TestEndedReadsNothing: once a run is to end, no file is opened, and no open one is read.
func TestEndedReadsNothing(t *testing.T) {
	r := newReader(&Config{Delim: '\n'})
	r.openFile = func(string) (io.ReadCloser, error) {
		t.Error("a file is opened")
		return nil, fs.ErrNotExist
	}
	require.False(t, r.readFile(ended(), 0, "list"))
	in := &opened{Reader: iotest.ErrReader(errors.New("it is read")), arrived: new(Arrived)}
	require.Equal(t, errStopped, r.fill(ended(), <-r.free, &source{in: in}))
}

// TestFilesThatCannotBeRead: what was read before an error is delivered. The error wraps the system's
// and names the file, once, each file is closed, and no file after it is opened.
func TestFilesThatCannotBeRead(t *testing.T) {
	bounded(t)
	disk := errors.New("disk error")
	broken := func(text string) io.Reader {
		return io.MultiReader(strings.NewReader(text), iotest.ErrReader(disk))
	}
	missing := &fs.PathError{Op: "open", Path: "in", Err: fs.ErrNotExist}
	for name, test := range map[string]struct {
		in    io.Reader // nil if the file cannot be opened
		lines string
		says  string
	}{
		"missing":         {nil, "", "open in: file does not exist"},
		"another's name":  {iotest.ErrReader(&fs.PathError{Op: "read", Path: "disk", Err: disk}), "", "in: read disk: disk error"},
		"at its begin":    {broken(""), "", "in: disk error"},
		"behind lines":    {broken("a\nb\n"), "a\nb\n", "in: disk error"},
		"behind a half":   {broken("a\nb"), "a\n", "in: disk error"},
		"an archive":      {strings.NewReader("PK\x03\x04 and more\n"), "", "in: it is a zip archive"},
		"a cut gzip":      {strings.NewReader("\x1f\x8b\x08"), "", "in: unexpected EOF"},
		"too much zipped": {strings.NewReader(gzipped(t, strings.Repeat("x", 2<<20))), "", "in: a line has more than 100 times"},
		"good":            {strings.NewReader("a\nb"), "a\nb\n", ""},
		"gzip":            {strings.NewReader(gzipped(t, "a\nb\n")), "a\nb\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			closed := 0
			firsts := 2*workers() + 3 // more than there are batches
			r := newReader(&Config{Delim: '\n', Out: &out})
			r.cfg.Names = append(slices.Repeat([]string{"first"}, firsts), "in")
			if test.says != "" {
				r.cfg.Names = append(r.cfg.Names, "after")
			}
			r.openFile = func(name string) (io.ReadCloser, error) {
				switch {
				case name == "after":
					t.Error("a file after an error is opened")
					return nil, missing
				case name == "first":
					return closing{strings.NewReader("first\n"), &closed}, nil
				case test.in == nil:
					return nil, missing
				}
				return closing{test.in, &closed}, nil
			}
			r.start(t.Context())
			err := r.Each(t.Context(), nil, nil, func(b *Batch) error {
				all := make([]int, len(b.Hashes))
				for i := range all {
					all[i] = i
				}
				b.Keep(all)
				return nil
			})
			require.Equal(t, strings.Repeat("first\n", firsts)+test.lines, out.String())
			if test.says == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.says)
				require.Equal(t, 1, strings.Count(err.Error(), "in: "))
			}
			for range r.queue { // it is closed behind the last file
				t.Error("a batch follows")
			}
			if test.in == nil {
				closed++
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
			require.Equal(t, firsts+1, closed)
		})
	}
}

// TestClosesTheDecoder: a decoder of zstd, which has goroutines, is closed with its file.
func TestClosesTheDecoder(t *testing.T) {
	r := newReader(&Config{Delim: '\n'})
	r.openFile = func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(zstded(t, "a\nb\n"))), nil
	}
	in, err := r.open("in")
	require.NoError(t, err)
	in.shut()
	_, err = io.ReadAll(in)
	require.ErrorIs(t, err, zstd.ErrDecoderClosed)
}

// TestOneLongLine: while a batch has a long line, no other one gets room for such a line. Its memory
// is free once it is written.
func TestOneLongLine(t *testing.T) {
	r := newReader(&Config{Delim: '\n', Out: io.Discard})
	b := <-r.free
	b.Data = make([]byte, longLine+1)
	r.makeRoom(b)
	require.GreaterOrEqual(t, cap(b.Data)-len(b.Data), pieceSize)
	require.Len(t, r.long, 1)
	b.Data = b.Data[:cap(b.Data)]
	r.makeRoom(b) // the same line goes on
	require.Len(t, r.long, 1)
	b.Keep(nil)
	r.out <- b
	close(r.out)
	r.write()
	require.Empty(t, r.long)
	require.Nil(t, b.Data)
	require.Nil(t, b.output)
	require.False(t, b.long)
	require.Len(t, r.free, cap(r.free))
}

// TestAgain: a second pass counts from zero, and the first one's counts stay.
func TestAgain(t *testing.T) {
	first := &Config{Delim: 0, Blank: true, Counts: &Counts{Bad: 3}}
	second := first.Again()
	require.Equal(t, new(Counts), second.Counts)
	require.Equal(t, 3, first.Bad)
	second.Counts = first.Counts
	require.Equal(t, first, second)
}

// pieces keeps what each Write wrote.
type pieces [][]byte

func (p *pieces) Write(data []byte) (int, error) {
	*p = append(*p, bytes.Clone(data))
	return len(data), nil
}

// TestWritesWholeLines: a write ends with a line, unless the line is longer than a write may be.
// So a run that is killed between two writes leaves no half line.
func TestWritesWholeLines(t *testing.T) {
	bounded(t)
	for _, length := range []int{7, 1000, writeSize - 1, writeSize, writeSize + 1} {
		in := strings.Repeat(strings.Repeat("x", length-1)+"\n", 6*writeSize/length+3)
		path := filepath.Join(t.TempDir(), "in")
		require.NoError(t, os.WriteFile(path, []byte(in), 0o666))
		var out pieces
		cfg := &Config{Names: []string{path}, Delim: '\n', Out: &out, Counts: new(Counts)}
		require.NoError(t, Start(t.Context(), cfg).Each(t.Context(), nil, nil, func(b *Batch) error {
			all := make([]int, len(b.Hashes))
			for i := range all {
				all[i] = i
			}
			b.Keep(all)
			return nil
		}))
		require.True(t, in == string(bytes.Join(out, nil)))
		for _, piece := range out {
			require.LessOrEqual(t, len(piece), writeSize)
			if length <= writeSize {
				require.True(t, bytes.HasSuffix(piece, []byte("\n")), "a write ends within a line")
			}
		}
	}
	r := newReader(&Config{Delim: '\n'})
	require.Equal(t, 1, r.piece([]byte("\n"+strings.Repeat("x", writeSize-1)+"\n")))
}
