package collystore_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/stretchr/testify/require"
)

// TestSaveSyncsPages: the new list of pages takes the place of the old one only after it has reached
// the disk. Where the new list is written there is a pipe, which cannot be synced.
func TestSaveSyncsPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "visited.bloom")
	crawl := open(colly.NewCollector(), path)
	require.NoError(t, crawl.Save())
	require.NoError(t, syscall.Mkfifo(path+".pages-new", 0o600))
	require.ErrorIs(t, crawl.Save(), syscall.EINVAL, "nothing was synced")
	info, err := os.Lstat(path + ".pages")
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "the old list is there: %v", info.Mode())
}
