//go:build !unix && !windows && !386 && !arm

package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMapLarge: Map refuses a file that is too large for memory. The file is sparse.
func TestMapLarge(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "large"))
	require.NoError(t, err)
	defer file.Close()
	for _, size := range []int{maxRead + 1, 1 << 36} {
		require.NoError(t, file.Truncate(int64(size)))
		_, err := Map(file, size)
		require.ErrorContains(t, err, "the limit of systems without memory maps")
	}
}
