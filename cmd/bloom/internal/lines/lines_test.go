package lines

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEnded: what was read when a run is to end is still used. Nobody could read it again
// from a pipe.
func TestEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	defer time.AfterFunc(20*time.Second, func() { panic("it hangs") }).Stop()
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("a line\n", 8*pieceSize/7)), 0o666))
	for range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		cfg := &Config{Names: []string{path}, Delim: '\n'}
		batches := 0
		require.NoError(t, Start(ctx, cfg).Each(ctx, nil, nil, func(*Batch) error {
			if batches++; batches == 1 {
				require.Eventually(t, func() bool { return cfg.Read.Load() > 3*pieceSize }, 20*time.Second, time.Microsecond)
				cancel()
			}
			return nil
		}))
		require.Greater(t, batches, 2)
	}
}
