//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom"
)

// TestHoldEnds: who gets the lock of a run that ends finds its file gone. A file that was
// there and is removed a moment later would be locked by one, and made anew by another.
func TestHoldEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for range 300 {
		release, err := (&holder{wait: time.Minute}).hold(context.Background(), path)
		require.NoError(t, err)
		file, err := os.Open(beside(path, "bloom-lock"))
		require.NoError(t, err)
		there := make(chan bool)
		go func() {
			for syscall.Flock(int(file.Fd()), syscall.LOCK_EX) != nil {
			}
			there <- exists(beside(path, "bloom-lock"))
		}()
		release()
		require.False(t, <-there)
		require.NoError(t, file.Close())
	}
}

// TestSpoolErrors: a build of lines that it cannot count beforehand fails if what it keeps
// of them meanwhile cannot be written or read.
func TestSpoolErrors(t *testing.T) {
	broken := errors.New("broken disk")
	f := bloom.Must(bloom.New(10, 0.01))
	require.ErrorIs(t, addSpooled(context.Background(), f, iotest.ErrReader(broken)), broken)

	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	require.NoError(t, os.WriteFile(input, []byte(strings.Repeat("a line of the input\nanother\n", 1000)), 0o600))
	// A file may have 4096 bytes: the hashes do not fit, the filter does.
	cmd := exec.Command("sh", "-c", `ulimit -f 8; exec "$0" build -p 0.1 -o "$1" "$2"`, program, filepath.Join(dir, "filter"), input)
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "file too large")
	require.NoFileExists(t, filepath.Join(dir, "filter"))
}
