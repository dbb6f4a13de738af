package blocked

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/seed79a3ff49/bloom"
	"github.com/seed79a3ff49/bloom/internal/testkit"
)

// TestFileSystemCalls: LoadFile, OpenFile and Close return the errors of the system.
func TestFileSystemCalls(t *testing.T) {
	const path = "testdata/v1.frame"
	t.Run("fstat", func(t *testing.T) {
		testkit.Failing(t, "fstat", "EIO", path, func() {
			_, err := LoadFile(path)
			require.ErrorIs(t, err, unix.EIO)
			require.ErrorContains(t, err, "blocked: loading: ")
			_, err = OpenFile(path)
			require.ErrorIs(t, err, unix.EIO)
			require.ErrorContains(t, err, "blocked: opening: ")
		})
	})
	t.Run("mmap", func(t *testing.T) {
		testkit.Failing(t, "mmap", "ENODEV", path, func() {
			_, err := OpenFile(path)
			require.ErrorIs(t, err, unix.ENODEV)
			require.ErrorContains(t, err, "blocked: mapping: ")
		})
	})
	t.Run("munmap", func(t *testing.T) {
		if testkit.Race {
			t.Skip("the race detector's own calls would fail, too")
		}
		testkit.Failing(t, "munmap", "EINVAL", "", func() {
			file := bloom.Must(OpenFile(path))
			err := file.Close()
			require.ErrorIs(t, err, unix.EINVAL)
			require.ErrorContains(t, err, "blocked: unmapping: ")
			require.PanicsWithValue(t, errClosed, func() { file.ContainsString("key") })
		})
	})
}
