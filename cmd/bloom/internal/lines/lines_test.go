package lines

import (
	"bytes"
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
	defer time.AfterFunc(limit, func() { panic("it hangs") }).Stop()
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

// pieces keeps what each Write wrote.
type pieces [][]byte

func (p *pieces) Write(data []byte) (int, error) {
	*p = append(*p, bytes.Clone(data))
	return len(data), nil
}

// TestWritesWholeLines: a write ends with a line, unless the line is longer than a write may be.
// So a run that is killed between two writes leaves no half line.
func TestWritesWholeLines(t *testing.T) {
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
}
