package fuzz

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVectors gives every function the files that fuzzing starts from.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("../../testdata/vectors/*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, f := range []func([]byte) int{Bloom, Sync, Blocked, Growing, Counting, Cuckoo, Window, Flower, Bank, View, Foreign} {
			f(data)
		}
	}
}
