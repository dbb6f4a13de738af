//go:build unix

package lines

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEndlessContext: a context without a Done channel never ends, so Each waits for input that comes
// late.
func TestEndlessContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	go func() {
		in, err := os.OpenFile(path, os.O_WRONLY, 0)
		assert.NoError(t, err)
		time.Sleep(200 * time.Millisecond) // four times as long as Each waits once it has ended
		in.WriteString("a\nb\n")
		in.Close()
	}()
	delivered := 0
	cfg := &Config{Names: []string{path}, Delim: '\n'}
	reader := Start(context.Background(), cfg)
	require.NoError(t, reader.Each(context.Background(), nil, nil, func(b *Batch) error {
		delivered += len(b.Hashes)
		return nil
	}))
	require.Equal(t, 2, delivered)
}
