//go:build unix && !race

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The race detector takes memory of its own.

// TestLongLine: a line takes its length, once more where its key is no part of it, and no more than
// one line does so at a time.
func TestLongLine(t *testing.T) {
	// a little less than a power of two: the room for a line doubles as it is read
	const size = 16_500_000
	for _, test := range []struct {
		flags       string
		lines, most int // kilobytes
	}{{"", 1, 60_000}, {"--fold-case", 1, 76_000}, {"-f 1", 1, 76_000},
		{"-f 1 --fold-case", 1, 76_000}, {"-f 1 --fold-case", 8, 145_000}} {
		in := ""
		for i := range test.lines {
			in += fmt.Sprint(`"`, i, strings.Repeat(`Ab""`, size/4), "\",1\n")
		}
		cmd := command(t, "dedupe -n 9 "+test.flags,
			write(t, filepath.Join(t.TempDir(), "list"), in), "-")
		cmd.Env = append(os.Environ(), "GOMAXPROCS=8")
		_, out := start(t, cmd)
		_, err := io.CopyN(io.Discard, out, int64(len(in)))
		require.NoError(t, err)
		require.Less(t, peak(t, cmd), test.most, "%+v", test)
		cmd.Process.Kill()
		cmd.Wait()
	}
}
