package bloombenthos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// While the disk is full, no message is dropped, and the log says that ids are not on disk. The
// file stays as it was. When there is room again, the next save has all ids.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	path, log := filepath.Join(dir, "ids"), filepath.Join(dir, "log")
	conf := strings.Replace(dedupe, "level: OFF", "level: WARN\n  file: {path: "+log+"}", 1) +
		fmt.Sprintf("bloom: {capacity: 100000, span: 1h, save_every: 50ms, path: %s}", path)
	var room syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &room))
	allow := func(bytes uint64) {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE,
			&syscall.Rlimit{Cur: bytes, Max: room.Max}))
	}
	defer allow(room.Cur)
	saves := func() {
		t.Helper()
		before := saved(path)
		soon(t, func() bool { return saved(path).After(before) })
	}

	s := start(t, conf)
	require.Equal(t, []string{"a", "b"}, s.send("a", "b"))
	saves()
	saves()        // which began after the ids came
	allow(400_000) // half of the file, and room in the log for a thousand failures
	soon(t, func() bool {
		said, _ := os.ReadFile(log)
		return strings.Contains(string(said), "the ids are not on disk: ") &&
			strings.Contains(string(said), "file too large")
	})
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range 100 {
		id := fmt.Sprint(i)
		require.Equal(t, []string{id}, s.send(id, "a", id))
	}
	failures := func() int {
		said, err := os.ReadFile(log)
		require.NoError(t, err)
		return strings.Count(string(said), "the ids are not on disk: ")
	}
	failed := failures()
	soon(t, func() bool { return failures() > failed+1 }, "a save that began after the ids came")
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, before, after, "as it was")
	allow(room.Cur)
	saves()
	saves()
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	s.stop() // and so no save is under way while the files are counted
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(entries), 3, "a half file is left beside the file, its lock and the log")

	require.NoError(t, os.WriteFile(path, saved, 0o600)) // without the save at the end
	next := start(t, conf)
	assert.Equal(t, []string{"new"}, next.send("a", "b", "0", "99", "new"))
	next.stop()
}
