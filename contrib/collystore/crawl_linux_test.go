package collystore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/stretchr/testify/require"
)

// TestSaveFollowsNoLink: where another user may write, any name beside the set may lead elsewhere.
// Save writes to no file but its own, and the list of pages is as private as the one before.
func TestSaveFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "visited.bloom")
	precious := filepath.Join(dir, "precious")
	require.NoError(t, os.WriteFile(precious, []byte("precious"), 0o600))
	require.NoError(t, os.Symlink(precious, path+".pages-new"))
	require.NoError(t, os.Symlink(precious, filepath.Join(dir, ".visited.bloom.pages.bloom-tmp-0")))
	crawl := open(colly.NewCollector(), path)
	require.NoError(t, os.Symlink(precious, path+".pages"))
	require.NoError(t, crawl.Save())
	data, err := os.ReadFile(precious)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
	info, err := os.Lstat(path + ".pages")
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}
