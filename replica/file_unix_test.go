//go:build unix

package replica

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Opening a pipe takes until another process writes to it.
func TestPathOfPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	done := make(chan error, 1)
	go func() { done <- New(&FileSource{Path: path}, Config{}).Refresh(context.Background()) }()
	select {
	case err := <-done:
		require.ErrorContains(t, err, path+": not a regular file")
	case <-time.After(time.Minute):
		t.Fatal("Refresh waits for a writer")
	}
}
