//go:build unix

package files_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/seed79a3ff49/bloom/internal/files"

	"github.com/stretchr/testify/require"

	"github.com/seed79a3ff49/bloom/internal/filtertest"
)

// TestWritersOfOnePath: no Write takes the new file of another for a dead one. If it did, the
// other's rename would fail.
func TestWritersOfOnePath(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	errs := make([]error, 8)
	filtertest.AtOnce(len(errs), func(i int) {
		for range 100 {
			if errs[i] == nil {
				errs[i] = Write(path, text("content"))
			}
		}
	})
	for _, err := range errs {
		require.NoError(t, err)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "content", string(data))
	require.Equal(t, []string{"f"}, filtertest.Names(t, dir))
}
