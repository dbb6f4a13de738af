package blocked

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHashHeader: this package's copy of the hash macros is the root's.
// An include across folders would break vendoring and other build systems.
func TestHashHeader(t *testing.T) {
	ours, err := os.ReadFile("hash_amd64.h")
	require.NoError(t, err)
	roots, err := os.ReadFile("../hash_amd64.h")
	require.NoError(t, err)
	require.Equal(t, string(roots), string(ours))
}
